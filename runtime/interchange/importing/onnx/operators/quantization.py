"""Quantisation: float arithmetic on whole numbers, rounded and kept in their range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, OperatorNode, rule
from gradwire.runtime.interchange.importing.onnx.operators.windows import convolved

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def _saturated(y: Staged, dtype: str) -> Staged:
    """The nearest whole numbers, even ones from halves, within the range of an integer dtype."""
    stage, limits = y.stage, np.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)
    return stage.cast(stage.block("Clip", stage.block("Round", y), min=low, max=high), dtype)


def _spread(node: OperatorNode, given: Staged, x: Staged) -> Staged:
    """Scales or zero points as float32 that broadcast: one, one a channel, or one a block."""
    stage, axis = node.stage, node.integer("axis", 1) % max(x.ndim, 1)
    size = node.integer("block_size")
    if given.size == 1 and given.ndim <= 1:
        given = stage.reshape(given, ())
    elif given.ndim == 1 and x.ndim > 1:
        given = stage.reshape(given, (given.size, *(1,) * (x.ndim - 1 - axis)))
    elif size and given.ndim == x.ndim:
        repeated = np.repeat(np.arange(given.shape[axis]), size)[: x.shape[axis]]
        given = stage.take(given, repeated, axis)
    return stage.cast(given, "float32")


@rule("QuantizeLinear")
def _quantize(node: OperatorNode) -> Staged:
    x, stage = node.x(), node.stage
    dtype = node.x(2).dtype if node.has(2) else node.dtype("output_dtype", "uint8")
    if np.dtype(dtype).kind == "f":
        raise node.unsupported(f"to {dtype}")
    y = stage.block("Round", stage.cast(x, "float32") / _spread(node, node.x(1), x))
    return _saturated(y + _spread(node, node.x(2), x) if node.has(2) else y, dtype)


@rule("DequantizeLinear")
def _dequantize(node: OperatorNode) -> Staged:
    x, stage, scale = node.x(), node.stage, node.x(1)
    y = stage.cast(x, "float32")
    y = y - _spread(node, node.x(2), x) if node.has(2) else y
    return stage.cast(y * _spread(node, scale, x), node.dtype("output_dtype", scale.dtype))


@rule("DynamicQuantizeLinear")
def _dynamic(node: OperatorNode) -> tuple[Staged, ...]:
    x, stage = node.x(), node.stage
    low = stage.block("Minimum", stage.block("Min", x), x.like(0))
    high = stage.block("Maximum", stage.block("Max", x), x.like(0))
    scale = (high - low) / 255.0
    zero = _saturated(-low / scale, "uint8")
    shifted = stage.block("Round", x / scale) + stage.cast(zero, "float32")
    return _saturated(shifted, "uint8"), scale, zero


def _wide(x: Staged, dtype: str, behind: int = 0) -> Staged:
    """In a wide dtype; several numbers in a row get axes behind their own, one has none."""
    if x.ndim == 1:
        x = x.stage.reshape(x, () if x.size == 1 else (x.size, *(1,) * behind))
    return x.stage.cast(x, dtype)


def _shifted(x: Staged, zero: Staged | None, dtype: str, behind: int = 0) -> Staged:
    """``x - zero`` in a wide dtype, for ``behind`` see ``_wide``."""
    wide = x.stage.cast(x, dtype)
    return wide if zero is None else wide - _wide(zero, dtype, behind)


@rule("QLinearMatMul")
def _linear_mat_mul(node: OperatorNode) -> Staged:
    a = _shifted(node.x(0), node.x(2), "float64", behind=1)
    b = _shifted(node.x(3), node.x(5), "float64")
    x_scale, y_scale, scale = (node.stage.cast(node.x(i), "float64") for i in (1, 4, 6))
    return _rounded((a * x_scale) @ (b * y_scale) / scale, node.x(7))


def _rounded(y: Staged, zero: Staged) -> Staged:
    """Whole numbers around a zero point, in its dtype."""
    return _saturated(y.stage.block("Round", y) + _wide(zero, "float64"), zero.dtype)


def _conv(node: OperatorNode, weight: Staged, *zeros: Staged | None) -> Staged:
    x = _shifted(node.x(), zeros[0], "float64")
    return convolved(node, x, _shifted(weight, zeros[1], "float64", weight.ndim - 1))


@rule("QLinearConv")
def _linear_conv(node: OperatorNode) -> Staged:
    """Scales and zero points of the weight, and the bias, may be one for each of its filters."""
    weight = node.x(3)
    y = _conv(node, weight, node.x(2), node.x(5))
    wide = [_wide(node.x(i), "float64", weight.ndim - 2) for i in (1, 4, 6)]
    y = y + _wide(node.x(8), "float64", weight.ndim - 2) if node.has(8) else y
    return _rounded(y * (wide[0] * wide[1]) / wide[2], node.x(7))


RULES |= {
    "ConvInteger": lambda n: n.stage.cast(_conv(n, n.x(1), n.get(2), n.get(3)), "int32"),
    # A vector of zero points is one a row on the left, one a column on the right.
    "MatMulInteger": lambda n: n.stage.cast(
        _shifted(n.x(0), n.get(2), "int32", 1) @ _shifted(n.x(1), n.get(3), "int32"), "int32"
    ),
}
