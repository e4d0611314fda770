"""Data sets: rows of a file, or drawn by a generator."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
