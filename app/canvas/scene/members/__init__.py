"""The blocks, ports and wires of a page, numbered, and how edits change the numbers."""
