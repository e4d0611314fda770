"""Arrays as sentences write them: numbers where there are few, else their shape and size."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import TYPE_CHECKING, SupportsFloat

import numpy as np

from gradwire.runtime.flow.words.formatting import number, size

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.blocks.values import Array

_MOST_NUMBERS = 4
"""Elements of an array that is written out."""
_LARGEST_FIXED = 1e15
"""Size from which a number has no digits behind the point."""


def is_written_out(array: Array) -> bool:
    """Whether an array has few enough elements to be written out."""
    return array.ndim == 0 or 0 < array.size <= _MOST_NUMBERS


def amount(array: Array | None, places: int | None = None) -> str:
    """``None``, ``6``, ``[1, 2]``, or of larger arrays their shape and size.

    Numbers that are written out have ``places`` digits behind the point, if these are given.
    """
    if array is None:
        return "None"
    if is_written_out(array):
        return _nested(array, number if places is None else partial(fixed, places=places))
    shape = " × ".join(map(str, array.shape))
    if not array.size:
        return f"no numbers ({shape})"
    match array.dtype.kind:
        case "f":
            return f"{shape} numbers, {size(array)}"
        case "b":
            return f"{shape} booleans, {np.count_nonzero(array)} of them true"
        case _:
            return f"{shape} integers, {number(array.min())} to {number(array.max())}"


def in_full(array: Array) -> str:
    """An array with all of its numbers."""
    return _nested(array, number)


def fixed(value: SupportsFloat, places: int) -> str:
    """``0.0150``, ``−3.00``: a number with so many digits behind the point; halves round away from
    0, which has no sign. What is not finite, or very large, is written as ``number`` does.
    """
    real = float(value)
    if not abs(real) < _LARGEST_FIXED:
        return number(real)
    digits = f"{Decimal(abs(real)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"
    return f"−{digits}" if real < 0 and digits.strip("0.") else digits


def _nested(array: Array, written: Callable[[SupportsFloat], str]) -> str:
    if array.ndim == 0:
        return written(array[()])
    return f"[{', '.join(_nested(row, written) for row in array)}]"


def brief(array: Array | None) -> str:
    """Like ``amount``, without the shape of a larger array."""
    return amount(array) if array is None or is_written_out(array) else size(array)


def term(text: str) -> str:
    """A number in a sum or product: a negative one in brackets."""
    return f"({text})" if text.startswith("−") else text
