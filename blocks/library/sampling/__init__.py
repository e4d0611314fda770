"""Signals, images and volumes on other grids: resized, or read at given places."""

from blocks.library.sampling.grid import GridSample
from blocks.library.sampling.resize import Resize

__all__ = ["GridSample", "Resize"]
