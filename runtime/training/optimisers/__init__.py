"""Optimisers: the arithmetic of each method, schedules, and classes for ``Session.step``."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
