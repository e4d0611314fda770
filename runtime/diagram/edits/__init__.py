"""Edits of a diagram: changes, wiring, grouping, the clipboard."""
