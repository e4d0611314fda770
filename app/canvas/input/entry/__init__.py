"""Text typed on the canvas: names, notes, and the search for blocks to add."""
