"""Sessions with several threads: the same bits, whoever uses them, and however a run ends."""

from __future__ import annotations

import gc
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import RunError
from gradwire.runtime.engine.interruption import Interrupted, interruptible
from gradwire.runtime.engine.plan import jobs
from gradwire.runtime.engine.plan.passes.products import is_supported

if TYPE_CHECKING:
    from gradwire.runtime.engine.session.run import Run

pytest.importorskip("llvmlite")
pytest.importorskip("threadpoolctl")


CLASSES = np.arange(32)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every job is worth a thread, also one that sleeps."""
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    monkeypatch.setattr(jobs, "WAKE", 1)


def network() -> gw.Diagram:
    """A convolution, a product and a softmax, which fails where a class is none."""
    rng = np.random.default_rng(0)
    images = gw.input("images", rng.standard_normal((32, 2, 16, 16)), dtype="float32")
    classes = gw.input("classes", CLASSES, dtype="int64")
    kernel = gw.variable("kernel", rng.standard_normal((4, 2, 3, 3)) / 4, dtype="float32")
    weight = gw.variable("weight", rng.standard_normal((784, 40)) / 28, dtype="float32")
    found = gw.relu(gw.conv2d(images, kernel))
    logits = gw.matmul(gw.reshape(found, shape=[32, 784]), weight)
    return gw.build(gw.loss(gw.cross_entropy(logits, classes)))


def numbers(run: Run) -> list[Any]:
    return [*run.values.values(), *run.gradients.values()]


def same(a: Run, b: Run) -> bool:
    """The same bits; the last ones may differ where products are the library's, as they do with
    its threads.
    """
    digits = 0.0 if is_supported("float32") else 1e-5
    pairs = zip(numbers(a), numbers(b), strict=True)
    return all(np.allclose(x, y, rtol=digits, atol=digits) for x, y in pairs)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    alone = gw.Session(network(), fast=True, threads=1).backward()
    for count in (2, 3, 8):
        assert same(gw.Session(network(), fast=True, threads=count).backward(), alone)


@pytest.mark.night
def test_sessions_work_in_several_threads_at_once() -> None:
    diagram = network()
    expected = gw.Session(diagram, fast=True, threads=1).backward()
    shared = gw.Session(diagram, fast=True, threads=2)

    def work(is_own: bool) -> bool:
        session = gw.Session(diagram, fast=True, threads=2) if is_own else shared
        return all(same(session.backward(), expected) for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, [True, False] * 3))


def test_a_run_that_fails_leaves_the_threads_to_others() -> None:
    session = gw.Session(network(), fast=True, threads=2)
    expected = session.backward()
    for _ in range(3):
        session.set("classes", CLASSES + 100)
        with pytest.raises(RunError):
            session.backward()
        session.set("classes", CLASSES)
        assert same(session.backward(), expected)


def test_a_run_that_is_cancelled_leaves_the_threads_to_others() -> None:
    session = gw.Session(network(), fast=True, threads=2)
    expected = session.backward()
    for most in range(1, 6):
        asked = itertools.count()

        def is_enough(asked: itertools.count[int] = asked, most: int = most) -> bool:
            return next(asked) >= most

        with pytest.raises(Interrupted), interruptible(is_enough):
            session.backward()
        assert same(session.backward(), expected)


@pytest.mark.night
def test_sessions_that_are_gone_leave_the_threads_to_others() -> None:
    """Also while another runs: what a job reads lives as long as the job."""
    diagram, over = network(), threading.Event()
    expected = gw.Session(diagram, fast=True, threads=1).backward()

    def work() -> bool:
        session = gw.Session(diagram, fast=True, threads=2)
        found = []
        while not over.is_set() or not found:
            found.append(same(session.backward(), expected))
        return all(found)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        try:
            for _ in range(10):
                assert same(gw.Session(diagram, fast=True, threads=2).backward(), expected)
                gc.collect()
        finally:
            over.set()  # or the pool would wait for ever
        assert done.result()
