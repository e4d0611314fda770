"""The team's threads: asleep when there is nothing to do, gone when the process ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.jobs import Team, team
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes import lookups
from tests.runtime.engine.plan.test_jobs import job, small

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.jobs import Job

pytest.importorskip("llvmlite")

__all__ = ["small"]

PROGRAM = """
import atexit, os, sys, threading
import numpy as np

def gone():
    names = [thread.name for thread in threading.enumerate()]
    assert not any(name.startswith("gradwire") for name in names), names

atexit.register(gone)  # runs after what is registered later
from gradwire.runtime.engine.plan import jobs, threads
from tests.runtime.engine.plan.test_jobs import job
jobs.PART = jobs.WAKE = 1
threads.limit(2)

def meet():
    barrier = threading.Barrier(2, timeout=60)
    job(lambda *_: barrier.wait(), 2)()

"""


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + code], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def processor_time(thread: threading.Thread) -> float:
    assert thread.ident is not None
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))


def helpers() -> list[threading.Thread]:
    """The threads of the team."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("gradwire")]


def noted() -> tuple[Job, set[int]]:
    """A job of twenty parts, and the threads that have taken one."""
    found: set[int] = set()
    return job(lambda *_: (found.add(threading.get_ident()), time.sleep(0.001)), 20), found


def clearing_step() -> Job:
    """A job of machine code."""
    numbers = np.ones(1 << 16, np.uint8)
    lines = numbers[-machine.address(numbers) % lookups.LINE :]
    places = machine.frame(lookups.CLEAR, out=lines)
    kernel = lookups._kernel(machine.lanes())
    return jobs.divided(kernel, places, lines.size // lookups.LINE, 10**6, numbers)


def two_at_once() -> None:
    meet = threading.Barrier(2, timeout=60)
    job(lambda *_: meet.wait(), 2)()


@pytest.mark.night
@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="needs clocks of threads")
def test_threads_take_no_time_while_there_is_no_work() -> None:
    two_at_once()
    before = [processor_time(thread) for thread in helpers()]
    assert before
    time.sleep(1)
    after = [processor_time(thread) for thread in helpers()]
    assert sum(after) - sum(before) < 0.05


def test_a_caller_sleeps_until_others_are_done() -> None:
    meet, caller = threading.Barrier(2, timeout=60), threading.get_ident()
    ended: list[int] = []

    def work(*_: int) -> None:
        meet.wait()
        if threading.get_ident() != caller:
            time.sleep(0.5)
        ended.append(threading.get_ident())

    before = time.thread_time()
    job(work, 2)()
    assert len(set(ended)) == 2
    assert time.thread_time() - before < 0.2


def test_threads_that_are_not_asked_stay_out() -> None:
    two_at_once()
    work, found = noted()
    work.helpers = 0
    team().share(work)
    assert found == {threading.get_ident()}


def test_no_more_threads_help_than_a_job_is_worth() -> None:
    own, meet = Team(2), threading.Barrier(3, timeout=60)
    threads.limit(3)
    own.share(job(lambda *_: meet.wait(), 3))  # all are awake
    threads.limit(2)
    for _ in range(20):
        work, found = noted()
        own.share(work)
        assert len(found) <= 2


@pytest.mark.parametrize("has_ended", [False, True])
def test_without_threads_the_caller_works_alone(
    has_ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = ThreadPoolExecutor(3)
    monkeypatch.setattr(threads, "pool", lambda: pool)
    if has_ended:
        pool.shutdown()
    else:
        monkeypatch.setattr(threading.Thread, "start", refuse)
    found: list[int] = []
    work = job(lambda _, start, stop: found.append(start), 4, 100)
    alone = Team(3)
    for _ in range(2):
        alone.share(work)
    assert (found, alone.size) == ([0, 1, 2, 3] * 2, 0)


def test_a_thread_is_back_after_so_many_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the process could not end while somebody has work for it."""
    monkeypatch.setattr("gradwire.runtime.engine.plan.jobs._patience", lambda: 1 << 40)
    monkeypatch.setattr("gradwire.runtime.engine.plan.jobs.ROUNDS", 1)
    called: list[int] = []
    serve = Team._serve

    def note(own: Team, number: int) -> None:
        called.append(number)
        serve(own, number)

    monkeypatch.setattr(Team, "_serve", note)
    own, step, end = Team(1), clearing_step(), time.monotonic() + 30
    while len(called) < 2 and time.monotonic() < end:
        own.share(step)
    assert len(called) > 1
    monkeypatch.undo()
    while not own._idle and time.monotonic() < end:
        own.share(step)
    assert own._idle


@pytest.mark.night
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_process_that_forks_goes_on_and_so_does_the_new_one() -> None:
    run("""
import warnings
warnings.simplefilter("ignore")  # forks of processes with threads
meet()
within = threading.Thread(target=lambda: [meet() for _ in range(200)])
within.start()
for _ in range(5):
    child = os.fork()
    if not child:
        meet()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
within.join()
""")


@pytest.mark.night
def test_a_process_ends_in_the_middle_of_work() -> None:
    run("""
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes import lookups

meet()
numbers = np.ones(1 << 22, np.uint8)
lines = numbers[-machine.address(numbers) % lookups.LINE :]
places = machine.frame(lookups.CLEAR, out=lines)
kernel = lookups._kernel(machine.lanes())
step = jobs.divided(kernel, places, lines.size // lookups.LINE, 10**6)

def work():
    while True:
        step()

threading.Thread(target=work, daemon=True).start()
for _ in range(100):
    step()
""")
