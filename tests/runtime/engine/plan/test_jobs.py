"""Jobs: all calls once, on any number of threads, from any number of callers."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.jobs import ROOM, Job, Joinable, KernelCall, Team, cuts, joined
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every job is worth two threads."""
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    monkeypatch.setattr(jobs, "WAKE", 1)
    threads.limit(2)
    yield
    threads.limit(None)


def kernel(work: Callable[[int, int, int], object]) -> Callable[..., None]:
    """A kernel that calls back, with the argument, start and stop."""
    found = PROTOTYPE(lambda _, argument, start, stop: work(argument, start, stop) and None)
    found.place = ctypes.cast(found, ctypes.c_void_p).value  # type: ignore[attr-defined]  # as compiled ones have
    return found


def job(work: Callable[[int, int, int], object], parts: int, room: int = 0) -> Job:
    call = kernel(work)
    argument = ROOM if room else 7
    return Job([[KernelCall(call, 0, argument, i, i + 1)] for i in range(parts)], 10**6, room)


def test_short_jobs_in_a_row_are_one_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PLAN", 1)
    done: list[object] = []

    def note(number: int) -> Job:
        call = kernel(lambda _, start, stop: done.append((number, start)))
        return Job([[KernelCall(call, 0, 7, i, i + 1) for i in range(2)]], 0)

    def other() -> None:
        done.append("other")

    steps = [other, note(1), note(2), note(3), other, note(4), job(lambda *_: None, 1, room=8)]
    for step in steps:
        step()
    once, found = list(done), joined(steps)
    done.clear()
    for step, _ in found:
        step()
    assert done == once
    assert [count for _, count in found] == [1, 3, 1, 1, 1]
    assert [step for step, count in found if count == 1] == [other, *steps[4:]]


def test_steps_that_may_be_jobs_are_jobs_next_to_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PLAN", 1)
    done: list[str] = []

    def note(name: str) -> Job:
        return Job([[KernelCall(kernel(lambda *_: done.append(name)), 0, 7, 0, 1)]], 0)

    def either(name: str, has_job: bool = True) -> Joinable:
        job = note(f"{name} in a row")
        return Joinable(lambda: done.append(name), lambda: job if has_job else None)

    def other() -> None:
        done.append("other")

    steps = [either("a"), either("b"), other, either("c"), note("d"), either("e"),
             either("f", has_job=False), either("g"), other, either("h")]  # fmt: skip
    found = joined(steps)
    assert [count for _, count in found] == [1, 1, 1, 3, 1, 1, 1, 1]
    for step, _ in found:
        step()
    assert done == ["a", "b", "other", "c in a row", "d", "e in a row", "f", "g in a row", "other",
                    "h"]  # fmt: skip
    done.clear()
    for step in steps[:2]:
        step()
    assert done == ["a", "b"]


def test_no_row_is_so_long_that_nobody_could_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PLAN", 100)
    monkeypatch.setattr(jobs, "WAKE", 60)
    call = kernel(lambda *_: None)
    found = joined([Job([[KernelCall(call, 0, 7, 0, 1)]], 50) for _ in range(5)])
    assert [count for _, count in found] == [2, 2, 1]
    assert [count for _, count in joined([Job([[KernelCall(call, 0, 7, 0, 1)]], 60)] * 2)] == [1, 1]
    assert joined([]) == []


@pytest.mark.parametrize("number", [1, 2, 3, 9])
def test_ranges_make_up_the_whole(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PART", 100)
    threads.limit(number)
    assert cuts(100, 199) == [(0, 100)]
    for length in (0, 1, 2, 5, 100):
        found = cuts(length, 10**9)
        assert len(found) <= max(1, number * jobs.EACH)
        assert [i for start, stop in found for i in range(start, stop)] == [*range(length)]
    assert len(cuts(1000, 300)) <= 3  # no part is worth less than giving it away


def test_a_little_work_is_done_by_the_caller() -> None:
    threads.limit(1)
    found: list[int] = []
    job(lambda *_: found.append(threading.get_ident()), 5)()
    assert found == [threading.get_ident()] * 5


@pytest.mark.parametrize("number", [1, 2])
def test_all_calls_are_made_once_and_those_of_a_part_in_order(number: int) -> None:
    threads.limit(number)
    found: list[tuple[int, int, int]] = []
    call = kernel(lambda *given: found.append(given))
    parts = [[KernelCall(call, 0, 10 * i + j, i, j) for j in range(3)] for i in range(20)]
    Job(parts, 10**6)()
    assert len(found) == 60
    for i in range(20):
        assert [x for x in found if x[1] == i] == [(10 * i + j, i, j) for j in range(3)]


def test_parts_are_done_at_the_same_time() -> None:
    meet = threading.Barrier(2, timeout=60)
    for _ in range(3):
        job(lambda *_: meet.wait(), 2)()
    assert not meet.broken


def test_the_caller_takes_parts_from_the_front_and_others_from_behind() -> None:
    meet, done = threading.Barrier(2, timeout=60), threading.Event()
    caller, begun, by_caller = threading.get_ident(), {}, []

    def work(_: int, part: int, stop: int) -> None:
        thread = threading.get_ident()
        if thread not in begun:
            begun[thread] = part
            meet.wait()
        if thread == caller:
            by_caller.append(part)
        else:
            assert done.wait(60)
        if len(by_caller) == 5:
            done.set()

    job(work, 6)()
    assert begun.pop(caller) == 0
    assert [*begun.values()] == [5]
    assert by_caller == [0, 1, 2, 3, 4]


def test_each_thread_has_room_of_its_own() -> None:
    meet = threading.Barrier(2, timeout=60)
    for size in (1000, 10_000_000):
        found: list[int] = []

        def write(room: int, start: int, stop: int, size: int = size) -> None:
            ctypes.memset(room, start, size)
            meet.wait()
            whole = ctypes.string_at(room, size)
            assert whole == bytes([start]) * size
            found.append(room)  # noqa: B023  # called within its own turn

        job(write, 2, size)()
        assert len(set(found)) == 2


def test_several_callers_share_at_once() -> None:
    """Also one within a part of another's: whoever finds the team at work does its work alone."""

    def outer(_: int, start: int, stop: int) -> None:
        with ThreadPoolExecutor(1) as pool:
            inner: list[int] = []
            pool.submit(job(lambda *given: inner.append(given[1]), 4)).result()
            assert sorted(inner) == [0, 1, 2, 3]
            done.append(start)

    done: list[int] = []
    job(outer, 3)()
    assert sorted(done) == [0, 1, 2]


def test_jobs_one_after_another_from_several_threads_lose_nothing() -> None:
    """Machine code, whose parts take no longer than the protocol between threads does."""
    from gradwire.runtime.engine.compiler.regions import MemoryPlace, Recipe, compiled_region
    from gradwire.runtime.engine.plan.native import Operation, address

    root = Operation("sqrt", "float64", (0,))
    recipe = Recipe(1, (("float64", MemoryPlace(0)),), (root,), (True,), ((1, MemoryPlace(1)),))

    def work(seed: int) -> None:
        numbers = np.random.default_rng(seed).random(64)
        found = np.empty_like(numbers)
        places = np.array([(address(x), 8) for x in (numbers, found)])
        step = jobs.divided(compiled_region(recipe), places, 64, 10**6)
        for _ in range(300):
            found.fill(0)
            step()
            np.testing.assert_array_equal(found, np.sqrt(numbers))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, seed) for seed in range(8)]:
            done.result()


@pytest.mark.parametrize(
    ("rows", "powers", "is_shared"), [(64, 1, False), (4096, 1, True), (512, 60, False)]
)
def test_a_plan_of_little_work_is_for_the_caller_alone(
    rows: int, powers: int, is_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many operations on each element are one region, which takes little longer than one does."""
    monkeypatch.setattr(jobs, "PLAN", 1 << 22)
    trace = Trace()
    x, w = (trace.apply(LEAF, shape=s, dtype="float32") for s in ((rows, 128), (128, 128)))
    y = trace.xp.matmul(x, w)
    for _ in range(powers):
        y = trace.xp.square(y) * 2
    plan = Plan([y], passes.FAST)
    for leaf in plan.leaves.values():
        leaf[...] = 0.01
    shared: list[int] = []
    monkeypatch.setattr(Team, "share", lambda team, *job: shared.append(1))
    plan.run()
    assert bool(shared) == is_shared
