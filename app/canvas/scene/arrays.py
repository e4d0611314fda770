"""The array types of the canvas, and what they have in them, below everything that uses them."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.values import Array

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Indices: TypeAlias = NDArray[np.intp]
Flags: TypeAlias = NDArray[np.bool_]

_Array = TypeVar("_Array", bound=Array)

NO_INDICES: Indices = np.zeros(0, np.intp)
NO_POINTS: Floats = np.zeros((0, 2))


def distinct(values: _Array) -> _Array:
    """The distinct ones of ``values`` (n,), in order (k,); none is NaN.

    np.unique does so too, but imports numpy.ma first, which takes as long as a frame.
    """
    found = np.sort(values)
    is_first = np.ones(len(found), bool)
    np.not_equal(found[1:], found[:-1], out=is_first[1:])
    return found[is_first]  # type: ignore[return-value]  # of the same kind


def runs(first: NDArray[np.signedinteger[Any]], counts: NDArray[np.signedinteger[Any]]) -> Indices:
    """The numbers from each of ``first`` (k,) on, as many as ``counts`` (k,) says."""
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, counts) + np.arange(int(counts.sum()))


def repeated(counts: Indices) -> tuple[Indices, Indices]:
    """Each index as often as ``counts`` says, and the number of the repetition."""
    return np.repeat(np.arange(len(counts)), counts), runs(np.zeros_like(counts), counts)
