"""Watching in the places where people train: see ``gradwire.runtime.watch.integrations``."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
