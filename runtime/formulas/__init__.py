"""Formulas: blocks typed as text, and blocks written as text."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
