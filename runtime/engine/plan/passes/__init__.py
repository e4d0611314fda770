"""Passes: each replaces some tasks of a plan by faster ones that compute the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TypeAlias

from blocks.errors import RunError
from runtime.engine.plan import native
from runtime.engine.plan.passes.elementwise.columnwise import columnwise
from runtime.engine.plan.passes.elementwise.components import components
from runtime.engine.plan.passes.elementwise.fused import fused
from runtime.engine.plan.passes.elementwise.groups import groups, groups_of_few
from runtime.engine.plan.passes.elementwise.rowwise import rowwise
from runtime.engine.plan.passes.elementwise.short import short
from runtime.engine.plan.passes.elementwise.tiles import tiles
from runtime.engine.plan.passes.joins import joins
from runtime.engine.plan.passes.lookups import lookups, native_lookups
from runtime.engine.plan.passes.margins import margins, margins_shared
from runtime.engine.plan.passes.merges import merges
from runtime.engine.plan.passes.native_products import native_products
from runtime.engine.plan.passes.parts import parts
from runtime.engine.plan.passes.product_sums import product_sums
from runtime.engine.plan.passes.running_sums import running_sums
from runtime.engine.plan.passes.scalar.native_scalars import native_scalars
from runtime.engine.plan.passes.scalar.scalars import scalars
from runtime.engine.plan.passes.small.small_copies import small_copies
from runtime.engine.plan.passes.small.small_folds import small_folds
from runtime.engine.plan.passes.small.solutions import solutions
from runtime.engine.plan.passes.small_products import small_products
from runtime.engine.plan.passes.softmaxes import softmaxes
from runtime.engine.plan.passes.sums import sums
from runtime.engine.plan.passes.windows.convolutions import convolutions
from runtime.engine.plan.passes.windows.native_convolutions import native_convolutions
from runtime.engine.plan.passes.windows.poolings import poolings

if TYPE_CHECKING:
    from runtime.calculus import Value
    from runtime.engine.plan.tasks import Task

Pass: TypeAlias = "Callable[[list[Task], Collection[Value]], list[Task]]"
"""Takes tasks in order and the values that must stay readable; returns tasks in order."""

DEFAULT: tuple[Pass, ...] = (
    lookups, convolutions, joins, product_sums, margins, parts, sums, groups_of_few, scalars, tiles,
    merges, margins_shared,
)  # fmt: skip
"""The passes that need only numpy."""

FAST: tuple[Pass, ...] = (
    native_lookups, native_convolutions, convolutions, poolings, joins,
    product_sums, margins, parts, sums, rowwise, columnwise, components, softmaxes, groups,
    native_scalars, scalars, short, fused, tiles, native_products, running_sums, small_products,
    small_folds, small_copies, solutions, merges, margins_shared,
)  # fmt: skip
"""The passes with machine code, for which the ``fast`` extra is needed."""


def select_passes(fast: bool | None = None) -> tuple[Pass, ...]:
    """The passes of a session: with machine code if a compiler is installed and ``fast`` allows it.

    None means True, or False if the environment has GRADWIRE_FAST=0. Raises RunError if ``fast``
    is True and no compiler is installed.
    """
    if fast and not native.installed():
        raise RunError(
            "Machine code was requested, but no compiler is installed.",
            next_step='Install llvmlite: pip install "gradwire[fast]".',
        )
    if fast is None:
        fast = os.environ.get("GRADWIRE_FAST", "1") != "0"
    return FAST if fast else DEFAULT
