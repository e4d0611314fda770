"""Pooling of machine code against the kernels, and what it leaves to them."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.calculus.primitives.convolution import Geometry
from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.windows.poolings import GradientTask, PoolTask
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

Array = np.ndarray[Any, Any]
NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 1e-42, np.inf, -np.inf, np.nan)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("gradwire.runtime.engine.plan.passes.windows.poolings")
    monkeypatch.setattr(module, "LARGE", 1)
    monkeypatch.setattr(module, "SHORTEST", 2)


class Pooled:
    """A pooling of one leaf, and its gradient for a gradient that is another leaf."""

    def __init__(self, kind: str, shape: tuple[int, ...], dtype: str = "float32", **how: Any):
        trace = Trace()
        self.x = x = trace.apply(LEAF, shape=shape, dtype=dtype)
        source = trace.xp.relu(x) if how.pop("relu", False) else x
        self.out = getattr(trace.xp, kind)(source, **how)
        self.g = trace.apply(LEAF, shape=self.out.shape, dtype=dtype)
        self.outputs: list[Value] = [self.out, sweep([(self.out, self.g)], [x])[x]]

    def run(self, numbers: tuple[Array, Array], *chosen: passes.Pass) -> list[Array]:
        plan = Plan(self.outputs, chosen)
        found: list[Array] = []
        for given in (numbers[::-1], numbers):  # nothing is left of the first run
            for leaf, array in zip((self.x, self.g), given, strict=True):
                if leaf in plan.leaves:
                    plan.leaves[leaf][...] = np.resize(array, leaf.shape)
            plan.run()
            found = [plan.read(value) for value in self.outputs]
        return found

    def kinds(self) -> list[type]:
        parts = Plan(self.outputs, (passes.poolings,)).parts
        return [type(task) for task in dict.fromkeys(task for _, task in parts)]


def signed(arrays: list[Array]) -> list[Array]:
    """Numbers with the sign of what is 0."""
    return [np.where(x == 0, np.copysign(1e-300, x), x.astype(np.float64)) for x in arrays]


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("window", [(2, 2), (1, 2), (3, 2), (2, 1), (1, 1)])
@pytest.mark.parametrize("image", [(8, 8), (7, 13), (9, 35), (6, 64)])
def test_largest_elements_share_their_gradient_bit_for_bit(
    image: tuple[int, int], window: tuple[int, int], relu: bool, dtype: str, eager: None
) -> None:
    """Ties, zeros of both signs, infinities and what is no number, in images and gradients."""
    pooled = Pooled("max_pool", (2, 3, *image), dtype, window=window, stride=window, relu=relu)
    kinds = pooled.kinds()
    assert kinds.count(PoolTask) == kinds.count(GradientTask) == 1
    assert len(kinds) <= 3 + relu
    rng = np.random.default_rng(0)
    for numbers in (rng.standard_normal(2 * 3 * 64 * 64), rng.integers(0, 3, 9999),
                    rng.choice(NUMBERS, 9999)):  # fmt: skip
        given = numbers.astype(dtype), np.roll(numbers, 7).astype(dtype)
        found, expected = pooled.run(given, passes.poolings), pooled.run(given)
        # Which zero is the larger is not told by IEEE 754.
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(*map(lambda x: signed(x)[0], (found[1:], expected[1:])))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("window", [(2, 2), (1, 2), (3, 2), (2, 1)])
def test_means_are_those_of_the_kernels(window: tuple[int, int], dtype: str, eager: None) -> None:
    pooled = Pooled("avg_pool", (2, 3, 9, 21), dtype, window=window, stride=window)
    kinds = pooled.kinds()
    assert kinds.count(PoolTask) == kinds.count(GradientTask) == 1
    rng = np.random.default_rng(0)
    given = rng.standard_normal(9999).astype(dtype), rng.choice(NUMBERS, 9999).astype(dtype)
    found, expected = pooled.run(given, passes.poolings), pooled.run(given)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(*map(lambda x: signed(x)[0], (found[1:], expected[1:])))


WINDOWS: dict[str, dict[str, Any]] = {
    "stem": {"window": (3, 3), "stride": (2, 2), "padding": ((1, 1), (1, 1))},
    "every": {"window": (3, 3), "stride": (1, 1), "padding": ((1, 1), (1, 1))},
    "valid": {"window": (3, 3), "stride": (2, 2)},
    "line": {"window": (1, 3), "stride": (1, 2), "padding": ((0, 0), (1, 1))},
    "uneven": {"window": (2, 3), "stride": (1, 2), "padding": ((1, 0), (0, 2))},
    "apart": {"window": (2, 2), "stride": (3, 2), "padding": ((0, 1), (1, 1))},
    "dilated": {"window": (3, 2), "stride": (3, 1), "dilation": (2, 3)},
    "beside": {"window": (2, 2), "stride": (2, 2), "padding": ((1, 1), (1, 1))},
    "far": {"window": (3, 3), "stride": (1, 2), "padding": ((4, 0), (5, 3))},
}


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("image", [(11, 23), (12, 40)])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_that_overlap_share_their_gradients_bit_for_bit(
    name: str, image: tuple[int, int], relu: bool, dtype: str, eager: None
) -> None:
    """An element of several windows has the sum of its shares, in the order of the kernels."""
    pooled = Pooled("max_pool", (2, 3, *image), dtype, relu=relu, **WINDOWS[name])
    kinds = pooled.kinds()
    assert kinds.count(PoolTask) == kinds.count(GradientTask) == 1
    assert len(kinds) <= 3 + relu
    rng = np.random.default_rng(0)
    for numbers in (rng.standard_normal(9999), rng.integers(0, 3, 9999),
                    rng.choice(NUMBERS, 9999)):  # fmt: skip
        given = numbers.astype(dtype), np.roll(numbers, 7).astype(dtype)
        found, expected = pooled.run(given, passes.poolings), pooled.run(given)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(*map(lambda x: signed(x)[0], (found[1:], expected[1:])))


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("image", [(11, 23), (12, 40)])
@pytest.mark.parametrize("name", WINDOWS)
def test_means_of_windows_that_overlap(
    name: str, image: tuple[int, int], dtype: str, eager: None
) -> None:
    pooled = Pooled("avg_pool", (2, 3, *image), dtype, **WINDOWS[name])
    kinds = pooled.kinds()
    assert kinds.count(PoolTask) == kinds.count(GradientTask) == 1
    rng = np.random.default_rng(0)
    given = rng.standard_normal(9999).astype(dtype), rng.choice(NUMBERS, 9999).astype(dtype)
    found, expected = pooled.run(given, passes.poolings), pooled.run(given)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(*map(lambda x: signed(x)[0], (found[1:], expected[1:])))


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("columns", [4, 6, 10, 16, 34, 62])
def test_any_length_of_rows_on_any_machine(
    columns: int, lanes: int, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: lanes)
    given = (np.random.default_rng(0).integers(0, 5, 9999).astype(np.float32),) * 2
    for window in ((2, 2), (3, 3)):
        pooled = Pooled("max_pool", (1, 2, 4, columns), window=window, stride=(2, 2))
        for a, b in zip(pooled.run(given, passes.poolings), pooled.run(given), strict=True):
            np.testing.assert_array_equal(a, b)


def test_results_do_not_depend_on_the_number_of_threads(
    eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "WAKE", 1)
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    pooled = Pooled("max_pool", (3, 5, 8, 20), window=(2, 2), stride=(2, 2))
    given = (np.random.default_rng(0).standard_normal(9999).astype(np.float32),) * 2
    expected = pooled.run(given)
    for number in (1, 2, 7):
        threads.limit(number)
        try:
            found = pooled.run(given, passes.poolings)
        finally:
            threads.limit(None)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "how",
    [
        {"shape": (1, 1, 8, 8)},
        {"shape": (4, 8, 64, 66), "window": (3, 3), "stride": (3, 3)},
        {"shape": (4, 8, 64, 64), "window": (16, 16), "stride": (16, 16)},
        {"shape": (4, 8, 64, 64), "dtype": "float16"},
    ],
    ids=["small", "threes", "large windows", "float16"],
)
def test_the_rest_is_left_to_the_kernels(how: dict[str, Any]) -> None:
    pooled = Pooled("max_pool", **{"window": (2, 2), "stride": (2, 2), **how})
    assert not {PoolTask, GradientTask} & {*pooled.kinds()}


def test_windows_that_are_kept_are_there(eager: None) -> None:
    """What is computed without them does not take them away from others."""
    trace = Trace()
    x = trace.apply(LEAF, shape=(1, 2, 6, 8), dtype="float32")
    windows = trace.xp.windows(x, Geometry((2, 2), (2, 2)))
    most = trace.xp.max(windows, (0, 1))
    outputs = [windows * 2, most]
    numbers = np.random.default_rng(0).standard_normal(x.shape)
    results = []
    for chosen in ((), (passes.poolings,)):
        plan = Plan(outputs, chosen)
        plan.leaves[x][...] = numbers
        plan.run()
        results.append([plan.read(value) for value in outputs])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


def test_gradients_that_are_no_shares_are_not_taken_for_some(eager: None) -> None:
    """The same formula with the ties of other windows, or with another count."""
    trace = Trace()
    xp = trace.xp
    x, y = (trace.apply(LEAF, shape=(1, 2, 6, 8), dtype="float64") for _ in range(2))
    geometry = Geometry((2, 2), (2, 2))
    first, second = (xp.windows(v, geometry) for v in (x, y))
    most = xp.max(second, (0, 1), keepdims=True)
    g = xp.sum(second, (0, 1), keepdims=True)
    own, others = (xp.astype(xp.equal(windows, most), "float64") for windows in (second, first))
    cases = (others, others, (0, 1)), (own, others, (0, 1)), (own, own, (0,)), (own, own, (0, 1, 2))
    outputs = [
        xp.fold(g * ties / xp.sum(counted, axes, keepdims=True), x.shape, geometry)
        for ties, counted, axes in cases
    ]
    numbers = np.random.default_rng(0).standard_normal((2, *x.shape)).round()
    results = []
    for chosen in ((), (passes.poolings,)):
        plan = Plan(outputs, chosen)
        for leaf, array in zip((x, y), numbers, strict=True):
            plan.leaves[leaf][...] = array
        plan.run()
        results.append([plan.read(value) for value in outputs])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)
