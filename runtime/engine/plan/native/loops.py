"""A whole elementwise region as one loop, compiled for this machine."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import NamedTuple

from gradwire.runtime.engine.compiler import recipes, regions
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.kernels import Kernel, Operation

__all__ = ["Kernel", "Operand", "Operation", "Recipe", "compiled"]


class Operand(NamedTuple):
    """An array that is read; ``step`` is how many elements it is from column to column, 0 where it
    has one for a whole row.

    Where it lies differently along several axes of a row, ``is_listed``: a table has the bytes from
    the start of a row to each column.
    """

    dtype: str
    step: int
    is_listed: bool = False


class Recipe(NamedTuple):
    """What a kernel computes; equal recipes share one kernel.

    ``results`` are the numbers of the values that are written to arrays. ``folds`` reduce a value
    to one float64 per row: its "sum", or the sum of its "squares". Of rows that are short there is
    one vector at a time; ``columns`` are those of rows that are known, and 0 for any.
    """

    operands: tuple[Operand, ...]
    operations: tuple[Operation, ...]
    results: tuple[int, ...]
    folds: tuple[tuple[int, str], ...] = ()
    is_short: bool = False
    columns: int = 0


@lru_cache(maxsize=256)
def compiled(recipe: Recipe) -> Kernel:
    """The kernel of a recipe. Compiling ten operations takes some milliseconds, once per recipe."""
    return Kernel(*machine.function(text(recipe), "region"))


def text(recipe: Recipe) -> str:
    """The kernel in LLVM's assembly language."""
    tables = itertools.count(len(recipe.operands) + len(recipe.results) + len(recipe.folds))
    operands = [
        (x.dtype, recipes.Place(i, x.step, table=next(tables) if x.is_listed else None))
        for i, x in enumerate(recipe.operands)
    ]
    folds = [Operation(how, "float64", (i,)) for i, how in recipe.folds]
    results = enumerate(recipe.results, start=len(operands))
    first, wide = len(operands) + len(recipe.operations), [True] * len(recipe.operations)
    rows = recipes.Recipe(
        columns=recipe.columns,
        operands=tuple(operands),
        operations=(*recipe.operations, *folds),
        wide=(*wide, *[False] * len(folds)),
        results=tuple((i, recipes.Place(at)) for at, i in results),
        totals=tuple(range(first, first + len(folds))),
    )
    return regions.Regions(rows, 1 if recipe.is_short else regions.units(rows)).text()
