"""The painted canvas: a page of a diagram with its values and the lanes of its gradient."""
