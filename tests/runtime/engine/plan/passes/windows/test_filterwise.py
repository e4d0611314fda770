"""Convolutions with vectors across filters, against the kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.calculus.primitives.convolution import Geometry
from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.windows import native_convolutions
from gradwire.runtime.engine.plan.plan import Plan
from tests.runtime.engine.compiler.products import in_small_parts

pytest.importorskip("llvmlite")

Array = np.ndarray[Any, Any]

GEOMETRIES = {
    "same": Geometry((3, 3), padding=((1, 1), (1, 1))),
    "valid": Geometry((3, 2)),
    "uneven": Geometry((2, 3), padding=((1, 0), (0, 2))),
    "dilated": Geometry((2, 3), dilation=(3, 2), padding=((2, 1), (2, 2))),
    "down": Geometry((3, 3), stride=(2, 1), padding=((1, 1), (1, 1))),
    "across": Geometry((3, 3), stride=(1, 2), padding=((1, 1), (1, 1))),
    "both": Geometry((3, 3), stride=(2, 2), padding=((1, 1), (1, 1))),
    "beyond": Geometry((2, 2), stride=(3, 3)),
    "wide": Geometry((2, 2), padding=((2, 2), (2, 2))),
    "long": Geometry((1, 17), padding=((0, 0), (8, 8))),
    "tall": Geometry((5, 1), padding=((2, 2), (0, 0))),
}
BOUNDS = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-13}


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size, and on any machine."""
    monkeypatch.setattr(machine, "lanes", lambda: 16)
    monkeypatch.setattr(native_convolutions, "goes_across", lambda *_: True)
    monkeypatch.setattr(native_convolutions, "LARGE", 1)
    monkeypatch.setattr(native_convolutions, "WIDE", 1 << 30)


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Sets the number of threads for plans, however little they compute."""
    for name in ("PART", "WAKE", "PLAN"):
        monkeypatch.setattr(jobs, name, 1)
    yield threads.limit
    threads.limit(None)


class Convolved:
    """A convolution with a bias of images that a ReLU made, a ReLU of it, and all gradients."""

    def __init__(
        self,
        geometry: Geometry,
        filters: int = 19,
        dtype: str = "float32",
        width: int = 7,
        channels: int = 5,
    ) -> None:
        trace = Trace()
        xp = trace.xp
        shapes = (3, channels, 6, width), (filters, channels, *geometry.window), (filters, 1, 1)
        x, w, b = (trace.apply(LEAF, shape=s, dtype=dtype) for s in shapes)
        y = xp.conv2d_c(xp.relu(x), w, geometry, 1)
        out = xp.relu(y + b)
        g = trace.apply(LEAF, shape=y.shape, dtype=dtype)
        gradients = sweep([(y, g)], [x, w])
        self.outputs: list[Value] = [out, gradients[x], gradients[w]]
        self.leaves = [x, w, b, g]
        rng = np.random.default_rng(0)
        self.numbers = [rng.standard_normal(x.shape) for x in self.leaves]

    def run(self, *which: passes.Pass) -> list[Array]:
        """Twice: nothing is left of the first."""
        plan = Plan(self.outputs, which)
        for sign in (-1, 1):
            for leaf, array in zip(self.leaves, self.numbers, strict=True):
                plan.leaves[leaf][...] = sign * array
            plan.run()
        return [plan.read(value) for value in self.outputs]

    def check(self) -> None:
        found, expected = self.run(passes.native_convolutions), self.run()
        bound = BOUNDS[self.outputs[0].dtype]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=bound, atol=bound * np.abs(b).max())


@pytest.mark.night
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_any_geometry(name: str, dtype: str) -> None:
    Convolved(GEOMETRIES[name], dtype=dtype).check()


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("filters", [1, 8, 16, 17, 33, 48, 70])
def test_any_number_of_filters(filters: int) -> None:
    Convolved(GEOMETRIES["same"], filters).check()


@pytest.mark.night
@pytest.mark.parametrize("width", [1, 4, 8, 13, 14, 15, 28, 37])
@pytest.mark.parametrize("filters", [16, 48])
def test_any_length_of_rows(width: int, filters: int) -> None:
    Convolved(GEOMETRIES["same"], filters, width=width).check()


def test_sums_of_many_positions_are_added_in_parts() -> None:
    """Also where the last part is smaller."""
    with in_small_parts():
        Convolved(GEOMETRIES["same"]).check()


@pytest.mark.parametrize("odd", [np.nan, np.inf])
@pytest.mark.parametrize("which", [0, 1, 3], ids=["image", "weight", "gradient"])
def test_what_is_no_number_goes_where_the_kernels_let_it_go(which: int, odd: float) -> None:
    """Not from padding, nor from what fills a vector."""
    for place in (0, -1):
        case = Convolved(GEOMETRIES["same"])
        case.numbers[which].reshape(-1)[place] = odd
        pairs = zip(case.run(passes.native_convolutions), case.run(), strict=True)
        for found, expected in pairs:
            np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
            np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


@pytest.mark.parametrize("name", ["same", "both"])
def test_the_number_of_threads_changes_no_bit(name: str, limited: Callable[[int], None]) -> None:
    results = []
    for count in (1, 2, 5):
        limited(count)
        results.append(Convolved(GEOMETRIES[name], 40).run(passes.native_convolutions))
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_which_vectors_are_better_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(machine, "lanes", lambda: 16)
    assert native_convolutions.goes_across("float32", 64, 14)
    assert native_convolutions.goes_across("float16", 16, 7)
    assert native_convolutions.goes_across("float64", 8, 7)
    assert not native_convolutions.goes_across("float32", 20, 14)
    assert not native_convolutions.goes_across("float32", 64, 32)
    monkeypatch.setattr(machine, "lanes", lambda: 8)
    assert native_convolutions.goes_across("float32", 64, 14)
    assert not native_convolutions.goes_across("float32", 64, 16)
