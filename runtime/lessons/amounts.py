"""Arrays as sentences write them: numbers where there are few, else their shape and size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.flow.words.formatting import number, size

Array = NDArray[Any]
_MOST_NUMBERS = 4
"""Elements of an array that is written out."""


def is_written_out(array: Array) -> bool:
    """Whether an array has few enough elements to be written out."""
    return array.ndim == 0 or 0 < array.size <= _MOST_NUMBERS


def amount(array: Array | None) -> str:
    """``None``, ``6``, ``[1, 2]``, or of larger arrays their shape and size."""
    if array is None:
        return "None"
    if is_written_out(array):
        return _nested(array)
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


def _nested(array: Array) -> str:
    if array.ndim == 0:
        return number(array[()])
    return f"[{', '.join(_nested(row) for row in array)}]"


def brief(array: Array | None) -> str:
    """Like ``amount``, without the shape of a larger array."""
    return amount(array) if array is None or is_written_out(array) else size(array)


def term(text: str) -> str:
    """A number in a sum or product: a negative one in brackets."""
    return f"({text})" if text.startswith("−") else text
