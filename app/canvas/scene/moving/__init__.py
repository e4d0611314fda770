"""Which blocks an edit has moved, and which wires follow them."""
