"""Gathers, scatters, slices and pads: any index, any axis, repeated ones, none at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("jax")

from gradwire.runtime.calculus.dtypes import INTEGERS, UNSIGNED
from tests.runtime.engine.jax.rows.comparing import Sheet

if TYPE_CHECKING:
    from tests.runtime.calculus.tracing import Array

ALONG = ("set", "add", "multiply", "maximum", "minimum")
DTYPES = ("float16", "float32", "int8", "bool")


def _numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    return (9 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def _scatter(sheet: Sheet, name: str, x: Array, indices: Array, axis: int) -> None:
    updates = _numbers(indices.shape, str(x.dtype), 2)
    if name == "add":
        sheet.add(lambda xp, *a: xp.add_along_axis(*a, axis), x, indices, updates)
    else:
        sheet.add(lambda xp, *a: getattr(xp, f"{name}_along_axis")(*a, axis), x, indices, updates)


@pytest.mark.night
@pytest.mark.parametrize("dtype", DTYPES)
def test_indices_along_any_axis(dtype):
    rng = np.random.default_rng(3)
    x = _numbers((4, 3, 5), dtype)
    sheet = Sheet()
    for axis in range(3):
        for length in (0, 1, 7):
            shape = tuple(length if a == axis else n for a, n in enumerate(x.shape))
            indices = rng.integers(-x.shape[axis], x.shape[axis], shape)
            sheet.add(lambda xp, x, i, axis=axis: xp.take_along_axis(x, i, axis), x, indices)
            for name in ALONG if dtype != "bool" else ("set",):
                _scatter(sheet, name, x, indices, axis)
                if name != "add":
                    part = tuple(slice(n if a == axis else 2) for a, n in enumerate(shape))
                    _scatter(sheet, name, x, indices[part], axis)
    sheet.check()


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_indices_into_whole_rows(dtype):
    rng = np.random.default_rng(4)
    x = _numbers((4, 3, 5), dtype)
    sheet = Sheet()
    for axis in range(3):
        for places in ((), (0,), (6,), (2, 4)):
            indices = rng.integers(-x.shape[axis], x.shape[axis], places)
            sheet.add(lambda xp, x, i, axis=axis: xp.take(x, i, axis), x, indices)
            updates = _numbers((*x.shape[:axis], *places, *x.shape[axis + 1 :]), dtype, 1)
            if dtype != "bool":
                sheet.add(lambda xp, *a, axis=axis: xp.scatter_add(*a, axis), x, indices, updates)
    sheet.check()


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("dtype", sorted(INTEGERS))
def test_indices_of_any_dtype(dtype):
    """Of an axis that is longer than the dtype counts, and of a short one."""
    low = 0 if dtype in UNSIGNED else -3
    indices = np.array([2, low, 0, 1], dtype)
    long, short = _numbers((300,), "float32"), _numbers((3,), "float32")
    sheet = Sheet()
    for x in (long, short):
        sheet.add(lambda xp, x, i: xp.take(x, i), x, indices)
        sheet.add(lambda xp, x, i: xp.take_along_axis(x, i), x, indices)
        sheet.add(lambda xp, x, i, u: xp.scatter_add(x, i, u), x, indices, long[:4])
        sheet.add(lambda xp, x, i, u: xp.set_along_axis(x, i, u, 0), x, indices, long[:4])
    edges = np.array([0, 2, 5, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    sheet.add(lambda xp, i: xp.one_hot(i, 4), edges)
    sheet.add(lambda xp, i: xp.one_hot(i, 0, "int8"), edges)
    sheet.add(lambda xp, i: xp.one_hot(i, 300, "bool"), edges[:3, None])
    sheet.check()


@pytest.mark.night
@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_and_pads(dtype):
    x, part = _numbers((7, 6), dtype), _numbers((2, 3), dtype, 1)
    sheet = Sheet()
    parts = [slice(1, 5), slice(None, None, 2), slice(5, 1, -2), slice(None, None, -1), slice(3, 3),
             slice(-2, None), slice(-1, 0, -3), slice(0, 100), slice(6, 0, 1)]  # fmt: skip
    for first in parts:
        for second in parts:
            sheet.add(lambda xp, x, first=first, second=second: x[first, second], x)
    for rows in (slice(1, 3), slice(0, 4, 3), slice(6, 3, -2), slice(-1, -3, -1)):
        for columns in (slice(3, None), slice(0, 6, 2), slice(5, None, -2), slice(4, 1, -1)):
            sheet.add(
                lambda xp, x, rows=rows, columns=columns: xp.embed(x, (7, 6), (rows, columns), 1),
                part,
            )
    sheet.add(lambda xp, x: xp.embed(x, (7, 6), (slice(2, 2), slice(0, 6))), x[:0])
    for axes in ((0,), (1,), (0, 1)):
        sheet.add(lambda xp, x, axes=axes: xp.flip(x, axes), x)
    sheet.add(lambda xp, x: xp.concat([x, x[:0], x[1:]], 0), x)
    sheet.check()


def test_nothing_to_compute():
    """Arrays without elements, through every family."""
    none, some = np.zeros((0, 3), "float32"), np.ones((2, 0), "float32")
    sheet = Sheet()
    for x in (none, some):
        for name in ("exp", "sum", "any", "isnan", "softplus", "cumulative_sum", "argsort"):
            sheet.add(lambda xp, x, name=name: getattr(xp, name)(x), x)
    sheet.add(lambda xp, x: xp.softmax(x), none)
    sheet.add(lambda xp, x: xp.max(x, 1), none)
    sheet.add(lambda xp, x: xp.argmax(x, 1), none)
    sheet.add(lambda xp, a, b: a @ b, some, none)
    sheet.add(lambda xp, a, b: b @ a, np.ones((3, 2), "float32"), none)
    sheet.add(lambda xp, a, b: xp.einsum("ij,jk->", a, b), some, none)
    sheet.add(lambda xp, x: xp.pad(x, ((1, 1), (0, 0)), 3), none)
    sheet.add(lambda xp, x, i: xp.take(x, i), none, np.zeros((0, 2), int))
    sheet.add(lambda xp, x, i: xp.take(x, i, 1), none, np.array([1, -1]))
    sheet.add(lambda xp, x, i: xp.take_along_axis(x, i, 0), none, np.zeros((0, 3), int))
    sheet.add(
        lambda xp, *a: xp.scatter_add(*a), none, np.zeros((0, 2), int), np.zeros((0, 2, 3), "f")
    )
    square = np.zeros((0, 3, 3))
    for name in ("inverse", "cholesky", "determinant", "log_determinant", "determinant_sign"):
        sheet.add(lambda xp, x, name=name: getattr(xp, name)(x), square)
        sheet.add(lambda xp, x, name=name: getattr(xp, name)(x), np.zeros((2, 0, 0)))
    sheet.add(lambda xp, a, b: xp.solve(a, b), square, np.zeros((3, 2)))
    sheet.add(lambda xp, a, b: xp.solve(a, b), np.eye(3), np.zeros((3, 0)))
    sheet.check()
