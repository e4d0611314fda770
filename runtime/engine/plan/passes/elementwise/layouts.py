"""How the arrays of an elementwise region lie, as rows that a loop goes along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.plan.native import Operand

Array = NDArray[Any]

COLUMNS = 1 << 14
"""Elements of a row if all arrays of a region are contiguous."""

MOST = (1 << 31) - 1
"""Elements of the longest row."""

NEAR = 4
"""Elements that neighbours in an array that is read may be apart; copies are made of others."""


class Axis(NamedTuple):
    """An axis along which all arrays lie regularly: its length, and the bytes from place to place
    for each array.
    """

    length: int
    steps: tuple[int, ...]
    side: int
    """-1 before an axis of channels, 1 after it, else 0."""


class Layout(NamedTuple):
    """A region's arrays as rows of ``columns`` elements, and a row of ``last`` at the end if not 0.

    ``steps`` are the bytes from row to row for each array; ``axes`` are those of a row, the last
    one first. There may be several such sheets: ``sheets`` are the bytes from the first one, for
    each sheet and array.
    """

    rows: int
    columns: int
    last: int
    steps: tuple[int, ...]
    axes: Sequence[Axis]
    sheets: list[tuple[int, ...]]

    def operands(self, arrays: Sequence[Array]) -> tuple[list[Operand], list[NDArray[np.int64]]]:
        """The operands that read the first arrays, and their tables (see ``Operand``)."""
        found, tables = [], []
        for i, array in enumerate(arrays):
            along, inner, is_even = self.axes[0].steps[i], 1, True
            away = np.zeros(1, np.int64)
            for axis in self.axes:
                is_even &= axis.steps[i] == along * inner
                length = min(axis.length, self.columns // inner)
                away = np.add.outer(np.arange(length) * axis.steps[i], away).reshape(-1)
                inner *= length
            found.append(Operand(array.dtype.name, along // array.itemsize * is_even, not is_even))
            tables += [] if is_even else [away]
        return found, tables


def layout_of(
    arrays: Sequence[Array], reads: int, shortest: int, long: int, channels: int | None = None
) -> Layout | None:
    """The layout of arrays of one shape, or None if their elements don't form contiguous rows; the
    first ones, which are read, may have small gaps, or lie backwards.

    Along an axis of ``channels`` each is a row of every sheet. Rows of fewer than the ``shortest``
    columns are joined along the axes before, and those that are not ``long`` in place of sheets, if
    the arrays that are written allow it.
    """
    axes = _joined(arrays, channels)
    if not axes or (channels is not None and [axis.side for axis in axes[-2:]] != [0, 1]):
        return None
    if not _is_near(arrays, axes[-1], reads):
        return None
    row = [axes.pop()]
    columns = row[0].length
    while channels is None and (columns < shortest if len(axes) == 1 else columns < long) and axes:
        written = zip(axes[-1].steps[reads:], arrays[reads:], strict=True)
        if any(step != columns * array.itemsize for step, array in written):
            break
        row.append(axes.pop())
        columns *= row[-1].length
    if columns < shortest or columns > MOST:
        return None
    if not axes:
        return _cut(row, columns // row[-1].length)
    outer = np.array([axis.steps for axis in axes[:-1]], int).reshape(-1, len(arrays))
    places = np.ndindex(*(axis.length for axis in axes[:-1]))
    sheets = [tuple((np.array(place, int) @ outer).tolist()) for place in places]
    return Layout(axes[-1].length, columns, 0, axes[-1].steps, row, sheets)


def _cut(row: Sequence[Axis], each: int) -> Layout:
    """A row of all elements, cut into rows of about ``COLUMNS`` along its first axis, of which each
    place has so many elements.
    """
    length, steps, _ = row[-1]
    places = max(1, COLUMNS // each)
    rows, last = divmod(length, places)
    down = tuple(step * places for step in steps)
    return Layout(rows, places * each, last * each, down, row, [(0,) * len(steps)])


def _joined(arrays: Sequence[Array], channels: int | None) -> list[Axis]:
    """The axes of the arrays, of which neighbours are joined where all arrays lie regularly."""
    found: list[Axis] = []
    for number, length in enumerate(arrays[0].shape):
        if length == 1:
            continue
        side = 0 if channels is None else (number > channels) - (number < channels)
        steps = tuple(array.strides[number] for array in arrays)
        last = found[-1] if found else None
        if last and last.side == side and last.steps == tuple(s * length for s in steps):
            found[-1] = Axis(last.length * length, steps, side)
        else:
            found.append(Axis(length, steps, side))
    return found


def _is_near(arrays: Sequence[Array], axis: Axis, reads: int) -> bool:
    """Whether neighbours along an axis are near each other, and side by side if written."""
    for i, (step, array) in enumerate(zip(axis.steps, arrays, strict=True)):
        elements, rest = divmod(step, array.itemsize)
        if rest or abs(elements) > NEAR or (i >= reads and elements not in (0, 1)):
            return False
    return True
