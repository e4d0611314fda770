"""Recipes of loops over one row of any length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.engine.compiler.regions import MemoryPlace, Recipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.engine.plan.native import Operation


def loop(
    *operations: Operation, dtypes: Sequence[str] = ("float32",), is_short: bool = False
) -> Recipe:
    """Operations on elements that lie side by side, of which the last one is the result."""
    operands = tuple((dtype, MemoryPlace(i)) for i, dtype in enumerate(dtypes))
    results = ((len(dtypes) + len(operations) - 1, MemoryPlace(len(dtypes))),)
    wide = (True,) * len(operations)
    return Recipe(0, operands, operations, wide, results, is_short=is_short)
