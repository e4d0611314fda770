"""How blocks are drawn: faces, numbers, charts and badges, and the rows of block lists."""
