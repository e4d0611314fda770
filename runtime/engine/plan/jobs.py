"""Jobs: calls of machine code that threads of the engine's own take parts of beside their caller.

All of them take parts of a job until none is left: the caller from the front and the others from
behind, so that each has about the same rows of one value after another in its cache. A helper
counts itself in before it looks whether a job is open, so that a caller who has closed one sees
everybody who is still at it, and waits for them. A helper without work watches for some
microseconds whether there is another job, since waking it takes as long, then sleeps on a lock for
some milliseconds, and then goes back to the pool of threads. Only for these does it need the
interpreter, which ends after the pool does.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from functools import cache
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.runtime.calculus.primitives.convolution import CONV2D, CONV2D_W, CONV2D_X
from gradwire.runtime.calculus.primitives.linear import MATMUL
from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.memory import HUGE
from gradwire.runtime.engine.plan.native.machine import address, function
from gradwire.runtime.engine.plan.native.writer import Assembly

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

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


ROOM = -1
"""The argument of a call that stands for the room of the thread that makes it."""

PATIENCE = 1e-4
"""Seconds for which a thread waits awake: about what waking it takes."""

REST = 0.02
"""Seconds for which it then sleeps where it is woken sooner than in the pool."""

JOBS, ROUNDS = 1000, 10
"""Jobs from one return to the interpreter to the next, and returns until a thread is back in the
pool, even if there is more to do: the interpreter can't end before all are back.
"""

_PAUSES = {
    "x86_64": "x86.sse2.pause()", "amd64": "x86.sse2.pause()",
    "aarch64": "aarch64.hint(i32 1)", "arm64": "aarch64.hint(i32 1)",
}  # fmt: skip
"""Instructions that tell a processor that a thread waits, by the name of the machine."""

_INSIDE, _OPEN, _JOB, _SLEEP, _ROOMS = 0, 8, 9, 10, 11
"""Where the state of a team has how many helpers are inside; in another line of the cache, how many
may go in, and the address of the job; that of a function that sleeps; and the addresses of rooms.
"""

_IS_WINDOWS = os.name == "nt"
_SLEEPS = ctypes.CDLL("kernel32").Sleep if _IS_WINDOWS else ctypes.CDLL(None).usleep

_BEHIND = 1 << 32
"""What a part that is taken from behind adds to the count of a job; one from the front adds 1."""


class Team:
    """At most ``size`` helpers.

    One caller at a time shares a job with them; others make their calls themselves.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._caller = threading.Lock()
        self._state = np.zeros(_ROOMS + size, np.int64)
        self._state[_SLEEP] = ctypes.cast(_SLEEPS, ctypes.c_void_p).value or 0
        self._place = address(self._state)
        self._rooms = [Room() for _ in range(size)]
        self._locks = [threading.Lock() for _ in range(size)]
        """Each is taken while its thread need not wake."""
        for lock in self._locks:
            lock.acquire()
        self._idle = dict.fromkeys(range(size), True)
        """Has the numbers of helpers that are in the pool; who takes one out calls it."""

    def share(self, job: Job) -> None:
        """Make the calls of a job, with the help of at most as many threads as it is worth."""
        helpers = min(job.helpers, self.size)
        if helpers <= 0 or not self._caller.acquire(blocking=False):
            alone(job)
            return
        try:
            if job.room:
                rooms = [room.place(job.room) for room in self._rooms[:helpers]]
                self._state[_ROOMS : _ROOMS + helpers] = rooms
            _function("open")(self._place, 0, job.place, helpers)
            for number in range(min(helpers, job.wakes)):  # now: whoever is idle later looks again
                self._wake(number)
            _function("finish")(self._place, own_room(job.room), 0, _patience())
        finally:
            self._caller.release()

    def _wake(self, number: int) -> None:
        if self._idle.pop(number, False):
            self._call(number)
        elif (lock := self._locks[number]).locked():
            lock.release()

    def _call(self, number: int) -> None:
        try:
            threads.pool().submit(self._serve, number)
        except RuntimeError:  # the system has no more threads, or the process is about to end
            self.size = min(self.size, number)

    def _serve(self, number: int) -> None:
        """Help until there was no job for a while."""
        for _ in range(ROUNDS):
            _function("serve")(self._place, number, 0, _patience())
            if not self._locks[number].acquire(timeout=REST):
                break
        self._idle[number] = True
        if self._state[_OPEN] > number and self._idle.pop(number, False):
            self._call(number)


class Room:
    """Memory for one thread.

    It lies in huge pages where the system has them: numpy asks for these from 4 MiB on. A tile
    reads from many pages, of which small ones would be looked up again and again.
    """

    def __init__(self) -> None:
        self._size = self._place = 0

    def place(self, needed: int) -> int:
        """The address of so many bytes; 0 for none."""
        if self._size < needed:
            self._array = np.empty(max(needed, HUGE) + HUGE, np.uint8)
            start = address(self._array)
            self._place, self._size = start + -start % HUGE, needed
        return self._place


class _Own(threading.local):
    def __init__(self) -> None:
        self.room = Room()


_own = _Own()


@cache
def team() -> Team:
    """The team of this process, of as many threads as it has processors besides the caller's."""
    return Team(max(1, threads.processors() - 1))


def own_room(needed: int) -> int:
    """The address of so many bytes that belong to the calling thread; 0 for none."""
    return _own.room.place(needed)


def alone(job: Job) -> None:
    """Make the calls of a job without help."""
    _function("alone")(job.place, own_room(job.room), 0, len(job.calls))


@cache
def _function(name: str) -> Kernel:
    """The function of this name below, on a state; ``alone`` is on a job."""
    w = Assembly(name, "float32", 1, ("calls",) if name == "alone" else ())
    {"alone": _alone, "open": _open, "finish": _finish, "serve": _serve}[name](w)
    return function(w.text(), name)


def _alone(w: Assembly) -> None:
    """Make the calls from start to stop."""
    _make(w, "%calls", "%scratch", "%start", "%stop")


def _make(w: Assembly, calls: str, room: str, first: str, last: str) -> None:
    with w.loop("call", first, last) as i:
        row = w.add(calls, w.multiply(i, 8 * 5))
        call, frame, given, start, stop = (w.entry(row, field) for field in range(5))
        is_room = w.put(f"icmp eq i64 {given}, {ROOM}")
        argument = w.put(f"select i1 {is_room}, i64 {room}, i64 {given}")
        call, frame = w.pointer(call), w.pointer(frame)
        w.run(f"call void {call}(ptr {frame}, i64 {argument}, i64 {start}, i64 {stop})")


def _open(w: Assembly) -> None:
    """Let in so many helpers as ``stop`` says, to the job at ``start``."""
    w.run(f"store i64 0, ptr {w.pointer('%start', 24)}")
    w.run(f"store i64 %start, ptr {_at(w, _JOB)}")
    w.run(f"store atomic i64 %stop, ptr {_at(w, _OPEN)} seq_cst, align 8")


def _take(w: Assembly, room: str, by: int) -> None:
    """Take parts of the job until none is left; then nobody else may go in."""
    job = w.put(f"load i64, ptr {_at(w, _JOB)}")
    calls, bounds, parts = (w.entry(job, field) for field in range(3))
    count = w.pointer(job, 24)
    with w.again("part") as goes_on:
        taken = w.put(f"atomicrmw add ptr {count}, i64 {by} seq_cst")
        front = w.put(f"and i64 {taken}, {_BEHIND - 1}")
        back = w.subtract(parts, w.put(f"lshr i64 {taken}, 32"))
        is_left = w.put(f"icmp slt i64 {front}, {back}")
        part = front if by == 1 else w.add(back, -1)
        part = w.put(f"select i1 {is_left}, i64 {part}, i64 0")
        first, last = w.entry(bounds, part), w.entry(bounds, w.add(part, 1))
        last = w.put(f"select i1 {is_left}, i64 {last}, i64 {first}")
        _make(w, calls, room, first, last)
        goes_on.append(is_left)
    w.run(f"store atomic i64 0, ptr {_at(w, _OPEN)} seq_cst, align 8")


def _finish(w: Assembly) -> None:
    """Take parts, with the room at ``scratch``, and wait for the others: ``stop`` pauses awake."""
    _take(w, "%scratch", 1)
    left = _counter(w, "%stop")
    sleep = w.pointer(w.put(f"load i64, ptr {_at(w, _SLEEP)}"))
    with w.again("wait") as goes_on:
        inside = w.put(f"load atomic i64, ptr {_at(w, _INSIDE)} seq_cst, align 8")
        is_late = w.put(f"icmp ne i64 {inside}, 0")
        rests = w.put(f"select i1 {_paused(w, left)}, i1 false, i1 {is_late}")
        with w.loop("rest", 0, w.put(f"zext i1 {rests} to i64")):
            w.run(f"call void {sleep}(i32 {1 if _IS_WINDOWS else round(PATIENCE * 1e6)})")
        goes_on.append(is_late)


def _serve(w: Assembly) -> None:
    """Take parts of ``JOBS``, as the helper of the number ``scratch``, or until there was no job
    for ``stop`` pauses.
    """
    number = "%scratch"
    place = w.put(f"getelementptr i64, ptr {_at(w, _ROOMS)}, i64 {number}")
    left, jobs = _counter(w, "%stop"), _counter(w, JOBS)

    def if_open(name: str) -> AbstractContextManager[str]:
        seen = w.put(f"load atomic i64, ptr {_at(w, _OPEN)} seq_cst, align 8")
        return w.loop(name, 0, w.put(f"zext i1 {w.put(f'icmp slt i64 {number}, {seen}')} to i64"))

    with w.again("watch") as goes_on:
        with if_open("enter"):
            w.put(f"atomicrmw add ptr {_at(w, _INSIDE)}, i64 1 seq_cst")
            with if_open("work"):
                _take(w, w.put(f"load i64, ptr {place}"), _BEHIND)
            w.put(f"atomicrmw sub ptr {_at(w, _INSIDE)}, i64 1 seq_cst")
            pauses = w.put(f"select i1 {_fewer(w, jobs)}, i64 %stop, i64 1")
            w.run(f"store i64 {pauses}, ptr {left}")
        goes_on.append(_paused(w, left))


def _at(w: Assembly, place: int) -> str:
    return w.put(f"getelementptr i64, ptr %frame, i64 {place}")


def _counter(w: Assembly, first: str | int) -> str:
    place = w.put("alloca i64")
    w.run(f"store i64 {first}, ptr {place}")
    return place


def _fewer(w: Assembly, counter: str) -> str:
    """Subtract one; returns whether any are left."""
    now = w.subtract(w.put(f"load i64, ptr {counter}"), 1)
    w.run(f"store i64 {now}, ptr {counter}")
    return w.put(f"icmp sgt i64 {now}, 0")


def _paused(w: Assembly, left: str) -> str:
    """Pause once; returns whether there may be another pause."""
    pause = _PAUSES.get(platform.machine().lower())
    if pause is not None:
        w.declare(f"declare void @llvm.{pause.replace(' 1', '')}")
    w.run("fence seq_cst" if pause is None else f"call void @llvm.{pause}")
    return _fewer(w, left)


@cache
def _patience() -> int:
    """The pauses of the time that a thread waits awake."""
    state, tried, taken = np.zeros(_ROOMS + 1, np.int64), 1 << 10, []
    for _ in range(3):
        start = time.perf_counter()
        _function("serve")(address(state), 0, 0, tried)
        taken.append(time.perf_counter() - start)
    return max(1, round(PATIENCE / min(taken) * tried))


if hasattr(os, "register_at_fork"):  # the threads stay with the process that forks
    os.register_at_fork(after_in_child=team.cache_clear)
