"""Pooling: a number for each window, or for all places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.meanings.shapes import pad
from gradwire.runtime.interchange.importing.onnx.operators.convolutions import Windows, windows_of
from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, Node, rule
from gradwire.runtime.interchange.importing.onnx.operators.shapes import MAX_PARTS

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def _size(node: Node) -> tuple[int, ...]:
    return node.integers("kernel_shape") or ()


def _pooled(kind: str, node: Node, x: Staged) -> Staged:
    """The pooling that a node says, of a value."""
    size, ceil = _size(node), bool(node.integer("ceil_mode"))
    counted = kind != "Avg" or bool(node.integer("count_include_pad"))
    return windows.pool(kind, x, size, *windows_of(node, size), ceil, counted)


@rule("MaxPool")
def _max_pool(node: Node) -> Staged | tuple[Staged, Staged]:
    x = node.x()
    if node.wants(1):
        return _with_indices(node, x, windows_of(node, _size(node)))
    if x.is_float:
        return _pooled("Max", node, x)
    return node.stage.cast(_pooled("Max", node, node.stage.cast(x, "float64")), x.dtype)


def _with_indices(node: Node, x: Staged, how: Windows) -> tuple[Staged, Staged]:
    """The largest of each window and where it is in x: one slice for each place in a window."""
    stage, size, places = node.stage, _size(node), _places(node, x, how)
    if math.prod(size) > MAX_PARTS:
        raise node.unsupported(f"indices of windows of {math.prod(size)} elements")
    least = -np.inf if x.is_float else float(np.iinfo(x.dtype).min)
    reach = [
        (p - 1) * s + d * (k - 1) + 1 - n - ends[0]
        for p, s, d, k, n, ends in zip(
            places, how.stride, how.dilation, size, x.shape[2:], how.padding,
            strict=True,
        )
    ]  # fmt: skip
    widths = [(ends[0], max(after, 0)) for ends, after in zip(how.padding, reach, strict=True)]
    padded = pad(x, [(0, 0), (0, 0), *widths], least)
    order = "F" if node.integer("storage_order") else "C"
    parts, sources = [], []
    for offset in np.ndindex(*size):
        part, at = padded, []
        for axis, first in enumerate(offset):
            start, step = first * how.dilation[axis], how.stride[axis]
            stop = start + (places[axis] - 1) * step + 1
            part = stage.cut(part, axis + 2, start, stop, step)
            source = np.arange(start, stop, step) - how.padding[axis][0]
            at.append(np.clip(source, 0, x.shape[axis + 2] - 1))
        parts.append(part)
        # numpy's annotations want a literal here, and this is one of several.
        sources.append(np.ravel_multi_index(np.ix_(*at), x.shape[2:], order=order))  # type: ignore[call-overload]
    windowed = stage.block("Stack", *parts, axis=0)
    best = stage.block("ArgMax", windowed, axis=0)
    table = np.stack(sources, -1).reshape(-1).astype(np.int64)
    row = np.arange(math.prod(places), dtype=np.int64).reshape(places) * len(sources)
    found = stage.block("Gather", stage.constant(table), best + stage.constant(row), axis=0)
    planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *(1,) * len(size))
    planes = planes * math.prod(x.shape[2:])
    return stage.block("Max", windowed, axis=0), found + stage.constant(planes)


def _places(node: Node, x: Staged, how: Windows) -> list[int]:
    """How many windows there are along each axis."""
    found = []
    for n, k, s, d, ends in zip(
        x.shape[2:], _size(node), how.stride, how.dilation, how.padding, strict=True
    ):
        room = n + sum(ends) - d * (k - 1) - 1
        count = (-(-room // s) if node.integer("ceil_mode") else room // s) + 1
        found.append(count - ((count - 1) * s >= n + ends[0]))
    return found


@rule("LpPool")
def _lp_pool(node: Node) -> Staged:
    order, size = float(node.integer("p", 2)), _size(node)
    ceil = bool(node.integer("ceil_mode"))
    return windows.norm_pool(order, node.x(), size, *windows_of(node, size), ceil)


@rule("MaxUnpool")
def _max_unpool(node: Node) -> Staged:
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
    put = stage.block("ScatterRows", zeros, flat, stage.reshape(x, (x.size,)), mode="add", axis=0)
    if shape is None or math.prod(shape) == math.prod(given):
        return stage.reshape(put, shape or given)
    return _in_larger(node, put, given, shape)


def _in_larger(node: Node, put: Staged, given: list[int], shape: list[int]) -> Staged:
    widths = [(0, n - m) for n, m in zip(shape, given, strict=True)]
    if min(after for _, after in widths) < 0:
        raise node.unsupported("its output_shape is smaller than what the windows reach")
    return pad(node.stage.reshape(put, given), widths)


RULES["AveragePool"] = lambda node: _pooled("Avg", node, node.x())
RULES["GlobalAveragePool"] = lambda node: windows.pool_everywhere("Mean", node.x())
RULES["GlobalMaxPool"] = lambda node: windows.pool_everywhere("Max", node.x())


@rule("GlobalLpPool")
def _global_lp_pool(node: Node) -> Staged:
    order = float(node.integer("p", 2))
    power = node.stage.block("Abs", node.x()) ** order
    return windows.pool_everywhere("Sum", power) ** (1 / order)
