"""Primitives that read and write elements at computed places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.meanings.indexing import inside
from gradwire.runtime.interchange.importing.meanings.shapes import move, unsqueeze

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations import Whole
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

    def elements(self, stage: Stage, places: Staged) -> Staged:
        """The number of each element of the result in the array, as if it were one row.

        ``places`` has the first corner of each window along its last axis.
        """
        rank = places.ndim - 1 + len(self.inner)
        outer = [axis for axis in range(rank) if axis not in self.inner]
        steps = [math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        total = stage.constant(self._within(rank, steps))
        for axis, along in self.batch:
            indices = np.arange(self.shape[axis]) * steps[axis]
            total = total + stage.constant(_lengthwise(indices, outer[along], rank))
        for number, axis in enumerate(self.moved):
            # Windows are moved so far that they lie inside the array.
            last = self.shape[axis] - self.sizes[axis]
            corner = clipped(stage, component(stage, places, number), last)
            total = total + unsqueeze(corner, self.inner) * steps[axis]
        return total

    def _within(self, rank: int, steps: Sequence[int]) -> NDArray[np.int64]:
        """The numbers of a window's elements, counted from its corner."""
        total = np.zeros((1,) * rank, np.int64)
        for where, axis in zip(self.inner, self.kept, strict=True):
            total = total + _lengthwise(np.arange(self.sizes[axis]) * steps[axis], where, rank)
        return total


def _lengthwise(indices: NDArray[np.int64], axis: int, rank: int) -> NDArray[np.int64]:
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


_MODES = {
    "scatter": "set",
    "scatter-add": "add",
    "scatter-max": "max",
    "scatter-min": "min",
    "scatter-mul": "mul",
    "scatter-sub": "sub",
}


def dynamic_slice(stage: Stage, params: Params, x: Staged, *starts: Staged) -> Staged:
    """A box at a computed place, moved so far that it lies inside."""
    for axis, (start, size) in enumerate(zip(starts, params["slice_sizes"], strict=True)):
        last = x.shape[axis] - size
        if start.array is not None:
            first = int(np.clip(start.array, 0, last))
            x = stage.cut(x, axis, first, first + size)
        elif last:
            x = stage.take(x, _rows_from(stage, start, size, last), axis)
    return x


def _rows_from(stage: Stage, start: Staged, size: int, last: int) -> Staged:
    """The indices of ``size`` rows."""
    first = stage.reshape(clipped(stage, start, last), (1,))
    return first if size == 1 else first + stage.constant(np.arange(size))


def dynamic_update_slice(
    stage: Stage, params: Params, x: Staged, box: Staged, *starts: Staged
) -> Staged:
    """An array with a box written at a place."""
    smaller = [axis for axis in range(x.ndim) if box.shape[axis] != x.shape[axis]]
    if not smaller:
        return stage.cast(box, x.dtype)
    if len(smaller) == 1:
        (axis,) = smaller
        return _rows_written(stage, x, box, axis, starts[axis])
    corner = stage.block("Stack", *(stage.cast(start, "int64") for start in starts), axis=0)
    axes = tuple(range(x.ndim))
    windows = WindowAxes(x.shape, box.shape, axes, axes, axes)
    return _written(stage, x, windows.elements(stage, corner), box, "set")


def _rows_written(stage: Stage, x: Staged, box: Staged, axis: int, start: Staged) -> Staged:
    size, last = box.shape[axis], x.shape[axis] - box.shape[axis]
    if start.array is None:
        rows = _rows_from(stage, start, size, last)
        return stage.block("ScatterRows", x, rows, box, axis=axis)
    first = int(np.clip(start.array, 0, last))
    before = stage.cut(x, axis, 0, first)
    after = stage.cut(x, axis, first + size, None)
    parts = [part for part in (before, box, after) if part.size]
    return stage.block("Concat", *parts, axis=axis)


def gather(stage: Stage, params: Params, x: Staged, indices: Staged) -> Staged:
    """Windows of x, each at a computed place."""
    axes, sizes = params["dimension_numbers"], params["slice_sizes"]
    batch = list(zip(axes.operand_batching_dims, axes.start_indices_batching_dims, strict=True))
    found = None
    if len(axes.start_index_map) == 1 and axes.collapsed_slice_dims == axes.start_index_map:
        (axis,) = axes.start_index_map
        picked = _index(stage, params, indices, x.shape[axis])
        if not batch:
            found = _rows(stage, x, picked, axis, axes.offset_dims, sizes)
        elif not axes.offset_dims:
            found = _along(stage, x, picked, axis, batch)
    if found is None:
        found = _picked(stage, params, x, indices)
    if found is not None:
        return found
    gone = {*axes.collapsed_slice_dims, *axes.operand_batching_dims}
    kept = [axis for axis in range(x.ndim) if axis not in gone]
    windows = WindowAxes(x.shape, sizes, axes.offset_dims, kept, axes.start_index_map, batch)
    elements = windows.elements(stage, indices)
    return stage.take(stage.reshape(x, (x.size,)), elements, 0)


def _picked(stage: Stage, params: Params, x: Staged, indices: Staged) -> Staged | None:
    """One element of each row, as ``x[arange(n), i]``."""
    axes, last = params["dimension_numbers"], x.ndim - 1
    every = tuple(range(x.ndim))
    if x.ndim != 2 or not tuple(axes.start_index_map) == tuple(axes.collapsed_slice_dims) == every:
        return None
    row, column = component(stage, indices, 0), component(stage, indices, 1)
    if row.array is None or not np.array_equal(row.array, np.arange(x.shape[0])):
        return None
    return stage.block("PickAlong", x, unwrapped(stage, column), axis=last)


def _index(stage: Stage, params: Params, indices: Staged, length: int) -> Staged:
    """The indices along one axis, without the axis that they are the only entry of."""
    index = stage.reshape(indices, indices.shape[:-1])
    clips = "CLIP" in str(params.get("mode"))
    return clipped(stage, index, length - 1) if clips else unwrapped(stage, index)


def _rows(
    stage: Stage,
    x: Staged,
    index: Staged,
    axis: int,
    offset: Sequence[int],
    sizes: Sequence[int],
) -> Staged | None:
    """What lies at indices along one axis, in full on the others."""
    if any(n != x.shape[i] for i, n in enumerate(sizes) if i != axis):
        return None
    taken = stage.take(x, index, axis)
    there = [i for i in range(taken.ndim) if i not in offset]
    return move(taken, range(axis, axis + index.ndim), there)


def _along(
    stage: Stage, x: Staged, index: Staged, axis: int, batch: Sequence[tuple[int, int]]
) -> Staged | None:
    """One element for each index, where the other axes go along."""
    aligned = index.ndim == x.ndim and all(one == other for one, other in batch)
    if aligned:
        return stage.block("TakeAlong", x, index, axis=axis)
    leading = [one for one, _ in batch]
    if [other for _, other in batch] != list(range(len(batch))):
        return None
    ahead = index.shape[: len(batch)]
    rest = math.prod(index.shape[len(batch) :])
    rows = stage.transpose(x, [*leading, axis])
    taken = stage.block("TakeAlong", rows, stage.reshape(index, (*ahead, rest)), axis=-1)
    return stage.reshape(taken, index.shape)


def _scatter(
    name: str, stage: Stage, params: Params, x: Staged, indices: Staged, new: Staged
) -> Staged:
    """An array with windows written at computed places, as the name of the primitive says."""
    new, mode = (-new, "add") if name == "scatter-sub" else (new, _MODES[name])
    axes = params["dimension_numbers"]
    gone = {*axes.inserted_window_dims, *axes.operand_batching_dims}
    kept = [axis for axis in range(x.ndim) if axis not in gone]
    inner = axes.update_window_dims
    sizes = [1] * x.ndim
    for where, axis in zip(inner, kept, strict=True):
        sizes[axis] = new.shape[where]
    moved = tuple(axes.scatter_dims_to_operand_dims)
    full = all(sizes[axis] == x.shape[axis] for axis in kept)
    if not axes.operand_batching_dims and len(moved) == 1 and full and moved[0] not in kept:
        return _rows_scattered(stage, params, x, indices, new, mode)
    batch = zip(axes.operand_batching_dims, axes.scatter_indices_batching_dims, strict=True)
    windows = WindowAxes(x.shape, tuple(sizes), inner, kept, moved, tuple(batch))
    return _written(stage, x, windows.elements(stage, indices), new, mode)


def _rows_scattered(
    stage: Stage, params: Params, x: Staged, indices: Staged, new: Staged, mode: str
) -> Staged:
    axes = params["dimension_numbers"]
    (axis,) = axes.scatter_dims_to_operand_dims
    index = _index(stage, params, indices, x.shape[axis])
    there = [i for i in range(new.ndim) if i not in axes.update_window_dims]
    arranged = move(new, there, range(axis, axis + index.ndim))
    return stage.block("ScatterRows", x, index, arranged, axis=axis, mode=mode)


def _written(stage: Stage, x: Staged, elements: Staged, new: Staged, mode: str) -> Staged:
    """An array with elements written, by their numbers in a row."""
    row = stage.reshape(x, (x.size,))
    index = stage.reshape(stage.broadcast(elements, new.shape), (new.size,))
    flat = stage.reshape(new, (new.size,))
    return stage.reshape(stage.block("ScatterRows", row, index, flat, axis=0, mode=mode), x.shape)


INDEXING: dict[str, Whole] = {
    **{name: partial(_scatter, name) for name in _MODES},
    **{name.replace("-", "_"): partial(_scatter, name) for name in _MODES},
    "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update_slice,
    "gather": gather,
}
