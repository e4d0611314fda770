"""The diagram model, and how diagrams are edited, checked, stored and laid out."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
