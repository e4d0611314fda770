"""Reductions over axes, choices among elements, and sums so far."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.meanings import ordering, reductions
from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, OperatorNode, Rule
from gradwire.runtime.interchange.importing.staged import Staged, put

Reduction: TypeAlias = Callable[[OperatorNode], Staged]


def axes_of(node: OperatorNode) -> tuple[int, ...] | None:
    """The axes that a reduction has, from the front; None for all, () for none."""
    x, axes = node.x(), node.known_integers(1, "axes")
    if not axes:
        return () if node.integer("noop_with_empty_axes") else None
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise node.unsupported(f"axes {axes} of {x.ndim} axes")
    return tuple(axis % x.ndim for axis in axes)


def _reduction(kind: str, before: str = "", after: str = "") -> Reduction:
    """A block that reduces, between blocks that change the elements; the dtype stays."""

    def reduced(node: OperatorNode) -> Staged:
        x, axes = node.x(), axes_of(node)
        y = _changed(x, before)
        if axes != ():
            y = _reduced(node, kind, y, axes)
        return node.stage.cast(_changed(y, after), x.dtype)

    return reduced


def _changed(x: Staged, kind: str) -> Staged:
    """The elements by a block, which integers may have to be floats for."""
    if not kind or (kind == "Square" and not x.is_float):
        return x * x if kind else x
    return put(kind, x if x.is_float or kind in ("Abs", "Log") else x.stage.cast(x, "float64"))


def _reduced(node: OperatorNode, kind: str, x: Staged, axes: tuple[int, ...] | None) -> Staged:
    keep = bool(node.integer("keepdims", 1))
    if kind in ("Max", "Min"):
        if any(x.shape[axis] == 0 for axis in (range(x.ndim) if axes is None else axes)):
            return node.stage.constant(_of_nothing(kind, x, axes, keep))
        if x.dtype == "bool":
            kind = "AnyTrue" if kind == "Max" else "AllTrue"
    return node.stage.block(kind, x, axis=axes, keepdims=keep)


def _of_nothing(
    kind: str, x: Staged, axes: tuple[int, ...] | None, keep: bool
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """The largest of no numbers is the smallest that the dtype has, and the other way round."""
    dtype = np.dtype(x.dtype)
    least: float | bool = False if x.dtype == "bool" else -np.inf
    most: float | bool = True if x.dtype == "bool" else np.inf
    if dtype.kind in "iu":
        least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    over = range(x.ndim) if axes is None else axes
    lengths = [1 if i in over else n for i, n in enumerate(x.shape) if keep or i not in over]
    return np.full(lengths, least if kind == "Max" else most, dtype)


def _log_sum_exp(node: OperatorNode) -> Staged:
    x = node.x()
    if math.prod(x.shape) and x.is_float:
        return _reduction("LogSumExp")(node)
    return _reduction("Sum", before="Exp", after="Log")(node)


def _choice(kind: str) -> Rule:
    def chosen(node: OperatorNode) -> Staged:
        keep, last = bool(node.integer("keepdims", 1)), bool(node.integer("select_last_index"))
        return ordering.place(kind, node.x(), node.axis(0), keep, last)

    return chosen


def _top_k(node: OperatorNode) -> tuple[Staged, ...]:
    k = node.known_integer(1) if node.has(1) else node.integer("k")
    return ordering.top_k(node.x(), k, node.axis(-1), bool(node.integer("largest", 1)))


def _running(kind: str) -> Rule:
    """Sums or products of the elements up to each, from either end, with or without its own."""

    def running(node: OperatorNode) -> Staged:
        x, ways = node.x(), [bool(node.integer(key)) for key in ("reverse", "exclusive")]
        y = reductions.running(kind, x, node.known_integer(1), *ways)
        return node.stage.cast(y, x.dtype)

    return running


RULES |= {
    "ReduceSum": _reduction("Sum"), "ReduceMean": _reduction("Mean"),
    "ReduceMax": _reduction("Max"), "ReduceMin": _reduction("Min"),
    "ReduceProd": _reduction("Prod"), "ReduceL1": _reduction("Sum", before="Abs"),
    "ReduceL2": _reduction("Sum", before="Square", after="Sqrt"),
    "ReduceSumSquare": _reduction("Sum", before="Square"),
    "ReduceLogSum": _reduction("Sum", after="Log"), "ReduceLogSumExp": _log_sum_exp,
    "ArgMax": _choice("ArgMax"), "ArgMin": _choice("ArgMin"), "TopK": _top_k,
    "CumSum": _running("CumulativeSum"), "CumProd": _running("CumulativeProduct"),
}  # fmt: skip
