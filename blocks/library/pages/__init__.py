"""Pages: a diagram inside a block, run once or once per step."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
