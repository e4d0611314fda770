"""Pooling: a number for each window, or for all places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.meanings.shapes import pad
from gradwire.runtime.interchange.importing.onnx.operators.convolutions import (
    OnnxWindows,
    windows_of,
)
from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, OperatorNode, rule
from gradwire.runtime.interchange.importing.onnx.operators.shapes import MAX_PARTS
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def _size(node: OperatorNode) -> tuple[int, ...]:
    return node.integers("kernel_shape") or ()


def _pooled(kind: str, node: OperatorNode, x: Staged) -> Staged:
    """The pooling that a node says, of a value."""
    size, ceil = _size(node), bool(node.integer("ceil_mode"))
    counted = kind != "Avg" or bool(node.integer("count_include_pad"))
    return windows.pool(kind, x, size, *windows_of(node, size), ceil, counted)


@rule("MaxPool")
def _max_pool(node: OperatorNode) -> Staged | tuple[Staged, Staged]:
    x = node.x()
    if node.wants(1):
        return _with_indices(node, x, windows_of(node, _size(node)))
    if x.is_float:
        return _pooled("Max", node, x)
    return node.stage.cast(_pooled("Max", node, node.stage.cast(x, "float64")), x.dtype)


def _with_indices(node: OperatorNode, x: Staged, how: OnnxWindows) -> tuple[Staged, Staged]:
    """The largest of each window and where it is in x."""
    size, lengths, counts = _size(node), x.shape[2:], _counts(node, x, how)
    if math.prod(size) > MAX_PARTS:
        raise node.unsupported(f"indices of windows of {math.prod(size)} elements")
    given = zip(counts, how.stride, how.dilation, size, lengths, how.padding, strict=True)
    widths = [
        (before, max((p - 1) * s + d * (k - 1) + 1 - n - before, 0))
        for p, s, d, k, n, (before, _) in given
    ]
    least = -np.inf if x.is_float else float(np.iinfo(x.dtype).min)
    wide = pad(x, [(0, 0), (0, 0), *widths], least)
    rows = windows.im2col(wide, size, how.dilation, 0, how.stride)
    rows = x.stage.reshape(rows, (*x.shape[:2], math.prod(size), math.prod(counts)))
    order: Literal["F", "C"] = "F" if node.integer("storage_order") else "C"
    numbers = np.pad(np.arange(math.prod(lengths)).reshape(lengths, order=order), widths, "edge")
    places = windows.places_in(numbers.shape, size, how.stride, how.dilation)
    table = numbers.ravel()[places].reshape(math.prod(size), -1).T
    row = np.arange(0, table.size, table.shape[1])
    best = put("ArgMax", rows, axis=2) + x.stage.constant(row)
    found = put("Gather", x.stage.constant(table.ravel()), best, axis=0)
    planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], 1) * math.prod(lengths)
    both = put("Max", rows, axis=2), found + x.stage.constant(planes)
    largest, indices = (x.stage.reshape(y, (*x.shape[:2], *counts)) for y in both)
    return largest, indices


def _counts(node: OperatorNode, x: Staged, how: OnnxWindows) -> list[int]:
    """How many windows there are along each axis."""
    found = []
    for n, k, s, d, ends in zip(
        x.shape[2:], _size(node), how.stride, how.dilation, how.padding, strict=True
    ):
        room = n + sum(ends) - d * (k - 1) - 1
        count = (-(-room // s) if node.integer("ceil_mode") else room // s) + 1
        found.append(count - ((count - 1) * s >= n + ends[0]))
    return found


@rule("MaxUnpool")
def _max_unpool(node: OperatorNode) -> Staged:
    """Each number put back where it was the largest of its window; zeros around it."""
    x, indices, stage = node.x(0), node.x(1), node.stage
    shape = node.known_integers(2)
    size = node.integers("kernel_shape") or ()
    stride = node.integers("strides") or (1,) * len(size)
    pads = node.integers("pads") or (0,) * 2 * len(size)
    inner = [
        (n - 1) * s + k - pads[i] - pads[i + len(size)]
        for i, (n, s, k) in enumerate(zip(x.shape[2:], stride, size, strict=True))
    ]
    given = [*x.shape[:2], *inner]
    zeros = stage.constant(np.zeros(math.prod(given), x.dtype))
    flat = stage.reshape(indices, (x.size,))
    y = put("ScatterRows", zeros, flat, stage.reshape(x, (x.size,)), mode="add", axis=0)
    if shape is None or math.prod(shape) == math.prod(given):
        return stage.reshape(y, shape or given)
    widths = [(0, n - m) for n, m in zip(shape, given, strict=True)]
    if min(after for _, after in widths) < 0:
        raise node.unsupported("its output_shape is smaller than what the windows reach")
    return pad(stage.reshape(y, given), widths)


def _order(node: OperatorNode) -> float:
    return float(node.integer("p", 2))


RULES.update({
    "AveragePool": lambda n: _pooled("Avg", n, n.x()),
    "LpPool": lambda n: windows.norm_pool(
        _order(n), n.x(), _size(n), *windows_of(n, _size(n)), bool(n.integer("ceil_mode"))
    ),
    "GlobalAveragePool": lambda n: windows.pool_everywhere("Mean", n.x()),
    "GlobalMaxPool": lambda n: windows.pool_everywhere("Max", n.x()),
    "GlobalLpPool": lambda n: (
        windows.pool_everywhere("Sum", put("Abs", n.x()) ** _order(n)) ** (1 / _order(n))
    ),
})  # fmt: skip
