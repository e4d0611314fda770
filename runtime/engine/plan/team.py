"""The team: threads of the engine's own that take parts of machine code beside their caller."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.allocation import HUGE
from gradwire.runtime.engine.plan.native import sharing
from gradwire.runtime.engine.plan.native.machine import address

PATIENCE = 1e-4
"""Seconds for which a thread without work stays awake: about what waking it takes."""

_TRIED = 1 << 10
"""Pauses that are timed to know how long one takes."""


class Team:
    """At most ``size`` threads, which start when they are first asked for.

    One caller at a time shares a job with them; others make their calls themselves.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.threads: list[threading.Thread] = []
        self._starting = threading.Lock()
        self._rooms: list[NDArray[np.uint8]] = []
        self._bytes = 0
        self._share = sharing.share()
        memory = np.zeros(sharing.THREADS + (size + 2) * sharing.LINE, np.int64)
        self._state = memory[-address(memory) // 8 % sharing.LINE :]
        self._place = address(self._state)
        locks = ctypes.pythonapi
        numbers = {
            "acquire": _function(locks.PyThread_acquire_lock),
            "release": _function(locks.PyThread_release_lock),
            "patience": max(1, round(PATIENCE / _pause())),
        }
        for name, number in numbers.items():
            self._state[sharing.STATE[name]] = number
        self._set(0, "lock", _taken_lock())

    def share(self, job: int, helpers: int, room: int) -> None:
        """Make the calls of the job at an address, with the help of at most so many threads.

        Each thread has ``room`` bytes of its own for them.
        """
        helpers = min(helpers, self.size)
        if helpers > len(self.threads) or room > self._bytes:
            self._grow(helpers, room)
        self._share(self._place, job, own_room(room), min(helpers, len(self.threads)))

    def end(self) -> None:
        """End all threads; the team has none from then on."""
        with self._starting:
            self.size, ending, self.threads = 0, self.threads, []
            self._state[sharing.STATE["stop"]] = 1
        sharing.wake()(self._place, 0, 1, len(ending) + 1)
        for thread in ending:
            thread.join()

    def _grow(self, helpers: int, room: int) -> None:
        """Start threads, and give more room to all; none has it taken away within a job."""
        with self._starting:
            room = max(room, self._bytes)
            if room > self._bytes:
                for number in range(1, len(self.threads) + 1):
                    self._give_room(number, room)
                self._bytes = room
            for number in range(len(self.threads) + 1, min(helpers, self.size) + 1):
                self._set(number, "lock", _taken_lock())
                self._give_room(number, room)
                try:
                    self.threads.append(self._started(number))
                except RuntimeError:  # the system has no more, or the process is about to end
                    self.size = number - 1
                    return

    def _started(self, number: int) -> threading.Thread:
        """A thread that does not keep the process alive."""
        work = self._place, number, 0, 0
        thread = threading.Thread(
            target=sharing.serve(), args=work, name=f"gradwire {number}", daemon=True
        )
        thread.start()
        return thread

    def _give_room(self, number: int, room: int) -> None:
        if room:
            array, place = _huge(room)
            self._rooms.append(array)
            self._set(number, "room", place)

    def _set(self, number: int, name: str, value: int) -> None:
        """Set one of the numbers of a thread; 0 is the caller."""
        self._state[sharing.THREADS + number * sharing.LINE + sharing.THREAD[name]] = value


_team: Team | None = None
_making = threading.Lock()
_own = threading.local()


def team() -> Team:
    """The team of this process, of as many threads as it has processors besides the caller's."""
    global _team
    if _team is None:
        with _making:
            if _team is None:
                _team = Team(max(1, threads.processors() - 1))
    return _team


def own_room(needed: int) -> int:
    """The address of so many bytes that belong to the calling thread; 0 for none."""
    if not needed:
        return 0
    if getattr(_own, "size", 0) < needed:
        _own.array, _own.place = _huge(needed)
        _own.size = needed
    place: int = _own.place
    return place


def _huge(needed: int) -> tuple[NDArray[np.uint8], int]:
    """Memory and the address in it from which there are so many bytes.

    They lie in huge pages where the system has them: numpy asks for these from 4 MiB on. A tile
    reads from many pages, of which small ones would be looked up again and again.
    """
    array = np.empty(max(needed, HUGE) + HUGE, np.uint8)
    start = address(array)
    return array, start + -start % HUGE


def _function(found: Any) -> int:
    """The address of a function of the interpreter."""
    place = ctypes.cast(found, ctypes.c_void_p).value
    assert place is not None, "it is loaded"
    return place


def _taken_lock() -> int:
    """A lock of the interpreter's that whoever takes it next must wait for. It is never freed."""
    make = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThread_allocate_lock", ctypes.pythonapi))
    take = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
    lock: int = make()
    take(("PyThread_acquire_lock", ctypes.pythonapi))(lock, 1)
    return lock


def _pause() -> float:
    """Seconds that a pause takes."""
    found = []
    for _ in range(3):
        start = time.perf_counter()
        sharing.delay()(0, 0, 0, _TRIED)
        found.append(time.perf_counter() - start)
    return min(found) / _TRIED


def _end() -> None:
    if _team is not None:
        _team.end()


def _forget() -> None:
    """A process that forks has the threads; the new one starts its own."""
    global _team, _making
    _team, _making = None, threading.Lock()


# Machine code is freed when the interpreter ends, before which no thread may be in it any more.
atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
