"""Convolutions and pooling: numbers for windows, those of other data than images included."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.meanings.shapes import pad
from gradwire.runtime.interchange.importing.onnx.operators.node import (
    RULES,
    OperatorNode,
    halves,
    rule,
)
from gradwire.runtime.interchange.importing.onnx.operators.shapes import MAX_PARTS
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

Spans: TypeAlias = "tuple[tuple[int, ...], list[tuple[int, int]], tuple[int, ...]]"
"""Stride, padding and dilation along the axes after the batch and the channels."""
MAX_PLACES = 2**26
"""Elements in all windows along an axis."""


def _spans(node: OperatorNode, size: Sequence[int]) -> Spans:
    """How windows lie. Raises UnsupportedError where the numbers of a node don't fit each other."""
    rank = len(size)
    stride, dilation = (node.integers(key) or (1,) * rank for key in ("strides", "dilations"))
    lengths = node.x().shape[2:]
    if not {len(stride), len(dilation), len(lengths)} == {rank} or not 1 <= rank <= 3:
        raise node.unsupported(f"windows of {rank} axes over {len(lengths)}")
    if min(*size, *stride, *dilation) < 1:
        raise node.unsupported("windows, steps and distances are at least 1")
    automatic = node.text("auto_pad", "NOTSET")
    if automatic == "VALID":
        padding = [(0, 0)] * rank
    elif automatic in ("SAME_UPPER", "SAME_LOWER"):
        total = [
            max((-(-n // step) - 1) * step + apart * (k - 1) + 1 - n, 0)
            for n, step, apart, k in zip(lengths, stride, dilation, size, strict=True)
        ]
        padding = windows.shared(total, automatic == "SAME_LOWER")
    else:
        padding = _pads(node, rank)
    for n, ends, k in zip(lengths, padding, size, strict=True):
        if (n + max(ends[0], 0) + max(ends[1], 0)) * k > MAX_PLACES:
            raise node.unsupported(f"windows of {k} elements over {n} with padding {ends}")
    return stride, padding, dilation


def _pads(node: OperatorNode, rank: int) -> list[tuple[int, int]]:
    """The attribute ``pads``; zeros where it is left out."""
    pads = node.integers("pads") or (0,) * 2 * rank
    if len(pads) != 2 * rank:
        raise node.unsupported(f"{len(pads)} widths of padding for {rank} axes")
    return halves(pads)


def convolved(node: OperatorNode, x: Staged, weight: Staged, bias: Staged | None = None) -> Staged:
    """The convolution that a node says, of values."""
    if weight.ndim != x.ndim:
        raise node.unsupported(f"a weight of {weight.ndim} axes for x of {x.ndim}")
    how = _spans(node, weight.shape[2:])
    return windows.conv(x, weight, bias, *how, groups=node.integer("group", 1))


@rule("ConvTranspose")
def _conv_transpose(node: OperatorNode) -> Staged:
    """``output_shape`` or SAME say the lengths of the result, and so the padding."""
    x, weight, automatic = node.x(0), node.x(1), node.text("auto_pad", "NOTSET")
    stride, padding, dilation = _spans(node, weight.shape[2:])
    lengths = node.integers("output_shape")
    if lengths is None and automatic.startswith("SAME"):
        lengths = tuple(n * s for n, s in zip(x.shape[2:], stride, strict=True))
    more, groups = node.integers("output_padding") or 0, node.integer("group", 1)
    return windows.conv_transpose(
        x, weight, node.get(2), stride, padding, more, groups, dilation, lengths,
        lower=automatic != "SAME_UPPER",
    )  # fmt: skip


@rule("Col2Im")
def _col_to_image(node: OperatorNode) -> Staged:
    image, block = node.known_integers(1) or [], node.known_integers(2) or []
    stride, dilation = (node.integers(key) or (1,) * len(image) for key in ("strides", "dilations"))
    return windows.col2im(node.x(), image, block, dilation, _pads(node, len(image)), stride)


def _size(node: OperatorNode) -> tuple[int, ...]:
    return node.integers("kernel_shape") or ()


def _pooled(kind: str, node: OperatorNode, x: Staged) -> Staged:
    """The pooling that a node says, of a value."""
    size, ceil = _size(node), bool(node.integer("ceil_mode"))
    counted = kind != "Avg" or bool(node.integer("count_include_pad"))
    return windows.pool(kind, x, size, *_spans(node, size), ceil, counted)


@rule("MaxPool")
def _max_pool(node: OperatorNode) -> tuple[Staged, Staged | None]:
    x = node.x()
    wide = x if x.is_float else node.stage.cast(x, "float64")
    y = node.stage.cast(_pooled("Max", node, wide), x.dtype)
    return y, _places_of_largest(node, x, y.shape[2:]) if node.wants(1) else None


def _places_of_largest(node: OperatorNode, x: Staged, counts: Sequence[int]) -> Staged:
    """Where the largest of each window is in x, for so many windows along each axis."""
    size, lengths = _size(node), x.shape[2:]
    stride, padding, dilation = _spans(node, size)
    if math.prod(size) > MAX_PARTS:
        raise node.unsupported(f"indices of windows of {math.prod(size)} elements")
    given = zip(counts, stride, dilation, size, lengths, padding, strict=True)
    widths = [
        (before, max((p - 1) * s + d * (k - 1) + 1 - n - before, 0))
        for p, s, d, k, n, (before, _) in given
    ]
    least = -np.inf if x.is_float else float(np.iinfo(x.dtype).min)
    rows = windows.im2col(pad(x, [(0, 0), (0, 0), *widths], least), size, dilation, 0, stride)
    rows = x.stage.reshape(rows, (*x.shape[:2], math.prod(size), math.prod(counts)))
    order: Literal["F", "C"] = "F" if node.integer("storage_order") else "C"
    numbers = np.pad(np.arange(math.prod(lengths)).reshape(lengths, order=order), widths, "edge")
    places = windows.places_in(numbers.shape, size, stride, dilation)
    table = numbers.ravel()[places].reshape(math.prod(size), -1).T
    row = np.arange(0, table.size, table.shape[1])
    best = put("ArgMax", rows, axis=2) + x.stage.constant(row)
    found = put("Gather", x.stage.constant(table.ravel()), best, axis=0)
    planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], 1) * math.prod(lengths)
    return x.stage.reshape(found + x.stage.constant(planes), (*x.shape[:2], *counts))


@rule("MaxUnpool")
def _max_unpool(node: OperatorNode) -> Staged:
    """Each number put back where it was the largest of its window; zeros around it."""
    x, indices, stage = node.x(0), node.x(1), node.stage
    shape, size = node.known_integers(2), _size(node)
    stride = node.integers("strides") or (1,) * len(size)
    given = zip(x.shape[2:], stride, size, _pads(node, len(size)), strict=True)
    reached = [*x.shape[:2], *((n - 1) * s + k - sum(ends) for n, s, k, ends in given)]
    zeros = stage.constant(np.zeros(math.prod(reached), x.dtype))
    flat, numbers = (stage.reshape(value, (x.size,)) for value in (indices, x))
    y = put("ScatterRows", zeros, flat, numbers, mode="add", axis=0)
    if shape is None or math.prod(shape) == math.prod(reached):
        return stage.reshape(y, shape or reached)
    widths = [(0, n - m) for n, m in zip(shape, reached, strict=True)]
    if min(after for _, after in widths) < 0:
        raise node.unsupported("its output_shape is smaller than what the windows reach")
    return pad(stage.reshape(y, reached), widths)


def _order(node: OperatorNode) -> float:
    return float(node.integer("p", 2))


RULES |= {
    "Conv": lambda n: convolved(n, n.x(0), n.x(1), n.get(2)),
    "AveragePool": lambda n: _pooled("Avg", n, n.x()),
    "LpPool": lambda n: windows.norm_pool(
        _order(n), n.x(), _size(n), *_spans(n, _size(n)), bool(n.integer("ceil_mode"))
    ),
    "GlobalAveragePool": lambda n: windows.pool_everywhere("Mean", n.x()),
    "GlobalMaxPool": lambda n: windows.pool_everywhere("Max", n.x()),
    "GlobalLpPool": lambda n: (
        windows.pool_everywhere("Sum", put("Abs", n.x()) ** _order(n)) ** (1 / _order(n))
    ),
}  # fmt: skip
