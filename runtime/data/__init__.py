"""Data sets: generators and files, their split, and the rows of every batch."""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
