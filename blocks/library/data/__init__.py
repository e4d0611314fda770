"""Data sets: rows of a file, or drawn by a generator."""

from typing import TYPE_CHECKING

from gradwire.blocks import imported_on_use

if TYPE_CHECKING:
    from gradwire.blocks.library.data.column import Column
    from gradwire.blocks.library.data.dataset import Dataset

__all__ = ["Column", "Dataset"]

__getattr__ = imported_on_use(
    __name__,
    {
        "column": "Column",
        "dataset": "Dataset",
    },
)
