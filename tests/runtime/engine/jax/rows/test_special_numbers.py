"""Infinities, NaN, zeros of both signs, and integers that wrap: what kernels make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("jax")

from gradwire.runtime.calculus.dtypes import FLOATS, INTEGERS, SIGNED
from tests.runtime.engine.jax.rows.comparing import (
    Sheet,
    arrays_of,
    assert_alike,
    by_rows,
    computed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.runtime.calculus.tracing import Array

FUNCTIONS = (
    "negative", "abs", "square", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan",
    "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
    "sigmoid", "softplus", "relu", "erf", "sign", "floor", "ceil", "round", "isnan", "isfinite",
)  # fmt: skip
OF_TWO = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "maximum",
    "minimum", "arctan2", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
)  # fmt: skip
WHOLE = (
    "add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less",
    "less_equal", "greater", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor",
)  # fmt: skip
SPECIAL = [0.0, -0.0, 0.3, -0.5, 1.0, -1.0, 1.5, 2.5, -2.0, 3.0, -7.25, 11.0, 300.0, np.inf,
           -np.inf, np.nan]  # fmt: skip
ZEROS_OF_ANY_SIGN = {"maximum", "minimum", "relu", "clip"}
"""Of 0 and −0, processors take the one or the other."""


def _pairs(numbers: Array) -> tuple[Array, Array]:
    a, b = np.meshgrid(numbers, numbers)
    return a.copy(), b.copy()


def _signs(x: Array) -> Array:
    """Where the sign of a zero, of an infinity or of a number is minus."""
    return np.signbit(np.where(np.isnan(x), 0, x))


@pytest.mark.night
@pytest.mark.parametrize("dtype", sorted(FLOATS))
def test_special_floats(dtype):
    numbers = np.array(SPECIAL, dtype)
    sheet = Sheet()
    for name in FUNCTIONS:
        sheet.add(lambda xp, x, name=name: getattr(xp, name)(x), numbers)
    for name in OF_TWO:
        sheet.add(lambda xp, a, b, name=name: getattr(xp, name)(a, b), *_pairs(numbers))
    for bounds in ((-1, 2.0), (None, 0), (-np.inf, np.inf), (-0.25, None)):
        sheet.add(lambda xp, x, bounds=bounds: xp.clip(x, *bounds), numbers)
    sheet.add(lambda xp, c, a, b: xp.where(c, a, b), numbers > 0, numbers, numbers[::-1].copy())
    arrays = arrays_of(sheet.trace, sheet.bound)
    values = computed(sheet.trace.values)
    for value, found in zip(values, by_rows(values, arrays), strict=True):
        assert_alike(value, found, arrays[value])
        if value.dtype != "bool" and value.primitive.name not in ZEROS_OF_ANY_SIGN:
            assert np.array_equal(_signs(found), _signs(arrays[value])), value


@pytest.mark.night
@pytest.mark.parametrize("dtype", sorted(FLOATS))
def test_special_floats_in_reductions(dtype):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((12, 7)).astype(dtype)
    for row, special in enumerate(([np.nan], [np.inf], [-np.inf], [np.inf, -np.inf], [np.nan] * 2)):
        rows[row, 2 : 2 + len(special)] = special
    rows[5] = -np.inf
    rows[6] = 3
    rows[7, 1:4], rows[7, 0] = 0.0, -0.0
    rows[8] = 60000
    sheet = Sheet()
    for name in ("sum", "mean", "max", "min", "logsumexp", "softmax", "log_softmax", "argmax",
                 "argmin", "cumulative_sum", "argsort", "sort", "norm"):  # fmt: skip
        sheet.add(lambda xp, x, name=name: getattr(xp, name)(x, 1), rows)
        sheet.add(lambda xp, x, name=name: getattr(xp, name)(x, 0), rows[6:])
    for name in ("argsort", "sort"):
        sheet.add(lambda xp, x, name=name: getattr(xp, name)(x, 1, descending=True), rows)
    sheet.check()


@pytest.mark.night
@pytest.mark.parametrize("dtype", sorted(FLOATS))
def test_functions_over_their_ranges(dtype):
    """A thousand numbers each, far out and close to 0, to a few units in the last place."""
    far = {"float16": 9.0, "float32": 85.0, "float64": 700.0}[dtype]
    near = np.logspace(-4 if dtype == "float16" else -30, 0, 200)
    line = np.concatenate([np.linspace(-far, far, 401), near, -near, np.linspace(-2, 2, 401)])
    inside = np.concatenate([np.linspace(-1, 1, 401), near, -near])
    ranges = dict.fromkeys(("arcsin", "arccos", "arctanh"), inside)
    ranges |= {
        "arccosh": 1 + abs(line),
        "log": abs(line),
        "sqrt": abs(line),
        "log1p": abs(line) - 1,
    }
    sheet = Sheet()
    for name in FUNCTIONS:
        numbers = ranges.get(name, line).astype(dtype)
        sheet.add(lambda xp, x, name=name: getattr(xp, name)(x), numbers)
    a, b = np.meshgrid(line[::40], line[::30])
    for name in OF_TWO:
        sheet.add(
            lambda xp, a, b, name=name: getattr(xp, name)(a, b), a.astype(dtype), b.astype(dtype)
        )
    sheet.check()


def _edges(dtype: str) -> Array:
    info = np.iinfo(dtype)
    found = [0, 1, 2, 3, 5, 7, info.max, info.max - 1, info.min, info.min + 1]
    return np.array([*found, -1, -2, -3, -7] if dtype in SIGNED else found, dtype)


@pytest.mark.night
@pytest.mark.parametrize("dtype", sorted(INTEGERS))
def test_integers_wrap(dtype):
    numbers = _edges(dtype)
    sheet = Sheet()
    for name in WHOLE:
        sheet.add(lambda xp, a, b, name=name: getattr(xp, name)(a, b), *_pairs(numbers))
    a, b = _pairs(numbers)
    for name in ("floor_divide", "remainder"):
        sheet.add(
            lambda xp, a, b, name=name: getattr(xp, name)(a, b), a, np.where(b == 0, b + 3, b)
        )
    powers = np.array([0, 1, 2, 3, 63, 64, 65, 100, np.iinfo(dtype).max], dtype)
    sheet.add(lambda xp, a, b: xp.power(a, b), numbers[:, None], powers)
    shifts = np.arange(-3 if dtype in SIGNED else 0, 70).astype(dtype)
    for name in ("left_shift", "right_shift"):
        sheet.add(lambda xp, a, b, name=name: getattr(xp, name)(a, b), numbers[:, None], shifts)
    for name in ("negative", "abs", "square", "sign", "relu", "isnan", "isfinite"):
        sheet.add(lambda xp, x, name=name: getattr(xp, name)(x), numbers)
    sheet.add(lambda xp, x: xp.clip(x, 1, 3), numbers)
    for name in ("sum", "max", "min", "argmax", "argmin", "argsort", "cumulative_sum", "prod"):
        sheet.add(lambda xp, x, name=name: getattr(xp, name)(x, 1), a)
    sheet.add(lambda xp, x: xp.argsort(x, 0, descending=True), numbers)
    sheet.add(lambda xp, x: xp.sum_to(x, (1, len(numbers))), a)
    sheet.add(lambda xp, a, b: a @ b, a, b)
    sheet.add(lambda xp, a, b: xp.einsum("ij,kj,j->k", a, b, b[0]), a, b)
    sheet.check()


def _castable(source: Array, dtype: str) -> Array:
    """The numbers of which a cast is defined."""
    if source.dtype.kind != "f" or dtype in FLOATS or dtype == "bool":
        return source
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    wide = source.astype("longdouble")
    return source[np.isfinite(wide) & (wide > low) & (wide < high)]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("dtype", ["bool", *sorted(INTEGERS), *sorted(FLOATS)])
def test_casts(dtype):
    sheet = Sheet()
    halves = np.array([*SPECIAL, 1.9, -1.9, 65519.0, 65520.0, 6e-8, 1e-7, 2.0**24 + 1, 0.1])
    with np.errstate(over="ignore"):
        sources = [halves.astype(x) for x in sorted(FLOATS)]
    sources += [_edges(x) for x in sorted(INTEGERS)] + [np.array([True, False])]
    for source in sources:
        sheet.add(lambda xp, x: xp.astype(x, dtype), _castable(source, dtype))
    sheet.check()


def _booleans() -> Iterator[tuple[str, tuple[Array, ...]]]:
    a, b = _pairs(np.array([False, True]))
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
                 "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
                 "bitwise_xor"):  # fmt: skip
        yield name, (a, b)
    for name in ("logical_not", "isnan", "isfinite", "any", "all", "max", "min", "argmax", "argmin",
                 "argsort"):  # fmt: skip
        yield name, (a,)


def test_booleans():
    sheet = Sheet()
    for name, inputs in _booleans():
        sheet.add(lambda xp, *x, name=name: getattr(xp, name)(*x), *inputs)
    truths = np.array([[True, False, True], [False, True, True]])
    sheet.add(lambda xp, x: xp.flip(xp.concat([x, xp.pad(x, ((1, 0), (0, 0)), True)]), 1), truths)
    sheet.add(lambda xp, x, i: xp.take_along_axis(x, i, 1), truths, np.array([[2], [-1]]))
    sheet.add(lambda xp, x, i, u: xp.set_along_axis(x, i, u, 1), truths,
              np.array([[1, 1], [0, 2]]), ~truths[:, :2])  # fmt: skip
    sheet.check()
