"""Teaching with a diagram: the timeline of a training step, local derivatives, predictions."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
