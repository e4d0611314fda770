"""Reductions over axes, choices among elements, and sums so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, Node, Rule, rule
from gradwire.runtime.interchange.importing.staged import Staged

Change: TypeAlias = Callable[[Staged], Staged]
Reduction: TypeAlias = Callable[[Node], Staged]


def axes_of(node: Node) -> tuple[int, ...] | None:
    """The axes that a reduction has, from the front; None for all, () for none."""
    x, axes = node.x(), node.known_integers(1, "axes")
    if not axes:
        return () if node.integer("noop_with_empty_axes") else None
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise node.unsupported(f"axes {axes} of {x.ndim} axes")
    return tuple(axis % x.ndim for axis in axes)


def _reduction(kind: str, before: Change | None = None, after: Change | None = None) -> Reduction:
    """A block that reduces, between changes of the elements; the dtype stays."""

    def reduced(node: Node) -> Staged:
        x, axes = node.x(), axes_of(node)
        y = x if before is None else before(x)
        if axes != ():
            y = _reduced(node, kind, y, axes)
        y = y if after is None else after(y)
        return node.stage.cast(y, x.dtype)

    return reduced


def _reduced(node: Node, kind: str, x: Staged, axes: tuple[int, ...] | None) -> Staged:
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


def _abs(x: Staged) -> Staged:
    return x.stage.block("Abs", x)


def _square(x: Staged) -> Staged:
    return x.stage.block("Square", x) if x.is_float else x * x


def _log(x: Staged) -> Staged:
    return x.stage.block("Log", x)


def _sqrt(x: Staged) -> Staged:
    return x.stage.block("Sqrt", x if x.is_float else x.stage.cast(x, "float64"))


RULES.update(
    {
        "ReduceSum": _reduction("Sum"),
        "ReduceMean": _reduction("Mean"),
        "ReduceMax": _reduction("Max"),
        "ReduceMin": _reduction("Min"),
        "ReduceProd": _reduction("Prod"),
        "ReduceL1": _reduction("Sum", before=_abs),
        "ReduceL2": _reduction("Sum", before=_square, after=_sqrt),
        "ReduceSumSquare": _reduction("Sum", before=_square),
        "ReduceLogSum": _reduction("Sum", after=_log),
    }
)


@rule("ReduceLogSumExp")
def _log_sum_exp(node: Node) -> Staged:
    x = node.x()
    if math.prod(x.shape) and x.is_float:
        return _reduction("LogSumExp")(node)
    return _reduction("Sum", before=_exp, after=_log)(node)


def _exp(x: Staged) -> Staged:
    return x.stage.block("Exp", x if x.is_float else x.stage.cast(x, "float64"))


def _choice(kind: str) -> Rule:
    def chosen(node: Node) -> Staged:
        x, stage, axis = node.x(), node.stage, node.axis(0)
        keep = bool(node.integer("keepdims", 1))
        if not node.integer("select_last_index"):
            return stage.block(kind, x, axis=axis, keepdims=keep)
        flipped = stage.block("Flip", x, axis=axis)
        index = stage.block(kind, flipped, axis=axis, keepdims=keep)
        return (x.shape[axis] - 1) - index

    return chosen


RULES["ArgMax"], RULES["ArgMin"] = _choice("ArgMax"), _choice("ArgMin")


@rule("TopK")
def _top_k(node: Node) -> tuple[Staged, ...]:
    k = node.known_integer(1) if node.has(1) else node.integer("k")
    largest = bool(node.integer("largest", 1))
    return node.stage.blocks("TopK", node.x(), k=k, axis=node.axis(-1), largest=largest)


def _running(kind: str) -> Rule:
    """Sums or products of the elements up to each, from either end, with or without its own."""

    def running(node: Node) -> Staged:
        x, axis = node.x(), node.known_integer(1)
        reverse, exclusive = bool(node.integer("reverse")), bool(node.integer("exclusive"))
        y = node.stage.block(kind, x, axis=axis, reverse=reverse, exclusive=exclusive)
        return node.stage.cast(y, x.dtype)

    return running


RULES["CumSum"] = _running("CumulativeSum")
RULES["CumProd"] = _running("CumulativeProduct")


def mean_and_variance(x: Staged, axes: Sequence[int]) -> tuple[Staged, Staged]:
    """Mean and variance over axes, which stay with length 1."""
    over = tuple(axes)
    mean = x.stage.block("Mean", x, axis=over, keepdims=True)
    return mean, x.stage.block("Variance", x, axis=over, keepdims=True)
