"""Explains which wires carry gradient and why: states, witnesses, cutters, repairs, sentences."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
