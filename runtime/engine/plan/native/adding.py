"""Rows added at places that repeat, in their order, as a region of the compiler."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.engine.plan.native import machine

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.plan.native.kernels import Kernel


def adder(dtype: str, width: int) -> Callable[[Array, Array, Array], None] | None:
    """What does ``np.add.at(out, places, rows)``, with the same bits, for contiguous ``out`` and
    rows of this width; None where there is no code for the dtype, or no compiler.
    """
    if dtype not in ("float32", "float64") or not machine.installed():
        return None
    from gradwire.runtime.engine.compiler.regions import (  # few need it
        MemoryPlace,
        Recipe,
        compiled_region,
    )

    recipe = Recipe(width, ((dtype, MemoryPlace(0)),), (), (), (), added=(0,), is_listed=True)
    return partial(_add, compiled_region(recipe))


def _add(kernel: Kernel, out: Array, places: Array, rows: Array) -> None:
    places, rows = np.ascontiguousarray(places, np.int64), np.ascontiguousarray(rows)
    frame = np.array([(machine.address(x), x.strides[0]) for x in (rows, out, places)])
    kernel(machine.address(frame), 0, 0, len(rows))
