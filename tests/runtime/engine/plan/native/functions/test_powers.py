"""Powers of machine code against float64, with exponents that are known and that are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradwire.runtime.engine.compiler.regions import compiled_region
from gradwire.runtime.engine.plan.native import Operation, is_simple
from tests.runtime.engine.plan.native.functions.test_singles import ordered
from tests.runtime.engine.plan.native.loops import loop

pytest.importorskip("llvmlite")

Array = NDArray[Any]

SIMPLE = [n / 2 for n in range(-8, 9)]
EDGES = [0.0, 1e-45, 1e-39, 2.0**-126, 1e-20, 0.5, 0.75, 1.0, 1 + 2.0**-23, 1.4142135, 2.0, 3.0,
         1e10, 1.8446743e19, 3e38, np.inf, np.nan]  # fmt: skip
BASES = np.array([*EDGES, *np.negative(EDGES)], np.float32)


def run(a: Array, b: Array, exponent: float | None = None) -> Array:
    """Powers of contiguous arrays of one length, as one row."""
    known = () if exponent is None else (("exponent", exponent),)
    recipe = loop(Operation("power", "float32", (0, 1), known), dtypes=("float32", "float32"))
    a, b = (np.ascontiguousarray(x, np.float32) for x in np.broadcast_arrays(a, b))
    out = np.empty_like(a)
    frame = np.array([a.ctypes.data, 0, b.ctypes.data, 0, out.ctypes.data, 0])
    compiled_region(recipe)(frame.ctypes.data, a.size, 0, 1)
    return out


def check(found: Array, a: Array, b: Array) -> None:
    """Every result is the float32 that is nearest to the exact one, or a neighbour of that."""
    wide = [np.asarray(x, np.float32).astype(np.float64) for x in (a, b)]
    with np.errstate(all="ignore"):
        nearest = np.float_power(*wide).astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(nearest))
    np.testing.assert_array_equal(found[np.isinf(nearest)], nearest[np.isinf(nearest)])
    sure = np.isfinite(nearest)
    np.testing.assert_array_equal(np.signbit(found[sure]), np.signbit(nearest[sure]))
    assert np.abs(ordered(found[sure]) - ordered(nearest[sure])).max(initial=0) <= 1


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("exponent", SIMPLE)
@pytest.mark.parametrize("known", [True, False])
def test_powers_of_small_integers_and_halves(exponent: float, known: bool) -> None:
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(-103, 88, 20_000)).astype(np.float32)
    a = np.concatenate([rng.standard_normal(20_000).astype(np.float32), sizes, -sizes, BASES])
    if exponent == 0.5:  # IEEE: ∞ for −∞, and 0 for −0; numpy takes the root
        a = a[(a != -np.inf) & ~((a == 0) & np.signbit(a))]
    check(run(a, np.float32(exponent), exponent if known else None), a, np.float32(exponent))


def test_powers_of_any_numbers() -> None:
    rng = np.random.default_rng(1)
    a = np.exp(rng.uniform(-90, 88, 100_000)).astype(np.float32)
    near = rng.uniform(-88, 88, a.size) / np.where(np.abs(np.log(a)) < 0.1, 0.1, np.log(a))
    for b in (near.astype(np.float32), rng.integers(-20, 20, a.size).astype(np.float32)):
        check(run(a, b), a, b)
        check(run(-a, b), -a, b)


def test_powers_at_the_edges_are_those_of_ieee() -> None:
    exponents = [*EDGES, 1.5, 5.0, 7.0, 8.0, 101.0, 16777215.0, 16777216.0, 33554432.0]
    b = np.array([*exponents, *np.negative(exponents)], np.float32)
    a, b = (x.reshape(-1) for x in np.meshgrid(BASES, b))
    check(run(a, b), a, b)


def test_the_root_is_that_of_numpy() -> None:
    found = run(np.array([-0.0, 0.0, 4.0, -1.0, -np.inf]), np.float32(0.5), 0.5)
    np.testing.assert_array_equal(found, [-0.0, 0.0, 2.0, np.nan, np.nan])
    assert np.signbit(found[0])


def test_simple_exponents_are_halves_of_small_integers() -> None:
    assert [x for x in (-4.5, -1.5, 0.25, 3.0, 4.0, np.inf, np.nan) if is_simple(x)] == [-1.5, 3, 4]
