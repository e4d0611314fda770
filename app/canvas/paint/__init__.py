"""Paints a page."""
