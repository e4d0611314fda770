"""The team: threads of the engine's own that take parts of machine code beside their caller.

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
import os
import platform
import threading
import time
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.allocation import HUGE
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.machine import address, function

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.runtime.engine.plan.jobs import Job
    from gradwire.runtime.engine.plan.native import Kernel

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
