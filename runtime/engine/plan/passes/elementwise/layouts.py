"""How the arrays of a region lie, as rows that loops go along."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.engine.compiler.regions import MemoryPlace
from gradwire.runtime.engine.plan.native import address

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array


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
