"""Lowerings: each replaces some tasks of a plan by others that compute the same, faster."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TypeAlias

from runtime.engine.lowerings.convolutions import convolutions
from runtime.engine.lowerings.groups import groups
from runtime.engine.lowerings.joins import joins
from runtime.engine.lowerings.scalars import scalars
from runtime.engine.lowerings.sums import sums
from runtime.engine.lowerings.tiles import tiles

if TYPE_CHECKING:
    from runtime.calculus import Value
    from runtime.engine.task import Task

Lowering: TypeAlias = "Callable[[list[Task], Collection[Value]], list[Task]]"
"""Takes tasks in order and the values that must be kept; returns tasks in order."""

DEFAULT: tuple[Lowering, ...] = (convolutions, joins, sums, groups, scalars, tiles)
