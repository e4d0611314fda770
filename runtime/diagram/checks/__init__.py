"""Checks of the structure of a diagram, and the diagnostics they give."""
