"""Numbers as the bytes of a file, checked before anything is allocated for them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.blocks.limits import MAX_AXES

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array


def valid_shape(lengths: Iterable[int], where: str, least: int = 0) -> Shape:
    """The lengths of axes. Raises FileError for too many, and for one below the ``least``."""
    shape = tuple(lengths)
    if len(shape) > MAX_AXES or any(length < least for length in shape):
        raise FileError(f"{where} has no valid shape.", got=str(shape[:8]))
    return shape


def require_size(where: str, shape: Shape, got: int, each: int = 1, unit: str = "bytes") -> None:
    """Raise FileError unless as many bytes, or numbers, are stored as a shape takes."""
    expected = math.prod(shape) * each
    if got != expected:
        raise FileError(
            f"{where} has data that don't fit its shape.",
            expected=f"{expected:,} {unit} for {list(shape)}",
            got=f"{got:,}",
        )


def from_bytes(raw: bytes, dtype: str, shape: Shape, where: str) -> Array:
    """The numbers that little-endian bytes are. Raises FileError where they don't fit a shape."""
    stored = np.dtype(dtype).newbyteorder("<")
    require_size(where, shape, len(raw), stored.itemsize)
    return np.frombuffer(raw, stored).astype(dtype, copy=True).reshape(shape)
