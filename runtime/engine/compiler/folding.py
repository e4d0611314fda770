"""Sums, largest and smallest elements of an array, as regions of one fold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gradwire.runtime.engine.compiler.recipes import MemoryPlace, Recipe
from gradwire.runtime.engine.compiler.regions import UNITS, WIDE
from gradwire.runtime.engine.compiler.terms import LoopAxis, Store, merged
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.kernels import Operation

SHORT = 1 << 8
"""Terms for each element of a vector up to which sums are added in their own dtype: errors are no
larger than NumPy's.
"""


class Folded(NamedTuple):
    """A fold of rows: how many there are, the numbers of the frame but for addresses, and the
    length of rows of any length.
    """

    recipe: Recipe
    turns: int
    numbers: dict[str, int]
    length: int
    frame: tuple[str, ...] = ("array0", "step0", "array1", "step1")
    room: int = 0


def folded(store: Store) -> Folded | None:
    """How a store of a fold is computed; None where its elements or results lie otherwise than in
    rows, or in columns.
    """
    store = merged(store)
    term, size = store.term, np.dtype(store.dtype).itemsize
    read, written = dict(term.of.steps), dict(store.steps)

    def beside(some: dict[LoopAxis, int], axis: LoopAxis) -> bool:
        return some.get(axis) == size

    row = next((axis for axis in term.axes if beside(read, axis)), None)
    across = row is None
    if row is None:
        row = next((x for x in written if beside(read, x) and beside(written, x)), None)
    lines = [axis for axis in term.axes if axis != row]
    rows = [axis for axis in written if axis != row]
    if row is None or len(lines) > 1 or len(rows) > 1 or any(x not in read for x in lines):
        return None
    line, many = (*lines, LoopAxis("", 1))[0], (*rows, LoopAxis("", 1))[0]
    steps, turns, columns = [x.get(many, 0) for x in (read, written)], many.extent, row.extent
    width = WIDE * machine.lanes()
    if across and not rows and columns % width == 0:  # for threads to share them
        steps, turns, columns = [width * size] * 2, columns // width, width
    terms = line.extent * (1 if across else -(-columns // (UNITS * machine.lanes())))
    how = "short_sum" if term.how == "sum" and terms <= SHORT else term.how
    is_any = not across and not lines and columns > width
    recipe = Recipe(
        columns=0 if is_any else columns,
        operands=((store.dtype, MemoryPlace(0, depth=read.get(line, 0) // size)),),
        operations=(Operation(how, store.dtype, (0,)),),
        wide=(False,),
        results=((1, MemoryPlace(1)),),
        lines=line.extent,
        across=across,
    )
    return Folded(recipe, turns, {"step0": steps[0], "step1": steps[1]}, columns if is_any else 0)
