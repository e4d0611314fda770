"""Convolutions of small images as products of machine code, against the kernels."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from runtime.calculus import Trace, Value, sweep
from runtime.calculus.primitives.base import LEAF
from runtime.calculus.primitives.convolution import CONV2D_X, Geometry
from runtime.engine.plan import jobs, passes, threads
from runtime.engine.plan.passes.windows.column_products import (
    ColumnGradientTask,
    ColumnProductTask,
    reverse,
)
from runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

Array = np.ndarray[Any, Any]
MODULE = importlib.import_module("runtime.engine.plan.passes.windows.column_products")
PRODUCTS = importlib.import_module("runtime.engine.plan.passes.native_products")

GEOMETRIES = {
    "same": Geometry((3, 3), padding=((1, 1), (1, 1))),
    "valid": Geometry((3, 2)),
    "uneven": Geometry((2, 3), padding=((1, 0), (0, 2))),
    "dilated": Geometry((2, 3), dilation=(3, 2), padding=((2, 1), (2, 2))),
    "down": Geometry((3, 3), stride=(2, 1), padding=((1, 1), (1, 1))),
    "across": Geometry((3, 3), stride=(1, 2), padding=((1, 1), (1, 1))),
    "wide": Geometry((2, 2), padding=((2, 2), (2, 2))),
    "row": Geometry((1, 3), padding=((0, 0), (1, 1))),
}
CONVEX = ("same", "valid", "uneven", "dilated", "row")
"""Of which the gradient of images is a convolution."""


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PRODUCTS, "LARGE", 1)
    monkeypatch.setattr(PRODUCTS, "WIDE", 1)


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Sets the number of threads for plans, however little they compute."""
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "WAKE", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    yield threads.limit
    threads.limit(None)


class Convolved:
    """A convolution of small images with many channels, and its gradients."""

    def __init__(self, geometry: Geometry, dtype: str = "float32", width: int = 7) -> None:
        trace = Trace()
        shapes = (3, 17, 6, width), (19, 17, *geometry.window)
        self.leaves = [trace.apply(LEAF, shape=s, dtype=dtype) for s in shapes]
        out = trace.xp.conv2d_c(*self.leaves, geometry, 1)
        self.leaves.append(trace.apply(LEAF, shape=out.shape, dtype=dtype))
        gradients = sweep([(out, self.leaves[2])], self.leaves[:2])
        self.outputs: list[Value] = [out, *(gradients[x] for x in self.leaves[:2])]
        rng = np.random.default_rng(0)
        self.numbers = [rng.standard_normal(x.shape) for x in self.leaves]

    def run(self, *which: passes.Pass) -> tuple[Plan, list[Array]]:
        plan = Plan(self.outputs, which)
        for leaf, array in zip(self.leaves, self.numbers, strict=True):
            plan.leaves[leaf][...] = array
        plan.run()
        plan.run()
        return plan, [plan.read(value) for value in self.outputs]

    def check(self) -> set[type]:
        """Compare with the kernels; returns the types of tasks."""
        (plan, found), (_, expected) = self.run(passes.column_products), self.run()
        bound = 1e-5 if self.outputs[0].dtype == "float32" else 1e-13
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=bound, atol=bound * np.abs(b).max())
        return {type(task) for _, task in plan.parts}


@pytest.mark.parametrize("width", [7, 5, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_convolutions_and_gradients_are_those_of_the_kernels(
    name: str, dtype: str, width: int
) -> None:
    types = Convolved(GEOMETRIES[name], dtype, width).check()
    assert ColumnProductTask in types
    assert (ColumnGradientTask in types) == (name in CONVEX)
    assert (reverse(GEOMETRIES[name]) is not None) == (name in CONVEX)


def test_many_weights_are_left_to_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "MANY", 1)
    Convolved(GEOMETRIES["same"]).check()


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_weight_that_is_no_number_does_not_reach_from_padding(odd: float) -> None:
    case = Convolved(GEOMETRIES["same"])
    case.numbers[1][3, 2, 0, 1] = odd
    case.numbers[2][:, :, 2:] = 0
    (plan, found), (_, expected) = case.run(passes.column_products), case.run()
    assert any(task.values[0].primitive is CONV2D_X for _, task in plan.parts)
    np.testing.assert_array_equal(np.isfinite(found[1]), np.isfinite(expected[1]))


@pytest.mark.parametrize("name", ["same", "down"])
def test_the_number_of_threads_changes_no_bit(name: str, limited: Callable[[int], None]) -> None:
    results = []
    for count in (1, 2, 5):
        limited(count)
        results.append(Convolved(GEOMETRIES[name]).run(passes.column_products)[1])
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_groups_and_single_elements_are_left_alone() -> None:
    trace = Trace()
    x, w, v = (
        trace.apply(LEAF, shape=shape, dtype="float32")
        for shape in ((3, 32, 5, 5), (32, 16, 3, 3), (32, 32, 1, 1))
    )
    y = trace.xp.conv2d_c(trace.xp.conv2d_c(x, w, Geometry((3, 3)), 2), v, Geometry((1, 1)), 1)
    plan = Plan([y], (passes.column_products,))
    assert not any(isinstance(task, ColumnProductTask) for _, task in plan.parts)
