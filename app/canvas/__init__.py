"""The canvas: shows a page of a diagram with its values and gradient lanes."""
