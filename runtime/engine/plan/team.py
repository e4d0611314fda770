"""The team: threads of the engine's own that take parts of machine code beside their caller.

All of them take parts of a job until none is left: the caller from the front and the others from
behind, so that each has about the same rows of one value after another in its cache. Then the
caller waits for the parts that others have begun. A thread without work watches for some
microseconds whether there is another job, since waking it takes as long, and then sleeps on a lock.
Only for that does it need the interpreter.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import platform
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.allocation import HUGE
from gradwire.runtime.engine.plan.native.machine import address, function

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.jobs import Job

ROOM = -1
"""The argument of a call that stands for the room of the thread that makes it."""

PATIENCE = 1e-4
"""Seconds for which a thread waits awake: about what waking it takes."""

_X86, _ARM = "x86.sse2.pause()", "aarch64.hint(i32 1)"
_PAUSES = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
"""Instructions that tell a processor that a thread waits, by the name of the machine."""

_TEXT = """
%call = type {ptr, ptr, i64, i64, i64}  ; function, frame, argument, start, stop
%job = type {ptr, ptr, i64}    ; calls, the first of each part and their number, number of parts
%counts = type {i64, i64, i64}       ; parts that were taken, and how many from each end
; The gate, in a line of the cache of its own: 1 while the job is open, plus 2 for each thread
; inside; who adds 2 to an open one may go in. The job, the least gate that lets nobody in, the
; pauses of patience, and a function that sleeps, with its argument.
%team = type {i64, [7 x i64], ptr, i64, i64, ptr, i32}

define internal void @take(ptr %job.at, i64 %room, i64 %end) {  ; 1 is the front
  %job = load %job, ptr %job.at
  %calls = extractvalue %job %job, 0
  %bounds = extractvalue %job %job, 1
  %parts = extractvalue %job %job, 2
  %counts = getelementptr %job, ptr %job.at, i64 1
  %taken = getelementptr i64, ptr %counts, i64 %end
  %is.front = icmp eq i64 %end, 1
  br label %next
next:
  %number = atomicrmw add ptr %counts, i64 1 seq_cst
  %is.left = icmp slt i64 %number, %parts
  br i1 %is.left, label %begin, label %end.of.job
begin:
  %front = atomicrmw add ptr %taken, i64 1 seq_cst
  %behind = sub i64 %parts, %front
  %back = sub i64 %behind, 1
  %part = select i1 %is.front, i64 %front, i64 %back
  %first.at = getelementptr i64, ptr %bounds, i64 %part
  %last.at = getelementptr i64, ptr %first.at, i64 1
  %first = load i64, ptr %first.at
  %last = load i64, ptr %last.at
  br label %more
more:
  %i = phi i64 [%first, %begin], [%after, %go]
  %is.more = icmp slt i64 %i, %last
  br i1 %is.more, label %go, label %next
go:
  %call.at = getelementptr %call, ptr %calls, i64 %i
  %call = load %call, ptr %call.at
  %function = extractvalue %call %call, 0
  %frame = extractvalue %call %call, 1
  %given = extractvalue %call %call, 2
  %start = extractvalue %call %call, 3
  %stop = extractvalue %call %call, 4
  %is.room = icmp eq i64 %given, ROOM
  %argument = select i1 %is.room, i64 %room, i64 %given
  call void %function(ptr %frame, i64 %argument, i64 %start, i64 %stop)
  %after = add i64 %i, 1
  br label %more
end.of.job:
  ret void
}

; Take all parts, of counts of its own: another thread may be at the same job.
define void @alone(ptr %job.at, i64 %room, i64 %unused, i64 %unused2) {
  %job = load %job, ptr %job.at
  %own = alloca {%job, %counts}
  store {%job, %counts} zeroinitializer, ptr %own
  store %job %job, ptr %own
  call void @take(ptr %own, i64 %room, i64 1)
  ret void
}

; Publish a job, for so many others at most.
define void @open(ptr %team, i64 %job, i64 %helpers, i64 %unused) {
  %job.at = getelementptr %team, ptr %team, i64 0, i32 2
  %full.at = getelementptr %team, ptr %team, i64 0, i32 3
  %own = inttoptr i64 %job to ptr
  %counts = getelementptr %job, ptr %own, i64 1
  %full = mul i64 %helpers, 2
  store %counts zeroinitializer, ptr %counts
  store atomic ptr %own, ptr %job.at monotonic, align 8
  store atomic i64 %full, ptr %full.at monotonic, align 8
  %opened = atomicrmw add ptr %team, i64 1 seq_cst
  ret void
}

; Take parts of the job that is published, and wait until all others are out of it.
define void @finish(ptr %team, i64 %room, i64 %unused, i64 %unused2) {
  %now = load %team, ptr %team
  %job = extractvalue %team %now, 2
  %patience = extractvalue %team %now, 4
  %sleep = extractvalue %team %now, 5
  %time = extractvalue %team %now, 6
  call void @take(ptr %job, i64 %room, i64 1)
  %closed = atomicrmw and ptr %team, i64 -2 seq_cst
  br label %wait
wait:
  %i = phi i64 [0, %0], [%after, %pause], [%patience, %rest]
  %gate = load atomic i64, ptr %team seq_cst, align 8
  %is.over = icmp eq i64 %gate, 0
  br i1 %is.over, label %end, label %on
on:
  %after = add i64 %i, 1
  %is.patient = icmp slt i64 %i, %patience
  br i1 %is.patient, label %pause, label %rest
pause:
  PAUSE
  br label %wait
rest:
  call void %sleep(i32 %time)
  br label %wait
end:
  ret void
}

; Take parts of jobs, with the room whose address is the number at this place, until there is no job
; for a while.
define void @serve(ptr %team, i64 %place, i64 %unused, i64 %unused2) {
  %job.at = getelementptr %team, ptr %team, i64 0, i32 2
  %full.at = getelementptr %team, ptr %team, i64 0, i32 3
  %patience.at = getelementptr %team, ptr %team, i64 0, i32 4
  %patience = load i64, ptr %patience.at
  %room.at = getelementptr i64, ptr %team, i64 %place
  br label %watch
watch:
  %i = phi i64 [0, %0], [0, %leave], [%after, %pause]
  %seen = load atomic i64, ptr %team seq_cst, align 8
  %may = call i1 @is_open(i64 %seen, ptr %full.at)
  br i1 %may, label %enter, label %pause
enter:
  %found = atomicrmw add ptr %team, i64 2 seq_cst
  %is.in = call i1 @is_open(i64 %found, ptr %full.at)
  br i1 %is.in, label %work, label %leave
work:
  %job = load atomic ptr, ptr %job.at monotonic, align 8
  %room = load i64, ptr %room.at
  call void @take(ptr %job, i64 %room, i64 2)
  %closed = atomicrmw and ptr %team, i64 -2 seq_cst
  br label %leave
leave:
  %before = atomicrmw sub ptr %team, i64 2 seq_cst
  br label %watch
pause:
  PAUSE
  %after = add i64 %i, 1
  %is.patient = icmp slt i64 %after, %patience
  br i1 %is.patient, label %watch, label %end
end:
  ret void
}

define internal i1 @is_open(i64 %gate, ptr %full.at) {
  %full = load atomic i64, ptr %full.at monotonic, align 8
  %bit = and i64 %gate, 1
  %is.not.closed = icmp ne i64 %bit, 0
  %is.not.full = icmp slt i64 %gate, %full
  %is.open = and i1 %is.not.closed, %is.not.full
  ret i1 %is.open
}
"""

COUNTS = 3
"""Numbers that follow those of a job: see ``%counts``."""

_ROOMS = 16
"""Where the addresses of rooms follow the state of a team."""


class Team:
    """At most ``size`` threads, which start when they are first asked for.

    One caller at a time shares a job with them; others make their calls themselves.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.threads: list[threading.Thread] = []
        self._locks: list[threading.Lock] = []
        """Each is taken while its thread need not wake."""
        self._caller = threading.Lock()
        self._state = np.concatenate([_state(), np.zeros(size, np.int64)])
        self._place = address(self._state)
        self._rooms: list[Room] = []

    def share(self, job: Job) -> None:
        """Make the calls of a job, with the help of at most as many threads as it is worth."""
        helpers = min(job.helpers, self.size)
        if helpers <= 0 or not self._caller.acquire(blocking=False):
            alone(job)
            return
        try:
            while len(self.threads) < helpers <= self.size:
                self._start()
            if job.room:
                for number, room in enumerate(self._rooms):
                    self._state[_ROOMS + number] = room.place(job.room)
            _function("open")(self._place, job.place, helpers, 0)
            for lock in self._locks[: min(helpers, job.wakes)]:  # now: whoever sleeps later watches
                if lock.locked():
                    lock.release()
            _function("finish")(self._place, own_room(job.room), 0, 0)
        finally:
            self._caller.release()

    def _start(self) -> None:
        """Start a thread, which does not keep the process alive."""
        number = len(self.threads)
        self._locks.append(threading.Lock())
        self._rooms.append(Room())
        name = f"gradwire {number + 1}"
        thread = threading.Thread(target=self._serve, args=(number,), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system has no more, or the process is about to end
            self.size = number
        else:
            self.threads.append(thread)

    def _serve(self, number: int) -> None:
        """Help until the team ends: after a while without a job, sleep until the lock is free."""
        while self.size:
            _function("serve")(self._place, _ROOMS + number, 0, 0)
            self._locks[number].acquire()

    def end(self) -> None:
        """End all threads; the team has none from then on."""
        with self._caller:
            self.size = 0
            for lock, thread in zip(self._locks, self.threads, strict=False):
                while thread.is_alive():
                    if lock.locked():
                        lock.release()
                    thread.join(PATIENCE)
            self.threads = []


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
_team: Team | None = None
_making = threading.Lock()


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
    return _own.room.place(needed)


def alone(job: Job) -> None:
    """Make the calls of a job without help."""
    _function("alone")(job.place, own_room(job.room), 0, 0)


@cache
def _function(name: str) -> Any:
    pause = _PAUSES.get(platform.machine().lower())
    declared = f"declare void @llvm.{pause.replace(' 1', '')}" if pause else ""
    waiting = f"call void @llvm.{pause}" if pause else "fence seq_cst"
    text = _TEXT.replace("PAUSE", waiting).replace("ROOM", str(ROOM))
    return function(f"{declared}\n{text}", name)[0]


def _state() -> NDArray[np.int64]:
    """The state of a team that has no threads; see ``%team``."""
    is_windows = os.name == "nt"
    found = ctypes.CDLL("kernel32").Sleep if is_windows else ctypes.CDLL(None).usleep
    state = np.zeros(_ROOMS, np.int64)
    state[11] = ctypes.cast(found, ctypes.c_void_p).value or 0
    state[12] = 1 if is_windows else round(PATIENCE * 1e6)
    state[10] = tried = 1 << 10
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        _function("serve")(address(state), _ROOMS, 0, 0)
        taken.append(time.perf_counter() - start)
    state[10] = max(1, round(PATIENCE / min(taken) * tried))
    return state


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
