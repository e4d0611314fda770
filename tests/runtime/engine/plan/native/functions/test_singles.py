"""Functions of machine code against float64, everywhere in float32 and at its edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gradwire.runtime.engine.compiler.regions import compiled_region
from gradwire.runtime.engine.plan.native import Operation, avx512, machine
from tests.runtime.engine.plan.native.functions.emulated import emulated
from tests.runtime.engine.plan.native.loops import loop

pytest.importorskip("llvmlite")

Array = NDArray[Any]

EXACT: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(x, 0),
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "erf": np.vectorize(math.erf, otypes=[float]),
}
"""The functions in float64."""

BORDERS = [border * (1 + i * 1e-6) for border in (0.65, 0.85) for i in range(-50, 50)]
"""Where tanh and erf change from one formula to the other."""

EDGES = [0.0, 1e-45, 1e-39, 2.0**-126, 1e-20, 1e-7, 0.5, 1.0, 3.91, 3.92, 3.93, 9.0, 9.01, 9.02,
         16.6, 17.5, 87.33654, 87.33655, 88.72283, 88.72284, 104.0, 1e30, 3.4e38, np.inf,
         np.nan]  # fmt: skip


@pytest.fixture(params=["any machine", "AVX-512"], autouse=True)
def instructions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Those that every machine has, and those for registers of AVX-512, emulated if need be."""
    compiled_region.cache_clear()
    if request.param == "any machine":
        monkeypatch.setattr(avx512, "LANES", 0)
    elif machine.lanes() != avx512.LANES:
        function = machine.function
        monkeypatch.setattr(machine, "lanes", lambda: avx512.LANES)
        monkeypatch.setattr(machine, "function", lambda x, name: function(emulated(x), name))
    yield
    compiled_region.cache_clear()


def run(name: str, x: Array, is_short: bool = False) -> Array:
    """One function over a contiguous array, as one row."""
    kernel = compiled_region(loop(Operation(name, "float32", (0,)), is_short=is_short))
    x, out = np.ascontiguousarray(x, np.float32), np.empty(x.shape, np.float32)
    frame = np.array([x.ctypes.data, 0, out.ctypes.data, 0])
    kernel(frame.ctypes.data, x.size, 0, 1)
    return out


def ordered(x: Array) -> Array:
    """The place of float32 numbers among all of them; 0 and −0 have one place."""
    bits = x.view(np.int32).astype(np.int64)
    return np.where(bits >= 0, bits, -(bits & 0x7FFFFFFF))


def check(name: str, x: Array) -> None:
    """Every result is the float32 that is nearest to the exact one, or a neighbour of that."""
    x = np.asarray(x, np.float32)
    found = run(name, x)
    with np.errstate(all="ignore"):
        nearest = EXACT[name](x.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(nearest))
    np.testing.assert_array_equal(found[np.isinf(nearest)], nearest[np.isinf(nearest)])
    finite = np.isfinite(nearest)
    off = np.abs(ordered(found[finite]) - ordered(nearest[finite]))
    assert np.all(off <= 1), (name, x[finite][off.argmax()], off.max())


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", EXACT)
def test_functions_are_at_most_a_float32_off(name: str) -> None:
    rng = np.random.default_rng(0)
    count = 50_000 if name == "erf" else 200_000
    sizes = np.exp(rng.uniform(-103, 88, count))
    check(name, np.concatenate([rng.uniform(-10, 10, count), sizes, -sizes]))
    check(name, np.array([*EDGES, *BORDERS, *np.negative([*EDGES, *BORDERS])]))


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", EXACT)
def test_every_nan_stays_nan(name: str) -> None:
    """There are 2²⁴ of them, quiet and signalling, of both signs."""
    low = np.random.default_rng(0).integers(1, 2**23, 10_000, dtype=np.uint32)
    borders = np.array([1, 2**22 - 1, 2**22, 2**23 - 1], np.uint32)
    for sign in (0x7F800000, 0xFF800000):
        x = (np.concatenate([borders, low]) | np.uint32(sign)).view(np.float32)
        assert np.isnan(run(name, x)).all()


@pytest.mark.night
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(EXACT)), st.lists(st.floats(width=32), min_size=1, max_size=80))
def test_functions_are_at_most_a_float32_off_for_any_number(
    name: str, numbers: list[float]
) -> None:
    """Whatever the length: the loop's rest is the loop."""
    check(name, np.array(numbers))


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", EXACT)
def test_a_part_of_a_vector_is_computed_as_a_whole_one(name: str) -> None:
    x = np.linspace(-3, 3, 64).astype(np.float32)
    whole = run(name, x)
    np.testing.assert_array_equal(run(name, x[:37]), whole[:37])
    np.testing.assert_array_equal(run(name, x[:37], is_short=True), whole[:37])


@pytest.mark.parametrize(("name", "low"), [("tanh", -1.0), ("erf", -1.0), ("sigmoid", 0.0)])
def test_ranges_are_reached_and_never_left(name: str, low: float) -> None:
    x = np.linspace(-120, 120, 300_001)
    found = run(name, x)
    assert (found.min(), found.max()) == (low, 1.0)
    assert np.all(np.abs(np.diff(found[np.abs(x) < 9])) >= 0)
    assert found[0] == low


@pytest.mark.parametrize("name", ["tanh", "erf", "expm1", "log1p"])
def test_odd_at_zero_with_its_sign(name: str) -> None:
    found = run(name, np.array([0.0, -0.0, 1e-20, -1e-20]))
    assert np.signbit(found).tolist() == [False, True, False, True]
