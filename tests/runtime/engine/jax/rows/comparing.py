"""Values of a trace by their rows, compiled, beside those of the numpy kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import CONSTANT, LEAF
from gradwire.runtime.engine.jax.traced import apply, failure
from tests.runtime.calculus.tracing import Array, compute, leaf

ROUNDED = {
    "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sigmoid", "softplus", "erf", "power",
    "divide",  # by a broadcast number is multiplying by its reciprocal
}  # fmt: skip
"""Functions of one element that round in another way; each result is off by a few units."""

UNITS = 8
"""Units in the last place by which two functions of one element may differ."""

ADDED = {
    "sum", "logsumexp", "softmax", "log_softmax", "cumulative_sum", "rms", "matmul", "einsum",
    "inverse", "solve", "cholesky", "determinant", "log_determinant", "conv2d", "conv2d_x",
    "conv2d_w", "fold", "scatter_add", "add_along_axis", "multiply_along_axis",
}  # fmt: skip
"""Primitives that add or multiply many numbers, in another order."""

PARTS = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14}
"""Of the largest element, what sums of a few dozen numbers may differ by."""


def arrays_of(trace: Trace, bound: Mapping[Value, Array]) -> dict[Value, Array]:
    """Every value of a trace by the numpy kernels."""
    found: dict[Value, Array] = dict(bound)
    for value in trace.values:
        found.setdefault(value, compute(value, found))
    return found


def computed(values: Iterable[Value]) -> list[Value]:
    """The values that have rows, or are called."""
    return [value for value in values if value.primitive not in (LEAF, CONSTANT)]


def by_rows(values: Sequence[Value], arrays: Mapping[Value, Array]) -> list[Array]:
    """Each value by its row from the inputs that numpy has; all in one compiled function."""
    inputs = list(dict.fromkeys(x for value in values for x in value.inputs))

    @jax.jit
    def everything(given: list[Any]) -> list[Any]:
        place = dict(zip(inputs, given, strict=True))
        return [apply(value, [place[x] for x in value.inputs]) for value in values]

    with jax.enable_x64(True):
        return [np.asarray(x) for x in everything([arrays[x] for x in inputs])]


def program(outputs: Sequence[Value], leaves: Sequence[Value]) -> Callable[[list[Any]], list[Any]]:
    """A function of the leaves' arrays with all rows that the outputs need."""
    values = outputs[0].trace.values

    def everything(given: list[Any]) -> list[Any]:
        place = dict(zip(leaves, given, strict=True))
        for value in values:
            if value.primitive is CONSTANT:
                place[value] = value.attributes["array"]
            elif value not in place:
                place[value] = apply(value, [place[x] for x in value.inputs])
        return [place[x] for x in outputs]

    return everything


def as_a_whole(outputs: Sequence[Value], bound: Mapping[Value, Array]) -> list[Array]:
    """Values by a program that has all rows that they need, compiled as one."""
    everything = jax.jit(program(outputs, list(bound)))
    with jax.enable_x64(True):
        return [np.asarray(x) for x in everything(list(bound.values()))]


def failures(values: Sequence[Value], arrays: Mapping[Value, Array]) -> list[bool]:
    """For each value whether its row says that numpy raises."""

    @jax.jit
    def everything(given: list[list[Any]]) -> list[Any]:
        return [failure(value, inputs) for value, inputs in zip(values, given, strict=True)]

    with jax.enable_x64(True):
        found = everything([[arrays[x] for x in value.inputs] for value in values])
    assert all(each is None or (each.shape, each.dtype) == ((), bool) for each in found)
    return [each is not None and bool(each) for each in found]


def is_checked(value: Value) -> bool:
    """Whether some numbers make its kernel raise, as far as its row knows."""
    with jax.enable_x64(True):
        return failure(value, [np.ones(x.shape, x.dtype) for x in value.inputs]) is not None


def assert_alike(value: Value, found: Array, wanted: Array) -> None:
    """Shape and dtype are equal, and the numbers as near as rounding allows."""
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), value
    if wanted.dtype.kind != "f":
        assert np.array_equal(found, wanted), value
        return
    name, info = value.primitive.name, np.finfo(wanted.dtype)
    twice = name == "cast" and (value.inputs[0].dtype, value.dtype) == ("float64", "float16")
    units = UNITS * float(info.eps) if name in ROUNDED | ADDED or twice else 0
    finite = np.abs(wanted[np.isfinite(wanted)]).astype(float)
    part = PARTS[value.dtype] * np.max(finite, initial=0) if name in ADDED else 0
    # To a compiled program, numbers below the least normal one are 0.
    atol = part + float(info.tiny)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            found.astype(float), wanted.astype(float), units, atol, err_msg=str(value)
        )


def check(values: Iterable[Value], arrays: Mapping[Value, Array]) -> None:
    """Each value by its row from the inputs that numpy has against what numpy makes of them."""
    wanted = list(values)
    for value, found in zip(wanted, by_rows(wanted, arrays), strict=True):
        assert_alike(value, found, arrays[value])


class Sheet:
    """Calls on one trace, so that all of them compile as one function."""

    def __init__(self) -> None:
        self.trace = Trace()
        self.bound: dict[Value, Array] = {}

    def add(self, call: Callable[..., Any], *inputs: Array) -> None:
        """``call(xp, *inputs)``."""
        leaves = [self.leaf(x) for x in inputs]
        call(self.trace.xp, *leaves)

    def leaf(self, array: Array) -> Value:
        """A leaf that is bound to an array."""
        found = leaf(self.trace, array.shape, str(array.dtype))
        self.bound[found] = array
        return found

    def check(self) -> None:
        """Every value on it: its row against its kernel."""
        check(computed(self.trace.values), arrays_of(self.trace, self.bound))
