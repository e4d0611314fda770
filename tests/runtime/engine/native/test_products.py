"""Matrix products of machine code: any shape and layout, within the bound of float32."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from runtime.engine import threads
from runtime.engine.native import Product
from runtime.engine.native.panels import DEEP, tallest

pytest.importorskip("llvmlite")

Array = NDArray[np.float32]


@pytest.fixture(autouse=True)
def unlimited() -> Iterator[None]:
    yield
    threads.limit(None)


def numbers(shape: tuple[int, ...], turned: bool, seed: int) -> Array:
    """A matrix, or several, with one of the last axes contiguous and gaps along the other."""
    rng = np.random.default_rng(seed)
    *batch, n, m = shape
    whole = rng.standard_normal((*batch, m, n + 3) if turned else (*batch, n, m + 3))
    part = whole.astype(np.float32)[..., :-3]
    return part.swapaxes(-1, -2) if turned else part


def assert_product(found: Array, a: Array, b: Array) -> None:
    """Each sum of K products within K·ε of the sum of their sizes."""
    exact = a.astype(np.float64) @ b
    sizes = np.abs(a.astype(np.float64)) @ np.abs(b)
    assert np.all(np.abs(found - exact) <= (a.shape[-1] + 2) * 2.0**-24 * sizes)


def multiplied(a: Array, b: Array, shape: tuple[int, ...]) -> Array:
    """Into the middle of guarded memory: nothing around the result is written to."""
    guarded = np.full((shape[0] + 2, *shape[1:]), 7, np.float32)
    Product()(a, b, guarded[1:-1])
    assert np.all(guarded[[0, -1]] == 7)
    return guarded[1:-1]


lengths = st.integers(1, 70)


@given(lengths, lengths, lengths, st.booleans(), st.booleans(), st.integers(0, 99))
def test_any_shape_and_layout(
    rows: int, depth: int, columns: int, first: bool, second: bool, seed: int
) -> None:
    a, b = numbers((rows, depth), first, seed), numbers((depth, columns), second, seed + 1)
    assert_product(multiplied(a, b, (rows, columns)), a, b)


@pytest.mark.parametrize("rows", [tallest() - 1, tallest(), tallest() + 1, 5 * tallest(), 128])
@pytest.mark.parametrize("depth", [DEEP - 1, DEEP, DEEP + 1, 3 * DEEP + 17])
def test_more_than_one_block_along_every_axis(rows: int, depth: int) -> None:
    for first, second in ((False, True), (True, False)):
        a, b = numbers((rows, depth), first, 1), numbers((depth, 75), second, 2)
        assert_product(multiplied(a, b, (rows, 75)), a, b)


def test_batches_broadcast() -> None:
    a, b = numbers((3, 2, 20, 40), False, 1), numbers((2, 40, 33), True, 2)
    out = np.empty((3, 2, 20, 33), np.float32)
    Product()(a, b, out)
    assert_product(out, a, np.broadcast_to(b, (3, 2, 40, 33)))


def test_both_axes_strided_is_left_to_numpy() -> None:
    a, b = numbers((40, 60), False, 1)[:, ::2], numbers((30, 50), False, 2)
    out = np.empty((40, 50), np.float32)
    Product()(a, b, out)
    np.testing.assert_array_equal(out, a @ b)


def test_equal_bits_on_any_number_of_threads() -> None:
    a, b = numbers((300, 400), False, 1), numbers((400, 300), True, 2)
    many, others = numbers((9, 128, 128), False, 1), numbers((9, 128, 128), False, 2)
    found = []
    for number in (1, 2, 3, 7):
        threads.limit(number)
        one, several = np.empty((300, 300), np.float32), np.empty((9, 128, 128), np.float32)
        Product()(a, b, one)
        Product()(many, others, several)
        found.append((one, several))
    for one, several in found[1:]:
        np.testing.assert_array_equal(one, found[0][0])
        np.testing.assert_array_equal(several, found[0][1])


def test_what_is_no_number_goes_where_it_belongs() -> None:
    a, b = numbers((50, 40), False, 1), numbers((40, 45), False, 2)
    multiplied(np.full((50, 40), np.nan, np.float32), b, (50, 45))  # leaves its trace in scratch
    a[7, 3], b[5, 40] = np.nan, np.inf
    found = multiplied(a, b, (50, 45))
    rest = np.isfinite(found)
    assert np.all(np.isnan(found[7])) and not np.any(rest[:, 40])
    assert np.all(np.delete(np.delete(rest, 7, 0), 40, 1))


def test_one_product_for_other_results_and_operands_in_turn() -> None:
    product = Product()
    operands = [(numbers((40, 50), False, i), numbers((50, 60), True, i)) for i in range(3)]
    for a, b in operands + operands:
        for _ in range(2):
            out = np.empty((40, 60), np.float32)
            product(a, b, out)
            assert_product(out, a, b)
