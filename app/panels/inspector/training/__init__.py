"""How the diagram is trained: the form of its recipe."""
