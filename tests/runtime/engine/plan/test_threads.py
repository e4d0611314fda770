"""Threads: how many, together, and the same numbers whatever their number."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.plan import Plan
from tests.runtime.engine.plan.passes.test_passes import MODULES


@pytest.fixture(autouse=True)
def unlimited() -> Iterator[None]:
    yield
    threads.limit(None)


def test_the_count_is_what_the_limit_or_the_environment_or_the_machine_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads.count() == 3
    threads.limit(1)
    assert threads.count() == 1
    threads.limit(None)
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    assert threads.count() >= 1


def test_work_runs_at_the_same_time_and_the_first_error_is_raised() -> None:
    meet = threading.Barrier(2, timeout=60)
    threads.together([meet.wait, meet.wait])

    def fail() -> None:
        raise ValueError("no")

    done: list[int] = []
    with pytest.raises(ValueError, match="no"):
        threads.together([lambda: done.append(1), fail, lambda: done.append(2)])
    assert sorted(done) == [1, 2]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_tiles_give_equal_bits_on_any_number_of_threads(number: int) -> None:
    threads.limit(number)
    trace = Trace()
    x = trace.apply(LEAF, shape=(200_003,), dtype="float64")
    y = trace.xp.log(trace.xp.tanh(x * 1.5) + 1)
    total = trace.xp.sum(y)
    plan = Plan([y, total])
    data = np.linspace(-2, 2, 200_003)
    plan.leaves[x][...] = data
    plan.run()
    np.testing.assert_array_equal(plan.read(y), np.log(np.tanh(data * 1.5) + 1))
    threads.limit(1)
    alone = Plan([y, total])
    alone.leaves[x][...] = data
    alone.run()
    assert plan.read(total) == alone.read(total)


def test_a_failure_in_a_thread_is_silent_about_floating_point_and_loud_about_the_rest() -> None:
    threads.limit(2)
    trace = Trace()
    x = trace.apply(LEAF, shape=(200_000,), dtype="float64")
    plan = Plan([trace.xp.sqrt(trace.xp.log(x) * 2 + 1)])
    plan.leaves[x][...] = -1
    plan.run()  # invalid values everywhere, and no warning


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads that the library's products were given, run by run."""
    pytest.importorskip("threadpoolctl")
    found: list[int] = []

    class Products:
        def limit(self, limits: int, user_api: str) -> AbstractContextManager[None]:
            found.append(limits)
            return nullcontext()

    monkeypatch.setattr("gradwire.runtime.engine.plan.numpy_engine._products", Products)
    return found


def run_product(engine: NumpyEngine, size: int) -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(size, size), dtype="float64")
    y = trace.xp.matmul(x, x)
    plan = engine.plan([y])
    plan.leaves[x].fill(1)
    plan.run()
    assert (plan.read(y) == size).all()


@pytest.mark.parametrize(("size", "is_limited"), [(20, False), (200, True)])
def test_only_large_products_are_limited(size: int, is_limited: bool, limited: list[int]) -> None:
    run_product(NumpyEngine((), 2), size)
    assert limited == [2] * is_limited


def test_arithmetic_without_products_is_not_limited(limited: list[int]) -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(200, 200), dtype="float64")
    plan = NumpyEngine((), 2).plan([trace.xp.permute_dims(trace.xp.tanh(x) + 1, (1, 0))])
    plan.leaves[x].fill(0)
    plan.run()
    assert limited == []


def test_the_library_has_one_thread_beside_products_of_machine_code(
    limited: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(MODULES["products"], "WIDE", 1)
    run_product(NumpyEngine((passes.native_products,), 2), 200)
    assert limited == [1]
