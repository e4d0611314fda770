"""Data files: where they may lie, and their columns. Nothing that a file says is trusted."""
