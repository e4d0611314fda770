"""Sums and their like over axes, running sums, and indices of the largest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings import ordering, reductions
from gradwire.runtime.interchange.importing.staged import named, put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall

_BLOCKS = {
    "Sum": "Sum", "Mean": "Mean", "Max": "Max", "Min": "Min", "Prod": "Prod", "All": "AllTrue",
    "Any": "AnyTrue", "EuclideanNorm": "Norm",
}  # fmt: skip


def _reduction(kind: str) -> Operator:
    def reduce(call: TensorFlowCall) -> Staged:
        axes = call.axes(1, call.x().ndim)
        return reductions.reduce(kind, call.x(), axes, call.attributes.flag("keep_dims"))

    return reduce


def _choice(kind: str) -> Operator:
    def choose(call: TensorFlowCall) -> Staged:
        x, has_type = call.x(), "output_type" in call.attributes
        dtype = call.attributes.dtype("output_type") if has_type else "int64"
        y = ordering.place(kind, x, call.axis(1, x.ndim))
        return call.stage.cast(named(y, call.name), dtype)

    return choose


def _cumulative(kind: str) -> Operator:
    def accumulate(call: TensorFlowCall) -> Staged:
        ways = [call.attributes.flag(key) for key in ("reverse", "exclusive")]
        return reductions.running(kind, call.x(), call.axis(1, call.x().ndim), *ways)

    return accumulate


def _half_square(call: TensorFlowCall) -> Staged:
    return named(put("Sum", put("Square", call.x())), call.name) * 0.5


def _largest(call: TensorFlowCall) -> tuple[Staged, ...]:
    values, indices = ordering.top_k(call.x(), call.whole(1))
    return values, call.stage.cast(indices, "int32")


OPERATORS: dict[str, Operator] = {
    **{name: _reduction(kind) for name, kind in _BLOCKS.items()},
    "ArgMax": _choice("ArgMax"), "ArgMin": _choice("ArgMin"),
    "Cumsum": _cumulative("CumulativeSum"), "Cumprod": _cumulative("CumulativeProduct"),
    "L2Loss": _half_square, "TopKV2": _largest,
}  # fmt: skip
