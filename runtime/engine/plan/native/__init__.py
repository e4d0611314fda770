"""Machine code for elementwise arithmetic and convolution, by llvmlite: the ``fast`` extra."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
