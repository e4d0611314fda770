"""Dialogs, and the page that an empty window shows."""
