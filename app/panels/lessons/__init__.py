"""Panels that teach: the derivative card."""
