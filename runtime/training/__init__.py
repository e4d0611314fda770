"""Trains diagrams by the recipes in them: optimisers, iterations, histories and checkpoints."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
