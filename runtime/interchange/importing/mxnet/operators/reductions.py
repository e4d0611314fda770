"""Sums and their like over axes, and products of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings import reductions
from gradwire.runtime.interchange.importing.meanings.ordering import place
from gradwire.runtime.interchange.importing.meanings.shapes import flatten, reverse, swap
from gradwire.runtime.interchange.importing.staged import named

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import MXNetCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

_BLOCKS = {
    "sum": "Sum", "sum_axis": "Sum", "mean": "Mean", "max": "Max", "max_axis": "Max", "min": "Min",
    "min_axis": "Min", "prod": "Prod",
}  # fmt: skip


def _over(call: MXNetCall, rank: int) -> tuple[tuple[int, ...] | None, bool]:
    """Which axes a reduction has, and whether they stay."""
    axes = call.attributes.axes()
    if any(not -rank <= axis < rank for axis in axes or ()):
        raise call.unsupported(f"its axes {axes} are not those of rank {rank}")
    if call.attributes.flag("exclude"):
        excluded = {axis % rank for axis in axes or ()}
        axes = tuple(axis for axis in range(rank) if axis not in excluded)
    return axes or None, call.attributes.flag("keepdims")


def _reduction(kind: str) -> Operator:
    return lambda call: reductions.reduce(kind, call.x(), *_over(call, call.x().ndim))


def _choice(kind: str) -> Operator:
    """An index, which is a float here."""

    def choose(call: MXNetCall) -> Staged:
        x, axes = call.x(), call.attributes.axes()
        y = place(kind, x, axes[0] if axes else None, call.attributes.flag("keepdims"))
        return call.stage.cast(named(y, call.name), x.dtype)

    return choose


def _norm(call: MXNetCall) -> Staged:
    x, order = call.x(), call.attributes.whole("ord", 2)
    if order not in (1, 2):
        raise call.unsupported(f"its ord is {order}")
    return reductions.norm(x, order, *_over(call, x.ndim))


def _cumulative(call: MXNetCall) -> Staged:
    axes, x = call.attributes.axes(), call.x()
    x, axis = (flatten(x), 0) if axes is None else (x, axes[0])
    return reductions.running("CumulativeSum", x, axis)


def _sides(call: MXNetCall, turn: Callable[[Staged], Staged]) -> list[Staged]:
    """Both inputs, turned where an attribute says so."""
    flags = [call.attributes.flag(key) for key in ("transpose_a", "transpose_b")]
    return [turn(call.x(i)) if flag else call.x(i) for i, flag in enumerate(flags)]


def _dot(call: MXNetCall) -> Staged:
    """The last axis of one with the first of the other; each may be reversed before."""
    a, b = _sides(call, reverse)
    if b.ndim <= 2:
        return call.block("MatMul", a, b)
    flat = call.stage.reshape(b, (b.shape[0], b.size // max(b.shape[0], 1)))
    return call.stage.reshape(call.block("MatMul", a, flat), (*a.shape[:-1], *b.shape[1:]))


OPERATORS: dict[str, Operator] = {
    **{name: _reduction(kind) for name, kind in _BLOCKS.items()},
    "argmax": _choice("ArgMax"), "argmin": _choice("ArgMin"), "norm": _norm,
    "cumsum": _cumulative, "dot": _dot, 
    "batch_dot": lambda call: call.block("MatMul", *_sides(call, lambda x: swap(x, -2, -1))),
}  # fmt: skip
ANY_SHAPE = tuple(_BLOCKS)
"""Those that take scalars too."""
