"""The start page of an empty window."""
