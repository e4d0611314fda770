"""Runs diagrams: lowers them to programs, plans those, and executes the plans in a Session."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
