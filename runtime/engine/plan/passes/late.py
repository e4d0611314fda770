"""Passes that are imported once a plan may have something for them: a small plan needs few.

What a pass looks for at least is said in its entry, so that it is not imported to find nothing. It
would find nothing: a plan is the same whatever was imported before it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from importlib import import_module
from importlib.util import resolve_name
from typing import TYPE_CHECKING, TypeAlias

from gradwire.blocks.errors import RunError
from gradwire.runtime import extras
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.tasks import PlainTask

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Task

Pass: TypeAlias = "Callable[[list[Task], Collection[Value]], list[Task]]"
"""Takes tasks in order and the values that must stay readable; returns tasks in order."""

Sign: TypeAlias = "Callable[[list[Task]], bool]"
"""Whether there may be something for a pass in a few tasks."""

FEW = 64
"""Tasks below which a look at them is cheaper than imports; in more, passes look for themselves."""

LARGE = 1 << 8
"""Elements below which an array is too small for any pass for large ones."""


class LatePass:
    """The pass of this name in a module; it leaves a few tasks alone without a ``sign``."""

    def __init__(self, module: str, name: str, sign: Sign) -> None:
        self.__module__ = resolve_name(f".{module}", __package__)
        self.__name__ = name
        self.sign = sign
        self._imported: Pass | None = None

    def __call__(self, tasks: list[Task], kept: Collection[Value]) -> list[Task]:
        """The tasks that the pass returns."""
        if not self.may_replace(tasks):
            return tasks
        if self._imported is None:
            self._imported = getattr(import_module(self.__module__), self.__name__)
        return self._imported(tasks, kept)

    def may_replace(self, tasks: list[Task]) -> bool:
        """Whether the pass needs to look at the tasks."""
        return self._imported is not None or len(tasks) >= FEW or self.sign(tasks)

    def __repr__(self) -> str:
        return f"<pass {self.__name__}>"


class NativePass(LatePass):
    """A pass that makes machine code: without a compiler it leaves all tasks alone."""

    def may_replace(self, tasks: list[Task]) -> bool:
        """Whether the pass needs to look at the tasks, and may."""
        return super().may_replace(tasks) and native.installed()


def computing(*primitives: str, times: int = 1) -> Sign:
    """Some of these primitives, at least so many times."""
    names = frozenset(primitives)
    return lambda tasks: sum(x.primitive.name in names for x in _values(tasks)) >= times


def _values(tasks: list[Task]) -> list[Value]:
    return [value for task in tasks for value in task.values]


def _scalars(tasks: list[Task]) -> bool:
    return sum(not value.shape for value in _values(tasks)) >= 4


def _many(tasks: list[Task]) -> bool:
    return len(tasks) >= 8


def _too_many(tasks: list[Task]) -> bool:
    """There are never so many in a few."""
    return False


def _sparse(tasks: list[Task]) -> bool:
    return _rows_added(tasks) or any(task.settles for task in tasks)


def _large(tasks: list[Task]) -> bool:
    return any(x.size >= LARGE for task in tasks for x in (*task.values, *task.inputs))


def _along_axes(tasks: list[Task]) -> bool:
    """Large arrays, or many reductions for which numpy takes long."""
    return _large(tasks) or _slow_reductions(tasks)


def _next_to_machine_code(tasks: list[Task]) -> bool:
    """Of few small tasks, only those of matrices are machine code, and what passes made."""
    made = any(type(task) is not PlainTask for task in tasks)
    return made or _large(tasks) or _of_matrices(tasks)


_of_matrices = computing("solve", "inverse", "determinant", "determinant_sign", "log_determinant")
_slow_reductions = computing("max", "min", "softmax", "log_softmax", "logsumexp", times=16)
_rows_added = computing("scatter_add")
_of_images = computing("conv2d", "conv2d_w", "conv2d_x")
_embedded = computing("embed")

lookups = LatePass("lookups", "lookups", _rows_added)
native_lookups = LatePass("lookups", "native_lookups", _sparse)
native_convolutions = NativePass("windows.native_convolutions", "native_convolutions", _of_images)
convolutions = LatePass("windows.convolutions", "convolutions", _of_images)
poolings = NativePass("windows.poolings", "poolings", computing("windows", "fold"))
product_sums = LatePass("products", "product_sums", computing("matmul", times=3))
margins = NativePass("chains", "margins", _embedded)
parts = LatePass("chains", "parts", _embedded)
sums = LatePass("chains", "sums", computing("add", times=7))
sums_of_others = LatePass("chains", "sums_of_others", computing("add", times=7))
rowwise = NativePass("elementwise.rowwise", "rowwise", _along_axes)
columnwise = NativePass("elementwise.rowwise", "columnwise", _along_axes)
components = NativePass("elementwise.components", "components", _large)
groups = LatePass("elementwise.groups", "groups", _many)
groups_of_few = LatePass("elementwise.groups", "groups_of_few", _many)
native_scalars = NativePass("scalars", "native_scalars", _scalars)
scalars = LatePass("scalars", "scalars", _scalars)
short = NativePass("elementwise.fused", "short", _too_many)
fused = NativePass("elementwise.fused", "fused", _large)
tiles = LatePass("elementwise.tiles", "tiles", _large)
native_products = NativePass("products", "native_products", computing("matmul"))
compiled = NativePass("compiled", "compiled", _next_to_machine_code)
solutions = NativePass("solutions", "solutions", _of_matrices)
small_products = NativePass("products", "small_products", computing("matmul", times=32))
merges = LatePass("merges", "merges", computing("permute_dims"))
margins_shared = LatePass("chains", "margins_shared", _embedded)

DEFAULT: tuple[Pass, ...] = (
    lookups, convolutions, product_sums, margins, parts, sums, groups_of_few, scalars, tiles,
    merges, margins_shared,
)  # fmt: skip
"""The passes that need only numpy."""

FAST: tuple[Pass, ...] = (
    native_lookups, native_convolutions, convolutions, poolings, product_sums, margins,
    parts, sums_of_others, rowwise, columnwise, components, groups, native_scalars, scalars, short,
    fused, tiles, native_products, small_products, compiled, solutions, merges,
    margins_shared,
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
            next_step=f"Install llvmlite: {extras.command('llvmlite')}.",
        )
    if fast is None:
        fast = os.environ.get("GRADWIRE_FAST", "1") != "0"
    return FAST if fast and extras.installed("llvmlite") else DEFAULT
