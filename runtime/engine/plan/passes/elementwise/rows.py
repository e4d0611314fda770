"""Rows: the last axes of arrays, such as those of a group of channels of an image; what reduces
them, how they lie, and in which sheets threads share them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.base import BROADCAST
from gradwire.runtime.calculus.primitives.gather import ADD_ALONG, TAKE_ALONG, checked
from gradwire.runtime.calculus.primitives.reduce import (
    LOG_SOFTMAX,
    LOGSUMEXP,
    MAX,
    MIN,
    SOFTMAX,
    SUM,
)
from gradwire.runtime.engine.plan.graph import is_zero
from gradwire.runtime.engine.plan.jobs import KernelCall, cuts
from gradwire.runtime.engine.plan.native import compiles
from gradwire.runtime.engine.plan.passes.elementwise.tiles import TiledFold, fold_of
from gradwire.runtime.engine.plan.tasks import PlainTask, Task
from gradwire.runtime.engine.plan.team import ROOM

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.native import Kernel
    from gradwire.runtime.engine.plan.passes.elementwise.layouts import Sheet
    from gradwire.runtime.engine.plan.tasks import Arrays, Step


FOLDS = frozenset({"sum", "max", "min", "any", "all"})
"""The names of those of which numpy's function is a ufunc's."""

_OF_POWERS = frozenset({SOFTMAX, LOG_SOFTMAX, LOGSUMEXP})
_SLOW = _OF_POWERS | {MAX, MIN}


def is_reduction(task: Task) -> bool:
    """Whether a task makes one element of a row, or all of a row of the whole row."""
    primitive = task.values[0].primitive
    return primitive.name in FOLDS or primitive in _OF_POWERS | {TAKE_ALONG}


def is_slow_if_short(task: Task) -> bool:
    """Whether a task is a reduction for which numpy takes long where rows are short, or several
    passes, and for which there is code.
    """
    return isinstance(task, PlainTask) and task.value.primitive in _SLOW and reduces(task)


def reduces(task: PlainTask, axes: int = 1) -> bool:
    """Whether a reduction or softmax is along so many of the last axes, and of a dtype for which
    there is code.
    """
    value, source = task.value, task.inputs[0]
    if axes_reduced(task) != axes:
        return False
    if value.primitive in _OF_POWERS:
        return value.dtype == "float32"
    if value.primitive is TAKE_ALONG:
        return is_one_for_each(task)
    dtypes = ("bool",) if value.primitive.name in ("any", "all") else ("float32", "float64")
    return source.dtype in dtypes


def axes_reduced(task: Task) -> int:
    """How many of the last axes a task reduces to one element, or reads as a row; 0 if others.

    Axes of length 1 before them make no difference, and are not counted.
    """
    if not isinstance(task, PlainTask) or not task.inputs:
        return 0
    attributes, shape = task.value.attributes, task.inputs[0].shape
    axes = (attributes["axis"],) if "axis" in attributes else attributes.get("axes", ())
    first, rank = min(axes, default=0), len(shape)
    if any(shape[i] > 1 and i not in axes for i in range(first, rank)):
        return 0
    while first < rank - 1 and shape[first] == 1:
        first += 1
    is_whole = first == 0 and task.value.size == 1  # what adds up all elements needs no rows
    return 0 if is_whole or not axes else rank - first


def row_axes(tasks: Sequence[Task]) -> dict[Shape, int]:
    """How many axes a row has, by the shape of all rows: the fewest that a task reduces, or those
    behind an axis of channels, of which each has a sum.
    """
    found: dict[Shape, int] = {}
    for task in tasks:
        if count := axes_reduced(task) if is_reduction(task) else 0:
            shape = task.inputs[0].shape
            found[shape] = min(count, found.get(shape, count))
    for task in tasks:
        if task.values and task.values[0].primitive is SUM:
            shape, axes = task.inputs[0].shape, task.values[0].attributes["axes"]
            kept = [i for i, n in enumerate(shape) if n > 1 and i not in axes]
            if len(kept) == 1 and 0 < kept[0] < len(shape) - 1:
                found.setdefault(shape, len(shape) - 1 - kept[0])
    return found


BY_PART = (0, 1)
"""How a row lies that has one element for all places of the first of its axes."""


def lies(whole: Array, axes: int) -> tuple[int, int] | None:
    """How rows of so many axes lie in an array of the shape of all rows: elements from column to
    column, and from place to place of the first axis; 0 where there is one for all, or one axis.
    None if irregularly.
    """
    first, *rest = zip(whole.shape[-axes:], whole.strides[-axes:], strict=True)
    if all(step == 0 or length == 1 for length, step in (first, *rest)):
        return 0, 0
    along = whole.itemsize
    for length, step in reversed((first, *rest)):
        if length > 1 and step != along:
            break
        along *= length
    else:
        return 1, prod(length for length, _ in rest) if rest else 0
    is_part = first[1] == whole.itemsize and not any(step for length, step in rest if length > 1)
    return BY_PART if is_part else None


def repeated_along(x: Array, shape: Shape, axes: int) -> Array:
    """An array with all of its rows, of which it may have one for several."""
    lead = (1,) * (len(shape) - axes)
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, (*lead, *shape[-axes:])))


def length_of(shape: Shape, axes: int) -> int:
    """Elements of a row."""
    return prod(shape[-axes:])


def narrowed(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """The tasks with one element of a row where it is repeated, if the arithmetic repeats it."""
    sources = {
        task.value: task.inputs[0]
        for task in tasks
        if isinstance(task, PlainTask)
        and task.value.primitive is BROADCAST
        and len(task.inputs[0].shape) == len(task.value.shape)
        and task.inputs[0].shape[-1:] == (1,)
    }
    found: list[Task] = []
    for task in tasks:
        if isinstance(task, PlainTask) and task.value.primitive.elementwise:
            inputs = [sources.get(x, x) for x in task.inputs]
            narrowed = any(x in sources for x in task.inputs)
            if narrowed and any(x.shape == task.value.shape for x in inputs):
                task = PlainTask(task.value, inputs)
        found.append(task)
    read = {x for task in found for x in task.inputs}
    unread = sources.keys() - read - set(kept)
    return [task for task in found if task.values[0] not in unread]


def kinds_of(
    tasks: Sequence[Task],
    reduced: Callable[[PlainTask], Shape | None],
    fits: Callable[[Shape], bool],
) -> dict[Task, Shape]:
    """The shapes of the rows that tasks read or write which there is code for: those that ``fits``,
    and those that are ``reduced``, which is () of another reduction and None of no reduction. What
    has one element in each row has the shape of the rows that it comes from.
    """
    kinds: dict[Task, Shape] = {}
    known: dict[Value, Shape] = {}
    for task in tasks:
        if not isinstance(task, PlainTask):
            continue
        value, kind = task.value, reduced(task)
        is_simple = value.primitive.elementwise and not task.can_fail
        if kind is None and is_simple and compiles(value, task.inputs):
            shape = value.shape
            kind = shape if fits(shape) else next(
                (known[x] for x in task.inputs if x in known and x.shape == shape), None
            )  # fmt: skip
        if kind:
            kinds[task] = known[value] = kind
    return kinds


def is_alone(task: Task) -> bool:
    """Whether all of a row is 0 but for the element of one index."""
    if not isinstance(task, PlainTask) or task.value.primitive is not ADD_ALONG:
        return False
    return is_zero(task.inputs[0]) and is_one_for_each(task)


def is_one_for_each(task: PlainTask) -> bool:
    """Whether a task reads or writes one element of each row, by its index in it."""
    x, index = task.inputs[:2]
    last = len(x.shape) - 1
    fits = task.value.attributes["axis"] == last and index.shape == (*x.shape[:-1], 1)
    return fits and x.dtype in ("float32", "float64")


def indices_of(task: PlainTask) -> Sequence[Value]:
    """The indices by which a task reads or writes elements."""
    return task.inputs[1:2] if task.value.primitive in (TAKE_ALONG, ADD_ALONG) else ()


def count_from_0(indices: Array, length: int, out: Array) -> None:
    """Count indices from 0; raises IndexError for one that is out of range."""
    found = checked(indices, length).astype(np.intp)
    np.remainder(found, length, out=out, casting="unsafe")


class ColumnSum(TiledFold):
    """The sum of all rows, column by column."""

    def __init__(self, task: PlainTask, axes: int) -> None:
        super().__init__(task)
        self.axes = axes
        """How many axes a row has."""


class PartSum(TiledFold):
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


def folding(task: PlainTask, row_axes: Mapping[Shape, int]) -> TiledFold | None:
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
    if shape in row_axes and kept and kept <= lead | first:
        return PartSum(task, count)
    return fold_of(task)


def add_columns(parts: Sequence[Array], out: Array) -> None:
    """Add the sums of sheets, of one part for each of the last elements of ``out``."""
    for i, part in enumerate(parts):
        target = out.reshape(-1, len(parts))[:, i]
        np.add.reduce(part, axis=0, out=target)


def shared(
    kernel: Kernel,
    sheets: Sequence[Sheet],
    frames: Sequence[int],
    *,
    by_sheets: bool,
    work: int,
    room: int,
) -> list[list[KernelCall]]:
    """The calls of a kernel for sheets, with the addresses of their frames: some sheets, or rows of
    all sheets, in each part.
    """

    def calls(some: Iterable[tuple[Sheet, int]], *cut: int) -> list[KernelCall]:
        return [
            KernelCall(kernel, frame, ROOM if room else sheet.columns, *(cut or (0, sheet.rows)))
            for sheet, frame in some
        ]

    pairs = list(zip(sheets, frames, strict=True))
    some, rows = cuts(len(sheets), work), cuts(sheets[0].rows, work)
    if by_sheets or len(some) >= len(rows):
        return [calls(pairs[a:b]) for a, b in some]
    alike = [pair for pair in pairs if pair[0].rows == sheets[0].rows]
    parts = [calls(alike, *cut) for cut in rows]
    parts[-1] += calls(pairs[len(alike) :])  # what is left of one long row
    return parts
