"""A row says that the numbers are invalid where the kernel raises, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("jax")

from gradwire.runtime.calculus.dtypes import INTEGERS, SIGNED
from gradwire.runtime.engine.jax.traced import ROWS
from tests.runtime.engine.jax.rows.comparing import Sheet, failures, is_checked

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from tests.runtime.calculus.tracing import Array

Call = Callable[..., Any]
NAN, INF = np.nan, np.inf
MATRICES = [
    np.eye(2), np.zeros((2, 2)), np.ones((2, 2)), -np.eye(2), np.diag([1.0, 0.0]),
    np.array([[2.0, 1.0], [1.0, 0.5]]), np.array([[0.0, 1.0], [1.0, 0.0]]),
    np.array([[1.0, NAN], [0.0, 1.0]]), np.array([[INF, 0.0], [0.0, 1.0]]),
    np.array([[1e-200, 0.0], [0.0, 1e-200]]), np.array([[1.0, 2.0], [0.0, 1.0]]),
    np.full((2, 2), NAN),
]  # fmt: skip


def raised(value: Value, bound: dict[Value, Array]) -> str | None:
    """What the numpy kernel says, None if it doesn't raise."""
    out = np.empty(value.shape, value.dtype)
    try:
        with np.errstate(all="ignore"):
            value.kernel(*(bound[x] for x in value.inputs), out=out, **value.attributes)
    except (ArithmeticError, ValueError, IndexError) as error:
        return str(error)
    return None


def check(calls: list[tuple[Call, tuple[Array, ...]]]) -> set[str]:
    """Compare rows with kernels; returns what the kernels say."""
    sheet, values = Sheet(), []
    for call, inputs in calls:
        values.append(call(sheet.trace.xp, *map(sheet.leaf, inputs)))
    found = failures(values, sheet.bound)
    wanted = [raised(value, sheet.bound) for value in values]
    assert [value for value, a, b in zip(values, found, wanted, strict=True) if a != bool(b)] == []
    for value, sentence in zip(values, wanted, strict=True):
        why = ROWS[value.primitive.name].why
        assert why is not None
        assert sentence is None or "index" in sentence or why(value) == sentence
    assert None in wanted
    return {sentence for sentence in wanted if sentence}


def _binary(name: str) -> Call:
    return lambda xp, a, b: getattr(xp, name)(a, b)


@pytest.mark.parametrize("dtype", sorted(INTEGERS))
@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_integers_by_zero(name, dtype):
    a, zeros = np.array([[3], [0]], dtype), np.array([2, 0], dtype)
    operands = [(a, zeros), (a, zeros[:1]), (a, zeros[1:]), (a[:0], zeros), (a, zeros[:0])]
    found = check([(_binary(name), each) for each in operands])
    assert len(found) == 1


def test_floats_by_zero():
    check([(_binary(name), (np.ones(2), np.zeros(2))) for name in ("floor_divide", "remainder")])


@pytest.mark.parametrize("dtype", sorted(INTEGERS))
def test_negative_powers(dtype):
    a, powers = np.array([[1], [0]], dtype), np.array([2, 0, -1 if dtype in SIGNED else 1], dtype)
    operands = [(a, powers), (a, powers[:2]), (a[:0], powers)]
    assert len(check([(_binary("power"), each) for each in operands])) == (dtype in SIGNED)
    check([(_binary("power"), (np.ones(2), -np.ones(2)))])


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("dtype", sorted(INTEGERS))
@pytest.mark.parametrize("length", [2, 200])
def test_indices_out_of_range(dtype, length):
    x = np.arange(float(length))
    info = np.iinfo(dtype)
    numbers = {0, 1, 2, -1, -2, -3, 199, 200, -200, -201, info.max, info.min}
    calls: list[tuple[Call, tuple[Array, ...]]] = []
    for index in sorted(number for number in numbers if info.min <= number <= info.max):
        indices = np.array([0, index], dtype)
        calls += [
            (lambda xp, x, i: xp.take(x, i), (x, indices)),
            (lambda xp, x, i: xp.take(x, i), (x, np.array(index, dtype))),
            (lambda xp, x, i: xp.take_along_axis(x, i), (x, indices)),
            (lambda xp, x, i, u: xp.scatter_add(x, i, u), (x, indices, x[:2])),
            (lambda xp, x, i, u: xp.add_along_axis(x, i, u, 0), (x, indices, x[:2])),
        ]
        calls += [
            (lambda xp, x, i, u, n=name: getattr(xp, f"{n}_along_axis")(x, i, u, 0),
             (x, indices, x[:2]))
            for name in ("set", "multiply", "maximum", "minimum")
        ]  # fmt: skip
    calls.append((lambda xp, x, i: xp.take(x, i), (x, np.zeros((0,), dtype))))
    calls.append((lambda xp, x, i: xp.take(x, i, 1), (np.zeros((0, 2)), np.array([3], dtype))))
    assert check(calls)


FIVE = np.arange(5)


@pytest.mark.parametrize(
    ("call", "checked"),
    [
        (lambda xp, x, i: xp.floor_divide(x, x), False),
        (lambda xp, x, i: xp.remainder(i, 3), False),
        (lambda xp, x, i: xp.remainder(i, np.array([[1], [0]])), True),
        (lambda xp, x, i: xp.power(x, -1.0), False),
        (lambda xp, x, i: xp.power(i, 3), False),
        (lambda xp, x, i: xp.power(i, i), True),
        (lambda xp, x, i: xp.take(x, np.array([4, -5])), False),
        (lambda xp, x, i: xp.take(x, np.array([4, 5])), True),
        (lambda xp, x, i: xp.take(x, np.array([-6, 4])[::-1]), True),
        (lambda xp, x, i: xp.take(x, xp.reshape(xp.asarray([[4, 0]]), (2,))), False),
        (lambda xp, x, i: xp.take_along_axis(x, xp.argsort(x)), False),
        (lambda xp, x, i: xp.take(x, xp.argmax(x[:3])), False),
        (lambda xp, x, i: xp.take(x[:3], xp.argmax(x)), True),
        (lambda xp, x, i: xp.set_along_axis(x, xp.argsort(x)[:2], x[:2], 0), False),
        (lambda xp, x, i: xp.set_along_axis(x, i, x, 0), True),
    ],
    ids=map(str, range(15)),
)
def test_only_what_can_fail_is_checked(call, checked):
    sheet = Sheet()
    value = call(sheet.trace.xp, sheet.leaf(FIVE.astype(float)), sheet.leaf(FIVE))
    assert is_checked(value) == checked


@pytest.mark.night
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_matrices(dtype):
    with np.errstate(under="ignore"):
        matrices = [x.astype(dtype) for x in MATRICES]
    batches = [np.stack([np.eye(2, dtype=dtype), x]) for x in matrices[:3]]
    right = np.ones((2, 1), dtype)
    calls: list[tuple[Call, tuple[Array, ...]]] = []
    for x in (*matrices, *batches, np.zeros((0, 2, 2), dtype), np.zeros((0, 0), dtype)):
        calls.append((lambda xp, x: xp.inverse(x), (x,)))
        calls.append((lambda xp, x: xp.cholesky(x), (x,)))
        if x.shape[-1]:
            calls.append((lambda xp, a, b: xp.solve(a, b), (x, right)))
    assert len(check(calls)) == 6
