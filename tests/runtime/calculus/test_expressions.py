"""Laws on random expressions: tracing foretells numpy, None means no path, rules are slopes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gradwire.blocks.values import DTYPES
from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.dtypes import FLOATS, INTEGERS, PROMOTION, is_float
from gradwire.runtime.calculus.primitives.base import LEAF
from tests.runtime.calculus.tracing import Array, compute, leaf, slope

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


@dataclass(frozen=True)
class Operation:
    """``call(xp, *values)`` and the same in ``numpy``; ``open`` by operand, all when it is None.

    ``fits`` says of the operands' arrays whether it can be done. ``smooth`` is False where the
    gradient is not the slope.
    """

    call: Callable[..., Any]
    numpy: Callable[..., Any]
    arity: int = 1
    open: tuple[bool, ...] | None = None
    fits: Callable[..., bool] = lambda *arrays: True
    smooth: bool = True


def promoted(function: Callable[..., Any], number: bool = True) -> Callable[..., Any]:
    """A numpy function on operands cast by our table."""

    def on(*arrays: Array) -> Any:
        dtype = arrays[0].dtype.name
        for array in arrays[1:]:
            dtype = PROMOTION[dtype, array.dtype.name]
        dtype = "int64" if number and dtype == "bool" else dtype
        return function(*(array.astype(dtype) for array in arrays))

    return on


def floating(function: Callable[..., Any]) -> Callable[..., Any]:
    """A numpy function on one operand made a float."""

    def on(x: Array) -> Any:
        return function(x if x.dtype.name in FLOATS else x.astype("float32"))

    return on


def meet(*arrays: Array) -> bool:
    """Whether operands broadcast and have a common dtype."""
    try:
        np.broadcast_shapes(*(array.shape for array in arrays))
        promoted(lambda *same: None)(*arrays)
    except (ValueError, KeyError):
        return False
    return True


def is_square(a: Array, b: Array) -> bool:
    return meet(np.empty(0, a.dtype), np.empty(0, b.dtype)) and a.ndim == b.ndim == 2 and (
        a.shape[1] == b.shape[0]
    )  # fmt: skip


def is_bool(*arrays: Array) -> bool:
    return all(array.dtype == bool for array in arrays)


def fills(x: Array) -> bool:
    return x.ndim > 0 and x.size > 0


def alike(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.ndim > 0 and meet(a, b)


def summed(x: Array) -> Any:
    if x.dtype.kind == "f":
        return np.sum(x, -1, dtype=np.float32 if x.dtype == np.float16 else None).astype(x.dtype)
    return np.sum(x, -1, dtype=np.uint64 if x.dtype == np.uint64 else np.int64)


def indices(x: Array, i: Array) -> bool:
    return (
        fills(x) and i.dtype.name in INTEGERS and i.ndim < 3
        and bool(np.all((i >= 0) & (i < x.shape[0])))
    )  # fmt: skip


BOTH = (False, False)
SMOOTH = [
    Operation(lambda xp, a, b: a + b, promoted(np.add), 2, fits=meet),
    Operation(lambda xp, a, b: a - b, promoted(np.subtract), 2, fits=meet),
    Operation(lambda xp, a, b: a * b, promoted(np.multiply), 2, fits=meet),
    Operation(lambda xp, a, b: xp.maximum(a, b), promoted(np.maximum), 2, fits=meet),
    Operation(lambda xp, a, b: xp.minimum(a, b), promoted(np.minimum), 2, fits=meet),
    Operation(lambda xp, x: 1.5 * x, lambda x: np.multiply(
        x if x.dtype.kind == "f" else x.astype("float32"), 1.5)),
    Operation(lambda xp, x: 2 + x, lambda x: 2 + (x.astype(int) if x.dtype == bool else x)),
    Operation(lambda xp, x: xp.tanh(x), floating(np.tanh)),
    Operation(lambda xp, x: xp.sin(x), floating(np.sin)),
    Operation(lambda xp, x: xp.exp(-xp.abs(xp.astype(x, "float64"))),
              lambda x: np.exp(-np.abs(x.astype("float64")))),
    Operation(lambda xp, x: xp.relu(x), lambda x: np.maximum(
        x.astype(int) if x.dtype == bool else x, x.dtype.type(0))),
    Operation(lambda xp, x: xp.clip(xp.astype(x, "float32"), -1, 1),
              lambda x: np.clip(x.astype("float32"), -1, 1), smooth=False),
    Operation(lambda xp, x: xp.sum(x, -1), summed, fits=fills),
    Operation(lambda xp, x: xp.max(x, 0, keepdims=True), lambda x: np.max(x, 0, keepdims=True),
              fits=fills),
    Operation(lambda xp, x: xp.softmax(x), floating(
        lambda x: np.exp(x - np.max(x, -1, keepdims=True))
        / np.sum(np.exp(x - np.max(x, -1, keepdims=True)), -1, keepdims=True)),
        fits=fills),
    Operation(lambda xp, x: xp.sort(x), lambda x: np.sort(x), fits=fills),
    Operation(lambda xp, x: x.T, np.transpose),
    Operation(lambda xp, x: xp.flip(x), np.flip),
    Operation(lambda xp, x: xp.reshape(x, (-1,)), np.ravel, fits=fills),
    Operation(lambda xp, x: x[None], lambda x: x[None], fits=lambda x: x.ndim < 3),
    Operation(lambda xp, x: x[0], lambda x: x[0], fits=fills),
    Operation(lambda xp, x: x[..., ::-2], lambda x: x[..., ::-2], fits=fills),
    Operation(lambda xp, x: xp.pad(x, ((1, 0),) * x.ndim, 1),
              lambda x: np.pad(x, ((1, 0),) * x.ndim, constant_values=1) if x.ndim else x,
              fits=lambda x: x.size < 50),
    Operation(lambda xp, a, b: xp.stack([a, b]), promoted(lambda a, b: np.stack([a, b]), False), 2,
              fits=lambda a, b: alike(a, b) and a.ndim < 3),
    Operation(lambda xp, a, b: xp.concat([a, b]), promoted(lambda a, b: np.concatenate([a, b]),
              False), 2, fits=alike),
    Operation(lambda xp, a, b: a @ b, promoted(np.matmul), 2, fits=is_square),
    Operation(lambda xp, c, a, b: xp.where(c, a, b),
              lambda c, a, b: promoted(lambda a, b: np.where(c, a, b), False)(a, b), 3,
              (False, True, True), lambda c, a, b: is_bool(c) and meet(c, a, b)),
    Operation(lambda xp, x, i: xp.take(x, i), lambda x, i: x[i], 2, (True, False), indices),
    Operation(lambda xp, x: xp.round(x), lambda x: np.rint(x) if x.dtype.kind == "f" else x),
    Operation(lambda xp, a, b: a < b, promoted(np.less), 2, BOTH, meet),
    Operation(lambda xp, a, b: xp.equal(a, b), promoted(np.equal), 2, BOTH, meet),
    Operation(lambda xp, x: xp.argmax(x, -1), lambda x: np.argmax(x, -1), 1, (False,), fills),
    Operation(lambda xp, x: xp.astype(x > 0, "int8"), lambda x: (x > 0).astype("int8"), 1,
              (False,)),
    Operation(lambda xp, x: ~x, np.logical_not, 1, (False,), is_bool),
]  # fmt: skip
ROUGH = [
    Operation(lambda xp, x: xp.stop_gradient(x), lambda x: x, 1, (False,), smooth=False),
    Operation(lambda xp, x: xp.loss_head(x), lambda x: x, smooth=False,
              fits=lambda x: x.dtype.kind == "f"),
    Operation(lambda xp, a, b: xp.surrogate(a, b), lambda a, b: a.astype(b.dtype), 2, (False, True),
              lambda a, b: a.shape == b.shape and b.dtype.kind == "f", smooth=False),
    Operation(lambda xp, x: xp.astype(x, "float16"), lambda x: x.astype("float16"), smooth=False),
    Operation(lambda xp, x: xp.astype(x, "uint8"), lambda x: x.astype("uint8"), 1, (False,),
              lambda x: bool(np.all(np.abs(x) < 200)) and (x.dtype.kind != "f" or np.all(x > -1)),
              smooth=False),
]  # fmt: skip


@dataclass
class Expression:
    """A trace beside its numbers, and by which operands each value claims to pass gradient."""

    trace: Trace = field(default_factory=Trace)
    values: list[Value] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    claims: list[list[int]] = field(default_factory=list)
    leaves: int = 0

    def add(self, value: Value, array: Any, sources: list[int]) -> None:
        self.values.append(value)
        self.arrays.append(np.asarray(array))
        self.claims.append(sources)

    def bound(self, arrays: list[Array] | None = None) -> dict[Value, Array]:
        return dict(zip(self.values[: self.leaves], arrays or self.arrays, strict=False))

    def apply(self, operation: Operation, operands: list[int]) -> None:
        """Add the result, unless the operands don't fit or the numbers leave the finite."""
        arrays = [self.arrays[i] for i in operands]
        with np.errstate(all="ignore"):
            if not operation.fits(*arrays):
                return
            array = np.asarray(operation.numpy(*arrays))
        if array.size > 100 or not np.all(np.isfinite(array)):
            return
        value = operation.call(self.trace.xp, *(self.values[i] for i in operands))
        if any(value is known for known in self.values):
            return  # nothing was to be done, as in the flip of a scalar
        opened = operation.open or (True,) * len(operands)
        passing = [
            i for i, is_open in zip(operands, opened, strict=True)
            if is_open and is_float(value.dtype) and is_float(self.values[i].dtype)
        ]  # fmt: skip
        self.add(value, array, passing)


def a_path_leads(expression: Expression, start: int, end: int) -> bool:
    """Whether some path of claims leads from one value to another: every path is walked."""
    return start == end or any(
        a_path_leads(expression, start, source) for source in expression.claims[end]
    )


SHAPES = [(), (1,), (3,), (2, 3), (3, 1), (1, 3), (3, 3), (2, 1, 3), (0, 3)]


@st.composite
def expressions(
    draw: DrawFn, operations: list[Operation], dtypes: tuple[str, ...], length: int
) -> Expression:
    """A few leaves, then operations on what there is so far."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    expression = Expression(leaves=draw(st.integers(1, 3)))
    for _ in range(expression.leaves):
        shape, dtype = draw(st.sampled_from(SHAPES)), draw(st.sampled_from(dtypes))
        if is_float(dtype):
            array = rng.normal(size=shape).astype(dtype)
        else:
            array = rng.integers(0, 3, shape).astype(dtype)
        expression.add(leaf(expression.trace, shape, dtype), array, [])
    for number in draw(st.lists(st.integers(0, len(operations) - 1), min_size=3, max_size=length)):
        operation = operations[number]
        last = len(expression.values) - 1
        operands = [draw(st.integers(0, last)) for _ in range(operation.arity)]
        expression.apply(operation, operands)
    return expression


@pytest.mark.night
@settings(max_examples=250)
@given(expressions(SMOOTH + ROUGH, DTYPES, 20))
def test_tracing_foretells_numpy(expression: Expression) -> None:
    before: dict[Value, Array] = {}
    for value, array in zip(expression.values, expression.arrays, strict=True):
        assert (value.shape, value.dtype) == (array.shape, array.dtype.name)
        found = array if value.primitive is LEAF else compute(value, before)
        before[value] = array
        if is_float(value.dtype):
            rtol = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-12}[value.dtype]
            np.testing.assert_allclose(found, array, rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(found, array)


@pytest.mark.night
@settings(max_examples=250)
@given(expressions(SMOOTH + ROUGH, DTYPES, 20))
def test_none_is_where_no_path_leads(expression: Expression) -> None:
    end = len(expression.values) - 1
    out = expression.values[end]
    assume(is_float(out.dtype))
    found = sweep([(out, expression.trace.xp.ones_like(out))], expression.values)
    for start, value in enumerate(expression.values):
        assert (value in found) == a_path_leads(expression, start, end)
        if value in found:
            assert (found[value].shape, found[value].dtype) == (value.shape, value.dtype)
            compute(found[value], expression.bound())


@pytest.mark.night
@settings(max_examples=250)
@given(expressions([o for o in SMOOTH if o.smooth], ("float64", "int64", "bool"), 20))
def test_gradient_is_the_slope(expression: Expression) -> None:
    out = expression.values[-1]
    assume(out.dtype == "float64")
    rng = np.random.default_rng(5)
    weights = rng.normal(size=out.shape)
    seed = expression.trace.xp.asarray(weights)
    found = sweep([(out, seed)], expression.values[: expression.leaves])
    inputs = expression.arrays[: expression.leaves]

    def function(*arrays: Array) -> Array:
        return weights * compute(out, expression.bound(list(arrays)))

    for slot, x in enumerate(expression.values[: expression.leaves]):
        if x.dtype != "float64":
            continue
        direction = rng.normal(size=x.shape)
        gradient = compute(found[x], expression.bound()) if x in found else np.zeros(x.shape)
        along = float(np.sum(direction * gradient))
        numeric = slope(function, inputs, slot, direction)
        assert abs(along - numeric) <= 1e-5 * (1 + abs(along) + abs(numeric))
