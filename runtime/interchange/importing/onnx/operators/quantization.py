"""Quantisation: float arithmetic on whole numbers, rounded and kept in their range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.onnx.operators.convolutions import convolved
from gradwire.runtime.interchange.importing.onnx.operators.node import OperatorNode, rule

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def saturated(y: Staged, dtype: str) -> Staged:
    """The nearest whole numbers, even ones from halves, within the range of an integer dtype."""
    stage, limits = y.stage, np.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)
    return stage.cast(stage.block("Clip", stage.block("Round", y), min=low, max=high), dtype)


def _spread(node: OperatorNode, given: Staged, x: Staged) -> Staged:
    """Scales or zero points in a shape that broadcasts: one, one a channel, or one a block."""
    stage, axis = node.stage, node.integer("axis", 1)
    if given.size == 1 and given.ndim <= 1:
        return stage.reshape(given, ())
    axis %= max(x.ndim, 1)
    if given.ndim == 1 and x.ndim > 1:
        return stage.reshape(given, (given.shape[0], *(1,) * (x.ndim - 1 - axis)))
    size = node.integer("block_size")
    if size and given.ndim == x.ndim:
        repeated = np.repeat(np.arange(given.shape[axis]), size)[: x.shape[axis]]
        return stage.take(given, repeated, axis)
    return given


@rule("QuantizeLinear")
def _quantize(node: OperatorNode) -> Staged:
    x, stage = node.x(), node.stage
    dtype = node.x(2).dtype if node.has(2) else node.dtype("output_dtype", "uint8")
    if np.dtype(dtype).kind == "f":
        raise node.unsupported(f"to {dtype}")
    scale = _spread(node, node.x(1), x)
    y = stage.block("Round", stage.cast(x, "float32") / stage.cast(scale, "float32"))
    if node.has(2):
        y = y + stage.cast(_spread(node, node.x(2), x), "float32")
    return saturated(y, dtype)


@rule("DequantizeLinear")
def _dequantize(node: OperatorNode) -> Staged:
    x, stage, scale = node.x(), node.stage, node.x(1)
    y = stage.cast(x, "float32")
    if node.has(2):
        y = y - stage.cast(_spread(node, node.x(2), x), "float32")
    y = y * stage.cast(_spread(node, scale, x), "float32")
    return stage.cast(y, node.dtype("output_dtype", scale.dtype))


@rule("DynamicQuantizeLinear")
def _dynamic(node: OperatorNode) -> tuple[Staged, ...]:
    x, stage = node.x(), node.stage
    low = stage.block("Minimum", stage.block("Min", x), x.like(0))
    high = stage.block("Maximum", stage.block("Max", x), x.like(0))
    scale = (high - low) / 255.0
    zero = saturated(-low / scale, "uint8")
    shifted = stage.block("Round", x / scale) + stage.cast(zero, "float32")
    return saturated(shifted, "uint8"), scale, zero


def _shifted(
    node: OperatorNode, x: Staged, zero: Staged | None, dtype: str, column: bool
) -> Staged:
    """``x - zero`` in a wide dtype; a vector of zero points is one a row, or a column."""
    stage = node.stage
    wide = stage.cast(x, dtype)
    if zero is None:
        return wide
    if zero.size == 1:
        zero = stage.reshape(zero, ())
    elif zero.ndim == 1 and not column:
        zero = stage.reshape(zero, (*zero.shape, 1))
    return wide - stage.cast(zero, dtype)


@rule("MatMulInteger")
def _mat_mul_integer(node: OperatorNode) -> Staged:
    a = _shifted(node, node.x(0), node.get(2), "int32", column=False)
    b = _shifted(node, node.x(1), node.get(3), "int32", column=True)
    return node.stage.cast(a @ b, "int32")


@rule("QLinearMatMul")
def _linear_mat_mul(node: OperatorNode) -> Staged:
    stage = node.stage
    a = _shifted(node, node.x(0), node.x(2), "float64", column=False)
    b = _shifted(node, node.x(3), node.x(5), "float64", column=True)
    scales = [stage.cast(node.x(i), "float64") for i in (1, 4, 6)]
    y = (a * scales[0]) @ (b * scales[1]) / scales[2]
    zero = node.x(7)
    return saturated(stage.block("Round", y) + stage.cast(zero, "float64"), zero.dtype)


def _by_filter(node: OperatorNode, given: Staged | None, rank: int) -> Staged | None:
    """Numbers of a convolution's filters, one or one each."""
    if given is None:
        return None
    shape = () if given.size == 1 else (given.size, *(1,) * (rank - 1))
    return node.stage.cast(node.stage.reshape(given, shape), "float64")


def _conv(
    node: OperatorNode, x: Staged, weight: Staged, zeros: tuple[Staged | None, ...]
) -> Staged:
    stage = node.stage
    wide = [stage.cast(given, "float64") for given in (x, weight)]
    for i, zero in enumerate(zeros):
        shift = _by_filter(node, zero, weight.ndim)
        wide[i] = wide[i] if shift is None else wide[i] - shift
    return convolved(node, *wide)


@rule("ConvInteger")
def _conv_integer(node: OperatorNode) -> Staged:
    y = _conv(node, node.x(0), node.x(1), (node.get(2), node.get(3)))
    return node.stage.cast(y, "int32")


@rule("QLinearConv")
def _linear_conv(node: OperatorNode) -> Staged:
    stage, weight = node.stage, node.x(3)
    y = _conv(node, node.x(0), weight, (node.x(2), node.x(5)))
    if node.has(8):
        bias = _by_filter(node, node.x(8), weight.ndim)
        y = y if bias is None else y + bias
    scales = [_by_filter(node, node.x(i), weight.ndim) for i in (1, 4, 6)]
    x_scale, filter_scale, y_scale = scales
    assert x_scale is not None and filter_scale is not None and y_scale is not None
    if filter_scale.ndim:
        filter_scale = stage.reshape(filter_scale, filter_scale.shape[:-1])
    zero = node.x(7)
    whole = stage.block("Round", y * (x_scale * filter_scale) / y_scale)
    return saturated(whole + stage.cast(zero, "float64"), zero.dtype)
