"""Data sets: rows of a file, or drawn by a generator."""

from blocks.library.data.column import Column
from blocks.library.data.dataset import Dataset

__all__ = ["Column", "Dataset"]
