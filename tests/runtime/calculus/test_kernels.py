"""Kernels that take another way to the same bits: selection, scattered sums, folded windows; and
those that are near the exact numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradwire.runtime.calculus.kernels import adding, erf, ordering, selecting, summing, transposing
from gradwire.runtime.calculus.primitives import elementwise, reduce
from gradwire.runtime.calculus.primitives.convolution import Geometry, _fold_into
from gradwire.runtime.calculus.primitives.elementwise import POWER
from gradwire.runtime.calculus.primitives.gather import (
    _add_along_kernel,
    _scatter_kernel,
    places_along,
)
from gradwire.runtime.calculus.primitives.scatter import SET_ALONG

Array = NDArray[Any]


def _numbers(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Numbers with NaN, infinities and zeros of both signs among them."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(shape) * 3
    if dtype.startswith("f"):
        special = rng.integers(0, 12, shape)
        for case, number in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0)):
            found[special == case] = number
    return found.astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "bool"])
@pytest.mark.parametrize("size", [selecting.FEW - 1, selecting.FEW, 100_000])
def test_selection_by_bits_is_selection_by_branches(dtype: str, size: int) -> None:
    condition = _numbers((size,), "float64", 1) > 0
    a, b = _numbers((size,), dtype, 2), _numbers((size,), dtype, 3)
    scalars = [np.zeros((), dtype), np.ones((), dtype), np.broadcast_to(np.zeros((), dtype), size)]
    for yes, no in [(a, b), *((a, x) for x in scalars), *((x, b) for x in scalars)]:
        out = np.empty(size, dtype)
        selecting.select(condition, yes, no, out)
        assert out.tobytes() == np.where(condition, yes, no).tobytes()


def test_selection_by_bits_takes_any_layout() -> None:
    a, b = _numbers((80, 60), "float32", 4), _numbers((60, 80), "float32", 5)
    row = _numbers((60,), "float32", 6) > 0
    out = np.empty((80, 60), np.float32)
    selecting.select(row, a, b.T, out)
    assert out.tobytes() == np.where(row, a, b.T).tobytes()
    every_other = np.empty((80, 120), np.float32)[:, ::2]
    selecting.select(a > 0, a, b.T, every_other)
    assert every_other.tobytes() == np.where(a > 0, a, b.T).tobytes()


_SORTED = ["float16", "float32", "float64", "int8", "uint32", "int64", "uint64", "bool"]


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("dtype", _SORTED)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements_that_are_equal_keep_their_order(dtype: str, axis: int) -> None:
    rng = np.random.default_rng(axis)
    x = (3 * rng.standard_normal((64, 65, 66))).round(1)
    if dtype.startswith("float"):
        for number in (0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf):
            x[rng.random(x.shape) < 0.05] = number
    x = (abs(x) if dtype.startswith("u") else x).astype(dtype)
    wanted = np.argsort(x, axis=axis, kind="stable")
    assert np.array_equal(ordering.stable_order(x, axis), wanted)
    back = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    assert np.array_equal(ordering.stable_order(x, axis, True), x.shape[axis] - 1 - back)


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64", "uint64"])
def test_integers_are_sorted_over_all_their_range(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.array([limits.max, 3, limits.min] * ordering.LARGE, dtype)
    assert np.array_equal(ordering.stable_order(x, 0), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_elements_are_added_along_any_axis_in_their_order(axis: int, dtype: str) -> None:
    rng = np.random.default_rng(axis)
    x = (100 * rng.standard_normal((20, 21, 22))).astype(dtype)
    indices = rng.integers(-x.shape[axis], x.shape[axis], x.shape).astype(np.int8)
    updates = (100 * rng.standard_normal(x.shape)).astype(dtype)
    out, wanted = np.empty_like(x), x.copy()
    np.add.at(wanted, places_along(x, indices, axis), updates)
    _add_along_kernel(x, indices, updates, out=out, axis=axis)
    assert out.tobytes() == wanted.tobytes()
    swapped = np.empty(x.shape[::-1], dtype).transpose()
    _add_along_kernel(x, indices, updates, out=swapped, axis=axis)
    assert swapped.tobytes() == wanted.tobytes()


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("rows", [1, 7, 1000, 50_000])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 5000])
@pytest.mark.parametrize("width", [1, 15, 16, 64])
def test_rows_are_added_in_the_order_of_their_indices(rows: int, count: int, width: int) -> None:
    rng = np.random.default_rng(count + width)
    indices = rng.integers(0, rows, count)
    updates = rng.standard_normal((count, width)).astype(np.float32)
    found = rng.standard_normal((rows, width)).astype(np.float32)
    wanted = found.copy()
    np.add.at(wanted, indices, updates)
    adding.add_rows(found, indices, updates)
    assert found.tobytes() == wanted.tobytes()


def test_rows_that_repeat_now_and_then_are_added_in_passes(monkeypatch: Any) -> None:
    monkeypatch.setattr(adding.np, "add", None)  # np.add.at is not reached
    found = np.zeros((300, 64))
    adding.add_rows(found, np.arange(600) % 300, np.ones((600, 64)))
    assert np.array_equal(found, np.full((300, 64), 2.0))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_rows_of_an_index_that_comes_often_are_added_in_their_order(dtype: str) -> None:
    """As in texts: few words come often, most of them seldom."""
    rng = np.random.default_rng(0)
    indices = np.minimum(rng.zipf(1.3, 3000) - 1, 999)
    assert np.bincount(indices).max() >= adding.OFTEN
    updates = (100 * rng.standard_normal((3000, 2, 40))).astype(dtype)
    wanted = (100 * rng.standard_normal((1000, 2, 40))).astype(dtype)
    found = wanted.copy()
    np.add.at(wanted, indices, updates)
    adding.add_rows(found, indices, updates)
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
@pytest.mark.parametrize("shape", [(), (3,), (16,), (2, 40), (0,)], ids=str)
@pytest.mark.parametrize("count", [0, 1, 70, 3000])
def test_sums_of_rows_are_what_is_added_to_zeros(
    count: int, shape: tuple[int, ...], dtype: str
) -> None:
    """Some indices come often, the rest now and then or never; some rows are −0."""
    rng = np.random.default_rng(count)
    indices = np.minimum(rng.zipf(1.3, count) - 1, 999)
    rows = 100 * rng.standard_normal((count, *shape)) * rng.integers(0, 2, (count, *shape))
    rows = rows.astype(dtype)
    wanted = np.zeros((1000, *shape), dtype)
    adding.add_rows(wanted, indices, rows)
    distinct, sums = adding.sum_rows(indices, rows)
    assert distinct.tolist() == np.unique(indices).tolist()
    assert sums.shape == (len(distinct), *shape)
    assert sums.tobytes() == wanted[distinct].tobytes()
    by = adding.sum_rows_by(np.add.at, indices, rows, np.full(1000, 77))
    assert by[0].tolist() == distinct.tolist()
    assert by[1].tobytes() == sums.tobytes()


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("places", [(), (70,), (9, 40)])
def test_scatter_adds_along_any_axis(axis: int, places: tuple[int, ...]) -> None:
    rng = np.random.default_rng(axis)
    x = rng.standard_normal((31, 32, 33)).astype(np.float32)
    indices = rng.integers(-x.shape[axis], x.shape[axis], places)
    shape = (*x.shape[:axis], *places, *x.shape[axis + 1 :])
    updates = rng.standard_normal(shape).astype(np.float32)
    out, wanted = np.empty_like(x), x.copy()
    np.add.at(wanted, (slice(None),) * axis + (indices,), updates)
    _scatter_kernel(x, indices, updates, out=out, axis=axis)
    assert out.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_indices_count_no_further_than_their_dtype(dtype: str) -> None:
    """Along an axis that is longer."""
    x, indices = np.zeros(300), np.array([100, 2, 100], dtype)
    out = np.empty_like(x)
    _scatter_kernel(x, indices, np.array([1.0, 2.0, 3.0]), out=out, axis=0)
    assert (out[100], out[2], out.sum()) == (4.0, 2.0, 6.0)
    SET_ALONG.kernel(x, indices, np.array([1.0, 2.0, 3.0]), out=out, axis=0)
    assert (out[100], out[2], out.sum()) == (3.0, 2.0, 5.0)


@pytest.mark.parametrize(
    ("image", "geometry"),
    [
        ((8, 6), Geometry((2, 2), (2, 2))),
        ((9, 7), Geometry((2, 2), (2, 2))),
        ((9, 8), Geometry((2, 1), (3, 2))),
        ((7, 7), Geometry((2, 2), (2, 2), ((1, 0), (0, 1)))),
        ((9, 9), Geometry((2, 2), (2, 3), dilation=(2, 1))),
        ((9, 9), Geometry((3, 3), (1, 1), ((1, 1), (1, 1)))),
    ],
)
def test_folded_windows_are_sums_from_zero(image: tuple[int, int], geometry: Geometry) -> None:
    places = geometry.output(image)
    patches = _numbers((*geometry.window, 2, 3, *places), "float32", 8)
    out = np.full((2, 3, *image), 5, np.float32)
    with np.errstate(invalid="ignore"):
        _fold_into(patches, out, geometry)
        wanted = np.zeros_like(out)
        for i, j, seen, by in geometry.spans(image, places):
            wanted[seen] += patches[(i, j, *by)]
    assert out.tobytes() == wanted.tobytes()


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(("dtype", "units"), [("float16", 1), ("float32", 2), ("float64", 4)])
@pytest.mark.parametrize("spread", [1e-30, 0.7, 1.1, 9])
def test_erf_is_near_that_of_the_c_library(dtype: str, units: int, spread: float) -> None:
    x = (spread * np.random.default_rng(0).uniform(-1, 1, (3, erf._CHUNK))).astype(dtype)
    expected = np.vectorize(math.erf, otypes=[float])(x.astype(float))
    out = np.empty((erf._CHUNK, 3), dtype).T
    erf.erf_kernel(x, out=out)
    unit = np.spacing(np.abs(expected).astype(dtype)).astype(float)
    assert np.all(np.abs(out - expected) <= units * unit)
    assert np.all(np.abs(out) <= 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_erf_of_zeros_infinities_and_nan(dtype: str) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 8, -8], dtype)
    out = np.empty_like(x)
    erf.erf_kernel(x, out=out)
    np.testing.assert_array_equal(out, np.array([0, 0, 1, -1, np.nan, 1, -1], dtype))
    np.testing.assert_array_equal(np.signbit(out[:2]), [False, True])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((5, 400), 0), ((20, 7, 40), 1), ((3, 5, 16, 30), 2), ((30, 300), 1), ((4, 12), 0),
     ((0, 300), 0), ((300, 0), 1), ((1, 512), 0)],
    ids=str,
)  # fmt: skip
def test_running_sums_level_by_level_have_the_same_bits(
    shape: tuple[int, ...], axis: int, dtype: str
) -> None:
    x = _numbers(shape, dtype, 1)
    wide = "float32" if dtype == "float16" else dtype
    for turned in (x, np.flip(x, axis)):
        found = np.empty(shape, dtype)
        with np.errstate(all="ignore"):
            reduce._cumulative_kernel(turned, out=found, axis=axis)
            expected = np.cumsum(turned, axis, dtype=wide).astype(dtype)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("length", range(summing.SHORTEST, summing.LONGEST + 1))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_short_rows_are_added_in_the_order_of_numpy(dtype: str, length: int) -> None:
    x = _numbers((summing.ROWS, length), dtype, length)
    wide = np.float32 if dtype == "float16" else x.dtype
    with np.errstate(all="ignore"):
        expected = np.add.reduce(x, axis=1, keepdims=True, dtype=wide)
        found = summing.total(x, (1,), wide)
    assert (found.dtype, found.shape) == (wide, expected.shape)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("length", [8, 9, 100, 127])
def test_axes_before_a_narrow_one_are_added_half_to_half(length: int) -> None:
    x = np.random.default_rng(0).standard_normal((300, length, 4)).astype(np.float32)
    assert summing.has_order_of_its_own(x.shape, (1,))
    found = summing.total(x, (1,), x.dtype)
    np.testing.assert_allclose(found, x.sum(1, dtype=float, keepdims=True), atol=1e-4)
    turned = np.asfortranarray(x)
    np.testing.assert_array_equal(summing.total(turned, (1,), x.dtype), found)


PRODUCTS = [
    ((300, 40), (1,)), ((3, 70, 513), (2,)), ((9, 1024), (1,)), ((9, 1025), (1,)),
    ((5, 3001), (1,)), ((20_001,), (0,)), ((4, 1, 60, 50), (2, 3)), ((9, 8, 20, 20), (0, 2, 3)),
    ((50, 200), (0,)), ((512, 128), (0,)), ((521, 100), (0,)), ((2, 4, 900, 17), (0, 2)),
    ((30, 20, 256), (0, 1)), ((7, 3, 5, 400), (0, 3)),
]  # fmt: skip


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axes"), PRODUCTS, ids=str)
def test_sums_as_products_with_ones_are_as_near_as_those_of_numpy(
    shape: tuple[int, ...], axes: tuple[int, ...], dtype: str
) -> None:
    assert summing.has_order_of_its_own(shape, axes)
    x = np.random.default_rng(0).random(shape).astype(dtype)
    exact = x.sum(axes, dtype=np.longdouble, keepdims=True)
    found = summing.total(x, axes, x.dtype)
    assert (found.dtype, found.shape) == (x.dtype, exact.shape)
    near, plain = (np.abs(sums - exact).max() for sums in (found, x.sum(axes, keepdims=True)))
    assert near <= max(plain, 8 * np.finfo(dtype).eps * np.abs(exact).max())
    out = np.empty_like(found)
    call = summing.bound_total(x, axes, out)
    assert call is not None
    call()
    np.testing.assert_array_equal(out, found)


def test_sums_as_products_know_infinity_and_nan() -> None:
    x = np.ones((300, 64), np.float32)
    x[0, 3], x[1, 3], x[2, 3:5] = np.inf, np.nan, (np.inf, -np.inf)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(summing.total(x, (1,), x.dtype), x.sum(1, keepdims=True))
        np.testing.assert_array_equal(summing.total(x, (0,), x.dtype), x.sum(0, keepdims=True))


@pytest.mark.parametrize("length", [32, 77, 1024, 1100])
def test_a_row_has_the_same_sum_among_any_others(length: int) -> None:
    x = np.random.default_rng(0).standard_normal((600, length)).astype(np.float32)
    whole = summing.total(x, (1,), x.dtype)
    for rows in (slice(0, 300), slice(7, 307), slice(300, 600)):
        np.testing.assert_array_equal(summing.total(x[rows], (1,), x.dtype), whole[rows])


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((400, 40), (0,)), ((300, 33), (1,)), ((4, 3000), (0,)), ((300, 300), (1,))],
    ids=str,
)
def test_sums_of_what_lies_in_another_order_or_counts_are_those_of_numpy(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    for x in (_numbers(shape[::-1], "float32", 1).T, _numbers(shape, "int64", 1)):
        with np.errstate(all="ignore"):
            expected = np.add.reduce(x, axis=axes, keepdims=True)
            found = summing.total(x, axes, x.dtype)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(256, 256), (2, 300, 257), (2, 1, 8, 8192)])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_transposed_arrays_are_copied_in_blocks(shape: tuple[int, ...], dtype: str) -> None:
    x = _numbers(shape, dtype, 1).swapaxes(-1, -2)
    assert transposing.is_transposed(x)
    found = transposing.contiguous(x)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, x)
    assert transposing.contiguous(found) is found


@pytest.mark.night
@pytest.mark.parametrize(
    ("shape", "is_large"), [((2, 40, 48, 40), True), ((300, 30, 20, 20), False)]
)
def test_rows_of_images_are_one_axis_where_channels_go_last(
    shape: tuple[int, ...], is_large: bool
) -> None:
    x = _numbers(shape, "float32", 1).transpose(0, 2, 3, 1)
    assert transposing.is_transposed(x) == is_large
    for out in (np.empty(x.shape, x.dtype), np.empty((*x.shape[:-1], 50), x.dtype)[..., :40]):
        if out.shape == x.shape:
            transposing.copy_transposed(x, out)
            np.testing.assert_array_equal(out, x)
    np.testing.assert_array_equal(transposing.contiguous(x), x)


@pytest.mark.parametrize("kernel", [reduce._softmax_kernel, reduce._log_softmax_kernel])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmaxes_in_blocks_have_the_bits_of_the_whole(
    kernel: Any, axis: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).standard_normal((13, 100, 40)).astype(np.float32)
    whole, found = np.empty_like(x), np.empty_like(x)
    kernel(x, out=whole, axis=axis)
    monkeypatch.setattr(reduce, "_BLOCK", 5 * 4000)
    kernel(x, out=found, axis=axis)
    np.testing.assert_array_equal(found, whole)


@pytest.mark.parametrize(("dtype", "units"), [("float16", 1), ("float32", 3), ("float64", 3)])
@pytest.mark.parametrize("spread", [1e-3, 1, 20, 60000])
def test_softplus_is_near_the_exact_number(dtype: str, units: int, spread: float) -> None:
    x = (spread * np.random.default_rng(0).uniform(-1, 1, 5000)).astype(dtype)
    out, exact = np.empty_like(x), np.logaddexp(x.astype(np.longdouble), 0)
    with np.errstate(under="ignore"):
        elementwise.SOFTPLUS.kernel(x, out=out)
    unit = np.spacing(np.maximum(exact, np.finfo(dtype).tiny).astype(dtype)).astype(np.longdouble)
    assert np.all(np.abs(out - exact) <= units * unit)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_softplus_of_infinities_and_nan(dtype: str) -> None:
    x = np.array([np.inf, -np.inf, np.nan], dtype)
    out = np.empty_like(x)
    elementwise.SOFTPLUS.kernel(x, out=out)
    np.testing.assert_array_equal(out, np.array([np.inf, 0, np.nan], dtype))


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("exponent", [-4, -3, -2, -1, 0, 1, 2, 3, 4, 7, 0.5, 1.5, math.inf])
def test_powers_of_numbers_of_either_sign(dtype: str, exponent: float) -> None:
    rng = np.random.default_rng(0)
    edges = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan]
    x = np.concatenate([2 * rng.standard_normal(50), edges]).astype(dtype)
    out, b = np.empty_like(x), np.array(exponent, dtype)
    with np.errstate(all="ignore"):
        POWER.kernel(x, b, out=out)
        expected = np.array([np.power(one, b) for one in x])
    np.testing.assert_allclose(out, expected, rtol=2 * np.finfo(dtype).eps, strict=True)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(out[zeros]), np.signbit(expected[zeros]))
    wide = np.empty((2, x.size), dtype)
    with np.errstate(all="ignore"):
        POWER.kernel(x, b, out=wide)
    np.testing.assert_array_equal(wide, [out, out])
