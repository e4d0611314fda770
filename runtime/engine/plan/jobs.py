"""Jobs: calls of machine code that threads share where there are enough."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.runtime.calculus.primitives.convolution import CONV2D, CONV2D_W, CONV2D_X
from gradwire.runtime.calculus.primitives.linear import MATMUL
from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.native.machine import address
from gradwire.runtime.engine.plan.team import ROOM, alone, own_room, team

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.native import Kernel
    from gradwire.runtime.engine.plan.tasks import Step, Task

PART = 1 << 14
"""Work that is worth giving to a thread that is awake: elements, at some operations for each."""

WAKE = 1 << 17
"""Work that is worth waking a thread for."""

PLAN = 1 << 22
"""Work of a plan that is worth several threads: of less, what moves between the caches of
processors may take longer than the work.
"""

MULTIPLICATIONS = 16
"""Multiplications of a product or convolution that count as much as an element."""

OPERATIONS = 8
"""Elementwise operations, most of which are in regions, that count as much as an element."""

EACH = 4
"""Parts for each thread, where cutting costs nothing: who is late leaves more to the others."""

FEW = 2
"""The same, where each part begins with what all of them need."""


class KernelCall(NamedTuple):
    """One call ``kernel(frame, argument, start, stop)``; ``frame`` is an address."""

    kernel: Kernel
    frame: int
    argument: int
    start: int
    stop: int


class Job:
    """A step that makes all calls, in parts which several threads may take in any order.

    ``work`` is counted as for ``PART``; ``room`` is the number of bytes that each thread has for
    calls with the argument ``ROOM``; ``kept`` stays alive with the job.
    """

    def __init__(
        self, parts: Sequence[Sequence[KernelCall]], work: int, room: int = 0, kept: object = None
    ) -> None:
        self.work = work
        calls = self.calls = [call for part in parts for call in part]
        self._kept = kept
        numbers = [(kernel.place, *others) for kernel, *others in calls]
        self._calls = np.array(numbers, np.int64).reshape(-1, len(KernelCall._fields))
        self._bounds = np.array([0, *itertools.accumulate(map(len, parts))], np.int64)
        self.helpers = min(most(work), len(parts)) - 1
        """Threads that are worth asking for help, and sleeping ones that are worth waking."""
        self.wakes = max(0, work // WAKE - 1)
        self.room = room
        """Bytes for calls with the argument ``ROOM``."""
        places = address(self._calls), address(self._bounds)
        self._job = np.array([*places, len(parts), 0], np.int64)
        self.place = address(self._job)
        """The address of the job."""
        self._only = calls[0] if len(calls) == 1 else None

    @property
    def is_short(self) -> bool:
        """Whether it is over soon, and only the caller works on it."""
        return self.work < WAKE and self.helpers <= 0

    def __call__(self) -> None:
        """Make all calls."""
        if self.helpers > 0:
            team().share(self)
        elif self._only is not None:
            kernel, place, argument, start, stop = self._only
            kernel(place, own_room(self.room) if argument == ROOM else argument, start, stop)
        else:
            alone(self)


class Joinable:
    """A step of numpy's, for which there also is a ``job``, or None where its arrays don't suit.

    Among jobs that are joined, machine code is faster; on its own, numpy is.
    """

    def __init__(self, step: Step, job: Callable[[], Job | None]) -> None:
        self.step = step
        self.job = job

    def __call__(self) -> None:
        """Do it by numpy."""
        self.step()


def joined(steps: Sequence[Step]) -> list[tuple[Step, int]]:
    """The steps, with how many each stands for: short jobs in a row, on which only the caller
    works, are one. Calling from Python takes longer than what they compute.
    """
    found: list[tuple[Step, int]] = []
    row: list[Step] = []
    for step in (*steps, None):
        if isinstance(step, Joinable) or (isinstance(step, Job) and step.is_short):
            row.append(step)
            continue
        found += _joined(row)
        row = []
        if step is not None:
            found.append((step, 1))
    return found


def _joined(steps: Sequence[Step]) -> list[tuple[Step, int]]:
    """Steps of which each is or may be a short job, of which at least one is."""
    are_jobs = any(isinstance(step, Job) for step in steps)
    found: list[tuple[Step, int]] = []
    row: list[Job] = []
    work = 0
    for step in steps:
        job = step.job() if isinstance(step, Joinable) and are_jobs else step
        if isinstance(job, Job):
            row.append(job)
            work += job.work
        if row and (work >= PLAN or not isinstance(job, Job)):
            found.append((_in_a_row(row), len(row)))
            row, work = [], 0
        if not isinstance(job, Job):
            found.append((step.step if isinstance(step, Joinable) else step, 1))
    return [*found, (_in_a_row(row), len(row))] if row else found


def _in_a_row(jobs: list[Job]) -> Job:
    if len(jobs) == 1:
        return jobs[0]
    calls = [call for job in jobs for call in job.calls]
    return Job([calls], 0, max(job.room for job in jobs), jobs)


_is_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def planned(tasks: Iterable[Task], runs: Context) -> Iterator[None]:
    """Within, and in the context of the runs, jobs are for the caller alone if all that the tasks
    compute is too little.
    """
    is_alone = sum(work_of(x) for task in tasks for x in task.covers) < PLAN
    runs.run(_is_alone.set, is_alone)
    token = _is_alone.set(is_alone)
    try:
        yield
    finally:
        _is_alone.reset(token)


def work_of(value: Value) -> int:
    """About the work of computing a value."""
    inputs = value.inputs
    if value.primitive is MATMUL:
        return value.size * inputs[0].shape[-1] // MULTIPLICATIONS
    if value.primitive in (CONV2D, CONV2D_X):  # results or their gradients, times weights
        some = value if value.primitive is CONV2D else inputs[0]
        return some.size * prod(inputs[1].shape[1:]) // MULTIPLICATIONS
    if value.primitive is CONV2D_W:
        return inputs[1].size * prod(value.shape[1:]) // MULTIPLICATIONS
    return value.size // OPERATIONS if value.primitive.elementwise else value.size


def most(work: int) -> int:
    """The number of threads that so much work is worth."""
    return 1 if _is_alone.get() else max(1, min(threads.count(), work // PART))


def cuts(length: int, work: int, each: int = EACH) -> list[tuple[int, int]]:
    """Ranges that make up 0 … length, one if the work is not worth several threads."""
    count = most(work)
    if count > 1:  # as many parts for each, so that it has the same rows in every step
        some = min(each, work // PART // count, length // count)
        count = max(1, min(length, count * max(1, some)))
    bounds = [length * i // count for i in range(count + 1)]
    return list(itertools.pairwise(bounds))


def divided(
    kernel: Kernel,
    numbers: NDArray[np.int64],
    length: int,
    work: int,
    kept: object = None,
    room: int = 0,
    argument: int = 0,
) -> Job:
    """A job that calls a kernel with this frame and argument from 0 to a length; where each thread
    needs room, with that, in few parts.
    """
    place, argument = address(numbers), ROOM if room else argument
    ranges = cuts(length, work, FEW) if room else cuts(length, work)
    parts = [[KernelCall(kernel, place, argument, *cut)] for cut in ranges]
    return Job(parts, work, room, (numbers, kept))
