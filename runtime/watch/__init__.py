"""Reasons in a training that runs anyway: what is wrong with its gradients, since when, and why."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
