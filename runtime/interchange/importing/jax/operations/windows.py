"""Windows of an array at computed places, as indices into its elements in a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.meanings.indexing import inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


@dataclass(frozen=True)
class WindowAxes:
    """How the places of windows, and the elements in each, make up the axes of a result."""

    shape: Shape
    """Of the array that the windows are in."""
    sizes: Shape
    """Of a window, for each axis of the array."""
    inner: Sequence[int]
    """The axes of the result that run within a window."""
    kept: Sequence[int]
    """The axes of the array that these are."""
    moved: Sequence[int]
    """The axes of the array that the places count along."""
    batch: Sequence[tuple[int, int]] = ()
    """Axes of the array with the axes of the places that go along with them."""

    def outer(self, rank: int) -> list[int]:
        """The axes of a result that run over the places."""
        return [axis for axis in range(rank) if axis not in self.inner]

    def elements(self, stage: Stage, places: Staged) -> Staged:
        """The number of each element of the result in the array, as if it were one row.

        ``places`` has the first corner of each window along its last axis.
        """
        rank = places.ndim - 1 + len(self.inner)
        outer = self.outer(rank)
        steps = [math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        total = stage.constant(self._within(rank, steps))
        for axis, along in self.batch:
            indices = np.arange(self.shape[axis]) * steps[axis]
            total = total + stage.constant(_along(indices, outer[along], rank))
        for number, axis in enumerate(self.moved):
            corner = self._inside(stage, component(stage, places, number), axis)
            shape = [1] * rank
            for where, length in zip(outer, corner.shape, strict=True):
                shape[where] = length
            total = total + stage.reshape(corner, shape) * steps[axis]
        return total

    def _within(self, rank: int, steps: Sequence[int]) -> NDArray[np.int64]:
        """The numbers of a window's elements, counted from its corner."""
        total = np.zeros((1,) * rank, np.int64)
        for where, axis in zip(self.inner, self.kept, strict=True):
            total = total + _along(np.arange(self.sizes[axis]) * steps[axis], where, rank)
        return total

    def _inside(self, stage: Stage, corner: Staged, axis: int) -> Staged:
        """The first element of windows, moved so far that they lie inside the array."""
        return clipped(stage, corner, self.shape[axis] - self.sizes[axis])


def _along(indices: NDArray[np.int64], axis: int, rank: int) -> NDArray[np.int64]:
    shape = [1] * rank
    shape[axis] = -1
    return indices.reshape(shape)


def component(stage: Stage, places: Staged, number: int) -> Staged:
    """One entry along the last axis: the part that it was joined from, where it is known."""
    source = places.source
    if source is not None and source.block.type_name() == "Concat":
        parts = list(source.inputs.values())
        if len(parts) == places.shape[-1] and all(part.shape[-1:] == (1,) for part in parts):
            return stage.reshape(parts[number], places.shape[:-1])
    return stage.select(places, -1, number)


def clipped(stage: Stage, index: Staged, last: int) -> Staged:
    """An index as int64, between 0 and ``last``."""
    return inside(stage.cast(index, "int64"), last + 1, "clip")


def unwrapped(stage: Stage, index: Staged) -> Staged:
    """An index before ``i if i >= 0 else i + n``: blocks count from the end themselves."""
    if index.source is None:
        return index
    kind, inputs = index.source.block.type_name(), index.source.inputs
    if kind == "Reshape":
        return stage.reshape(unwrapped(stage, inputs["x"]), index.shape)
    if kind != "Where" or inputs["condition"].source is None or inputs["a"].source is None:
        return index
    test, sum_ = inputs["condition"].source, inputs["a"].source
    is_wrapped = (
        test.block.type_name() == "Less"
        and test.inputs["a"] is inputs["b"]
        and test.inputs["b"].array is not None
        and not test.inputs["b"].array.any()
        and sum_.block.type_name() == "Add"
        and inputs["b"] in sum_.inputs.values()
    )
    return inputs["b"] if is_wrapped else index
