"""What the faces of view blocks show: pictures as plain numbers, without a window."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
