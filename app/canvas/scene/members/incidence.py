"""The wires of each block, found without looking at all wires."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.app.canvas.scene.arrays import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.app.canvas.scene.arrays import Indices, Ints

    Numbers: TypeAlias = NDArray[np.signedinteger[Any]]


class Incidence:
    """The wires between blocks (m, 2: source and target) of a page of ``count`` blocks."""

    def __init__(self, wire_blocks: Ints, count: int) -> None:
        ends = wire_blocks.T.ravel()
        order = np.argsort(ends, kind="stable")
        self._wires = order % max(len(wire_blocks), 1)
        self._first = np.searchsorted(ends[order], np.arange(count + 1))

    def of(self, blocks: Indices) -> Indices:
        """The wires that begin or end at one of ``blocks`` (k,), in order."""
        first = self._first[blocks]
        return distinct(self._wires[runs(first, self._first[blocks + 1] - first)])


def runs(first: Numbers, counts: Numbers) -> Indices:
    """The numbers from each of ``first`` (k,) on, as many as ``counts`` (k,) says."""
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, counts) + np.arange(int(counts.sum()))
