"""Sums and their like over axes, running sums, and indices of the largest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Call, Operator

_BLOCKS = {
    "Sum": "Sum", "Mean": "Mean", "Max": "Max", "Min": "Min", "Prod": "Prod", "All": "AllTrue",
    "Any": "AnyTrue", "EuclideanNorm": "Norm",
}  # fmt: skip


def _reduction(kind: str) -> Operator:
    def reduce(call: Call) -> Staged:
        x = call.x()
        axes = call.axes(1, x.ndim)
        if not axes:
            return x
        return call.block(kind, x, axis=axes, keepdims=call.attributes.flag("keep_dims"))

    return reduce


def _choice(kind: str) -> Operator:
    def choose(call: Call) -> Staged:
        x = call.x()
        dtype = (
            call.attributes.dtype("output_type") if "output_type" in call.attributes else "int64"
        )
        return call.stage.cast(call.block(kind, x, axis=call.axis(1, x.ndim)), dtype)

    return choose


def _cumulative(kind: str) -> Operator:
    def accumulate(call: Call) -> Staged:
        x = call.x()
        order = {key: call.attributes.flag(key) for key in ("reverse", "exclusive")}
        return call.block(kind, x, axis=call.axis(1, x.ndim), **order)

    return accumulate


def _half_square(call: Call) -> Staged:
    return call.block("Sum", call.stage.block("Square", call.x())) * 0.5


def _largest(call: Call) -> tuple[Staged, ...]:
    values, indices = call.stage.blocks("TopK", call.x(), k=call.whole(1), name=call.name)
    return values, call.stage.cast(indices, "int32")


OPERATORS: dict[str, Operator] = {name: _reduction(kind) for name, kind in _BLOCKS.items()}
OPERATORS |= {
    "ArgMax": _choice("ArgMax"), "ArgMin": _choice("ArgMin"),
    "Cumsum": _cumulative("CumulativeSum"), "Cumprod": _cumulative("CumulativeProduct"),
    "L2Loss": _half_square, "TopKV2": _largest,
}  # fmt: skip
