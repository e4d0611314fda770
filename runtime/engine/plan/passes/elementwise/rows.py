"""Rows: the last axes of arrays, such as those of a group of channels of an image; what reduces
them, how they lie, in which sheets threads share them, and the operations of a region.

Powers are compiled for the exponents that a region is given: a square costs one product, and a
power whose exponent may be any number twenty times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.calculus.primitives.base import BROADCAST
from gradwire.runtime.calculus.primitives.elementwise import SUBTRACT
from gradwire.runtime.calculus.primitives.gather import ADD_ALONG, TAKE_ALONG, checked
from gradwire.runtime.calculus.primitives.reduce import (
    LOG_SOFTMAX,
    LOGSUMEXP,
    MAX,
    MIN,
    SOFTMAX,
    SUM,
)
from gradwire.runtime.engine.compiler.regions import MemoryPlace, Recipe
from gradwire.runtime.engine.plan.jobs import ROOM, KernelCall, cuts
from gradwire.runtime.engine.plan.native import Operation, address, compiles, is_simple
from gradwire.runtime.engine.plan.passes.elementwise.tiles import TiledFold, fold_of
from gradwire.runtime.engine.plan.simplify import is_zero
from gradwire.runtime.engine.plan.tasks import PlainTask, Task, still_read

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.native import Kernel
    from gradwire.runtime.engine.plan.tasks import Arrays, Step


COLUMNS = 1 << 14
"""Elements of a row if all arrays of a region are contiguous."""

MOST = (1 << 31) - 1
"""Elements of the longest row, and rows of the longest sheet."""

SMALL = 1 << 11
"""Elements of sheets up to which arrays had better be copied so that they have long rows."""

NEAR = 4
"""Elements that neighbours in an array that is read may be apart; copies are made of others."""


class Sheet(NamedTuple):
    """Some rows of so many columns: the address of the first and the bytes from row to row, for
    each array.
    """

    rows: int
    columns: int
    places: list[tuple[int, int]]


@by_identity
class Layout(NamedTuple):
    """Sheets of rows, and where in a row the elements of each array are. Rows have lines of so many
    columns, ``across`` which folds may go, or any number where that is 0; ``is_short`` says that
    these are few.
    """

    sheets: list[Sheet]
    places: list[MemoryPlace]
    columns: int
    lines: int = 1
    across: bool = False
    is_short: bool = False


class Limits(NamedTuple):
    """Elements of the shortest row that is worth a loop, of one that is worth several vectors at a
    time, of one that shares its loop with rows of any length, and of a sheet that is worth a call.
    """

    shortest: int
    long: int
    any: int
    sheet: int


def layout_of(arrays: Sequence[Array], reads: int, limits: Limits) -> Layout | None:
    """The layout of arrays of one shape, or None if their elements don't form contiguous rows that
    are long enough, or too many sheets; the first ones, which are read, may have small gaps, or lie
    backwards. One row of all elements is cut.
    """
    lengths, steps = merged(arrays, arrays[0].shape)
    columns = lengths[-1]
    are_small = len(lengths) > 2 and lengths[-2] * columns < SMALL
    shortest = limits.long if are_small else limits.shortest
    if not _is_near(arrays, steps[-1], reads) or columns < shortest:
        return None
    if len(lengths) > 1:
        if columns > MOST or prod(lengths[:-2]) > max(1, arrays[0].size // limits.sheet):
            return None
        sheets = sheets_of(lengths[:-1], steps[:-1], arrays, MOST, columns)
    else:
        columns = COLUMNS
        rows, last = divmod(lengths[0], columns)
        places = [(address(x), step * columns) for x, step in zip(arrays, steps[0], strict=True)]
        sheets = [Sheet(rows, columns, places)] if rows else []
        if last:
            places = [(place + rows * step, step) for place, step in places]
            sheets.append(Sheet(1, last, places))
    along = [step // x.itemsize for x, step in zip(arrays[:reads], steps[-1], strict=False)]
    found = [MemoryPlace(i, step) for i, step in enumerate(along)]
    found += [MemoryPlace(i) for i in range(reads, len(arrays))]
    is_short = columns < limits.long
    is_any = is_short or columns >= limits.any or {each.columns for each in sheets} != {columns}
    return Layout(sheets, found, 0 if is_any else columns, is_short=is_short)


def sheets_of(
    lengths: Sequence[int],
    steps: Sequence[Sequence[int]],
    arrays: Sequence[Array],
    most: int,
    columns: int = 0,
) -> list[Sheet]:
    """The fewest sheets of at most so many rows, whose axes have these lengths, and these steps in
    each array.
    """
    found = []
    for place in np.ndindex(*lengths[:-1]):
        for start in range(0, lengths[-1], most):
            at = [sum(i * step for i, step in zip((*place, start), away, strict=True))
                  for away in zip(*steps, strict=True)]  # fmt: skip
            places = [
                (address(x) + i, step) for x, i, step in zip(arrays, at, steps[-1], strict=True)
            ]
            found.append(Sheet(min(most, lengths[-1] - start), columns, places))
    return found


def merged(arrays: Sequence[Array], shape: Shape) -> tuple[list[int], list[tuple[int, ...]]]:
    """The fewest lengths that first axes of this shape can be merged to, and the bytes along each
    in the arrays.
    """
    lengths = [1]
    steps: list[tuple[int, ...]] = [(0,) * len(arrays)]
    for axis, length in enumerate(shape):
        step = tuple(array.strides[axis] for array in arrays)
        if length == 1:
            continue
        if lengths[-1] == 1:
            lengths[-1], steps[-1] = length, step
        elif steps[-1] == tuple(s * length for s in step):
            lengths[-1] *= length
            steps[-1] = step
        else:
            lengths.append(length)
            steps.append(step)
    return lengths, steps


def _is_near(arrays: Sequence[Array], steps: Sequence[int], reads: int) -> bool:
    """Whether neighbours along an axis are near each other, and side by side if written."""
    for i, (step, array) in enumerate(zip(steps, arrays, strict=True)):
        elements, rest = divmod(step, array.itemsize)
        if rest or abs(elements) > NEAR or (i >= reads and elements not in (0, 1)):
            return False
    return True


Exponents: TypeAlias = "Mapping[Value, float]"
"""The exponents, half of small integers, of some powers."""


def attributes_of(value: Value, exponents: Exponents) -> tuple[tuple[str, Hashable], ...]:
    """The attributes of an operation on elements, and its exponent if it is one of these."""
    known = (("exponent", exponents[value]),) if value in exponents else ()
    return (*value.attributes.items(), *known)


def for_exponents(
    tasks: Sequence[PlainTask],
    inputs: Sequence[Value],
    arrays: Arrays,
    step: Callable[[Exponents], Step],
) -> Step:
    """The step of a region; if powers in it have one exponent each for all elements, one that takes
    the step for those that the arrays then have.
    """
    known = set(inputs)
    given = {
        task.value: arrays[task.inputs[1]]
        for task in tasks
        if task.value.primitive.name == "power"
        and task.inputs[1].size == 1
        and task.inputs[1] in known
    }
    if not given:
        return step({})
    made: dict[tuple[float | None, ...], Step] = {}

    def step_for_exponents() -> None:
        found = tuple(x if is_simple(x := array.item()) else None for array in given.values())
        if found not in made:
            pairs = zip(given, found, strict=True)
            made[found] = step({power: x for power, x in pairs if x is not None})
        made[found]()

    return step_for_exponents


class Program:
    """Collects the operations of a recipe."""

    def __init__(self) -> None:
        self._operands: list[tuple[str, MemoryPlace]] = []
        self._operations: list[Operation] = []
        self._wide: list[bool] = []
        self._shifted: dict[int, tuple[int, int, int]] = {}
        self._summed: dict[int, tuple[int, int]] = {}

    def read(self, dtype: str, place: MemoryPlace) -> int:
        """Append an operand, before all operations; returns its number."""
        self._operands.append((dtype, place))
        return len(self._operands) - 1

    def put(self, name: str, dtype: str, *inputs: int, is_wide: bool, attributes: Any = ()) -> int:
        """Append an operation; returns its number."""
        self._operations.append(Operation(name, dtype, inputs, attributes))
        self._wide.append(is_wide)
        return len(self._operands) + len(self._operations) - 1

    def softmax(self, x: int) -> int:
        """``eˣ / Σ eˣ``, shifted by the largest element."""
        _, power, total = self._powers(x)
        total = self.put("cast", "float32", total, is_wide=False)
        share = self.put("reciprocal", "float32", total, is_wide=False)
        return self.put("multiply", "float32", power, share, is_wide=True)

    def log_softmax(self, x: int) -> int:
        """``x − log Σ eˣ``, shifted by the largest element."""
        away, _, total = self._powers(x)
        log = self.put("log_of_powers", "float32", total, is_wide=False)
        return self.put("subtract", "float32", away, log, is_wide=True)

    def logsumexp(self, x: int) -> int:
        """``log Σ eˣ`` of a row, shifted by the largest element, unless that is ±∞ or NaN."""
        top = self.put("max", "float32", x, is_wide=False)
        power = self.put("decay", "float32", self.put("subtract", "float32", x, top, is_wide=True),
                         is_wide=True)  # fmt: skip
        total = self.put("sum", "float64", power, is_wide=False)
        log = self.put("log_of_powers", "float32", total, is_wide=False)
        found = self.put("add", "float32", top, log, is_wide=False)
        is_finite = self.put("isfinite", "bool", top, is_wide=False)
        total = self.put("cast", "float32", total, is_wide=False)
        total = self.put("where", "float32", is_finite, total, top, is_wide=False)
        self._summed[x] = power, total
        return self.put("where", "float32", is_finite, found, top, is_wide=False)

    def share(self, x: int) -> int:
        """``exp(x − log Σ eˣ)`` for an x of ``logsumexp``, by its powers."""
        power, total = self._summed[x]
        factor = self.put("reciprocal", "float32", total, is_wide=False)
        return self.put("multiply", "float32", power, factor, is_wide=True)

    def _powers(self, x: int) -> tuple[int, int, int]:
        """``x − max x``, e to the power of that, and its sum as float64; once for each x."""
        if x not in self._shifted:
            top = self.put("top", "float32", x, is_wide=False)
            away = self.put("subtract", "float32", x, top, is_wide=True)
            power = self.put("decay", "float32", away, is_wide=True)
            total = self.put("sum", "float64", power, is_wide=False)
            self._shifted[x] = away, power, total
        return self._shifted[x]

    def chosen(self, x: int, index: int, dtype: str) -> int:
        """The element of this index."""
        alone = self.put("at", dtype, index, x, is_wide=True)
        return self.put("union", dtype, alone, is_wide=False)

    def alone(self, x: int, index: int, dtype: str) -> int:
        """0 but for one element of a row, of this index."""
        return self.put("at", dtype, index, self.without_sign(x, dtype), is_wide=True)

    def without_sign(self, x: int, dtype: str) -> int:
        """``x + 0``."""
        return self.put("without_sign", dtype, x, is_wide=False)

    def total(self, x: int, squares: bool, is_wide: bool) -> int:
        """The sum of a row, or of its squares, as float64; also of one element."""
        if is_wide:
            return self.put("squares" if squares else "sum", "float64", x, is_wide=False)
        x = self.put("cast", "float64", x, is_wide=False)
        return self.put("square" if squares else "cast", "float64", x, is_wide=False)

    def recipe(
        self,
        columns: int,
        results: tuple[tuple[int, MemoryPlace], ...],
        totals: tuple[int, ...],
        added: tuple[int, ...],
    ) -> Recipe:
        """The whole."""
        operations, wide = tuple(self._operations), tuple(self._wide)
        return Recipe(columns, tuple(self._operands), operations, wide, results, totals, added)


def is_share(task: PlainTask, makers: Mapping[Value, PlainTask]) -> bool:
    """Whether a task is ``x − log Σ eˣ``, of which the power is a share of a sum at hand."""
    if task.value.primitive is not SUBTRACT:
        return False
    x, log = task.inputs
    taken = makers.get(log)
    return taken is not None and taken.value.primitive is LOGSUMEXP and taken.inputs[0] is x


FOLDS = frozenset({"sum", "max", "min", "any", "all"})
"""The names of those of which numpy's function is a ufunc's."""

OF_POWERS = frozenset({SOFTMAX, LOG_SOFTMAX, LOGSUMEXP})
"""Softmaxes and their like."""
_SLOW = OF_POWERS | {MAX, MIN}


def is_reduction(task: Task) -> bool:
    """Whether a task makes one element of a row, or all of a row of the whole row."""
    primitive = task.values[0].primitive
    return primitive.name in FOLDS or primitive in OF_POWERS | {TAKE_ALONG}


def is_slow_if_short(task: Task) -> bool:
    """Whether a task is a reduction for which numpy takes long where rows are short, or several
    passes, and for which there is code.
    """
    return isinstance(task, PlainTask) and task.value.primitive in _SLOW and reduces(task)


def reduces(task: PlainTask, axes: int = 1) -> bool:
    """Whether a reduction or softmax is along so many of the last axes, and of a dtype for which
    there is code.
    """
    return axes_reduced(task) == axes and has_code(task)


def has_code(task: PlainTask) -> bool:
    """Whether there is code for a reduction or softmax of this dtype."""
    value = task.value
    if value.primitive in OF_POWERS:
        return value.dtype == "float32"
    if value.primitive is TAKE_ALONG:
        return is_one_for_each(task)
    dtypes = ("bool",) if value.primitive.name in ("any", "all") else ("float32", "float64")
    return task.inputs[0].dtype in dtypes


def _axes_of(task: PlainTask) -> Sequence[int]:
    """The axes along which a task reduces, or reads."""
    attributes = task.value.attributes
    return (attributes["axis"],) if "axis" in attributes else attributes.get("axes", ())


def axis_reduced(task: Task) -> int | None:
    """The only axis that a task reduces or normalises, for which there is code; None if that is the
    last.
    """
    if not isinstance(task, PlainTask) or not is_reduction(task) or not has_code(task):
        return None
    axes, last = _axes_of(task), len(task.inputs[0].shape) - 1
    is_inner = len(axes) == 1 and axes[0] < last and task.value.primitive is not TAKE_ALONG
    return axes[0] if is_inner else None


def axes_reduced(task: Task) -> int:
    """How many of the last axes a task reduces to one element, or reads as a row; 0 if others.

    Axes of length 1 before them make no difference, and are not counted.
    """
    if not isinstance(task, PlainTask) or not task.inputs:
        return 0
    axes, shape = _axes_of(task), task.inputs[0].shape
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
    return still_read(found, kept, sources)


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
