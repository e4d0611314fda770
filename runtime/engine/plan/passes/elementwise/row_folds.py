"""Sums over rows that a region of rows computes on its way: of columns, and of channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.reduce import SUM
from gradwire.runtime.engine.plan.passes.elementwise.tiles import Fold, fold_of

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step

Array = NDArray[Any]


class ColumnSum(Fold):
    """The sum of all rows, column by column."""

    def __init__(self, task: PlainTask, axes: int) -> None:
        super().__init__(task)
        self.axes = axes
        """How many axes a row has."""


class PartSum(Fold):
    """Sums of whole rows, or of parts of rows, over some of the axes before: such as those of each
    channel of images.
    """

    def __init__(self, task: PlainTask, axes: int) -> None:
        super().__init__(task)
        self.axes = axes
        """How many axes a row has."""
        shape = self.source.shape
        first = len(shape) - axes
        self.by_part = shape[first] > 1 and first not in task.value.attributes["axes"]
        """Whether each place of the first of them has a sum of its own."""
        self.parts = shape[-axes] if self.by_part else 1

    def adding(self, arrays: Arrays, parts: Sequence[NDArray[np.float64]]) -> Step:
        """The step that adds up the sums of all rows, which are in order in some arrays."""
        out, shape = arrays[self.task.value], self.source.shape
        lead, axes = shape[: -self.axes], self.task.value.attributes["axes"]
        dropped = tuple(axis for axis in axes if axis < len(lead) + self.by_part)

        def add_up() -> None:
            whole = np.concatenate(parts).reshape(*lead, self.parts)
            np.copyto(out, whole.sum(dropped).reshape(out.shape), "same_kind")

        return add_up


def folding(task: PlainTask, row_axes: Mapping[Shape, int]) -> Fold | None:
    """A fold over all elements, over all rows, or over all but some axes that are not only within
    a row; ``row_axes`` are how many axes a row has, by shape.
    """
    value = task.value
    if value.primitive is not SUM or task.inputs[0].dtype not in ("float32", "float64"):
        return fold_of(task)
    shape, axes = task.inputs[0].shape, value.attributes["axes"]
    count, long = row_axes.get(shape, 1), {i for i, n in enumerate(shape) if n > 1}
    behind = len(shape) - count
    lead, kept = {i for i in long if i < behind}, long - {*axes}
    if behind > 0 and lead and kept and kept == long - lead:
        return ColumnSum(task, count)
    first = {behind} if count > 1 else set()
    if shape in row_axes and kept and kept != lead and kept <= lead | first:
        return PartSum(task, count)
    return fold_of(task)


def add_columns(parts: Sequence[Array], out: Array) -> None:
    """Add the sums of sheets, of one part for each of the last elements of ``out``."""
    for i, part in enumerate(parts):
        target = out.reshape(-1, len(parts))[:, i]
        np.add.reduce(part, axis=0, out=target)
