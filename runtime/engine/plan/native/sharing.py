"""Sharing of calls of machine code between threads, as machine code: no part waits for Python.

The caller publishes a job and takes its parts one after another; so do all threads that are awake,
until no part is left. The caller then waits only for parts that others have begun. A thread without
work watches for some microseconds before it sleeps, since waking it takes as long; it sleeps on a
lock of Python's, which it takes without the interpreter.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cache
from string import Template

from gradwire.runtime.engine.plan.native import machine

LINE = 8
"""Numbers of int64 in a line of the cache: what different threads write lies in different ones."""

STATE = {
    "calls": 0, "bounds": 1, "count": 2, "most": 3, "patience": 4, "stop": 5, "acquire": 6,
    "release": 7, "gate": LINE, "taken": 2 * LINE, "busy": 3 * LINE,
}  # fmt: skip
"""Places in the state of a team, int64.

The job in hand: the addresses of its calls and bounds (see ``JOB``), its number of parts, and how
many threads may help. ``patience`` is the number of pauses for which a thread watches. ``stop`` is
1 once threads are to end. ``acquire`` and ``release`` are the addresses of functions on locks.
``gate`` is 1 while threads may enter the job, plus 2 while its caller sleeps, plus 4 for each
thread inside; ``taken`` is the number of parts that were taken; ``busy`` is 1 while there is a job.
"""

THREADS = 4 * LINE
"""Where in the state the threads follow: the caller, then those of the team, each with a line."""

THREAD = {"asleep": 0, "lock": 1, "room": 2, "next": 3, "end": 4}
"""Places in the line of a thread: whether it sleeps, the lock on which it does, and the address of
memory of its own. It takes parts from ``next`` to ``end`` first, so that the same rows of one value
after another are in its cache; then it takes those of others.
"""

JOB = ("calls", "bounds", "count", "wakes")
"""A job, int64: the addresses of its calls and of the number of the first call of each part, and of
all calls; the number of parts; and how many sleeping threads are worth waking.
"""

CALL = ("function", "frame", "argument", "start", "stop")
"""A call ``function(frame, argument, start, stop)``, int64."""

ROOM = -1
"""The argument that stands for the room of the thread that makes the call."""

_X86 = "declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"
_ARM = "declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"
_PAUSES = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
"""Instructions that tell a processor that a thread waits, by the name of the machine."""

_LINE = """
define internal ptr @line(ptr %state, i64 %number) {
  %lines = mul i64 %number, $line
  %first = getelementptr i64, ptr %state, i64 $threads
  %line = getelementptr i64, ptr %first, i64 %lines
  ret ptr %line
}
"""
"""The numbers of a thread."""

_PARTS = """
define internal void @part(ptr %calls, ptr %bounds, i64 %part, i64 %room) {
  %first.at = getelementptr i64, ptr %bounds, i64 %part
  %first = load i64, ptr %first.at
  %last.at = getelementptr i64, ptr %first.at, i64 1
  %last = load i64, ptr %last.at
  br label %more
more:
  %i = phi i64 [%first, %0], [%after, %go]
  %is.more = icmp slt i64 %i, %last
  br i1 %is.more, label %go, label %done
go:
  %away = mul i64 %i, 5
  %function.at = getelementptr i64, ptr %calls, i64 %away
  %function = load ptr, ptr %function.at
  %frame.at = getelementptr i64, ptr %function.at, i64 1
  %frame = load ptr, ptr %frame.at
  %given.at = getelementptr i64, ptr %function.at, i64 2
  %given = load i64, ptr %given.at
  %is.room = icmp eq i64 %given, $room
  %argument = select i1 %is.room, i64 %room, i64 %given
  %start.at = getelementptr i64, ptr %function.at, i64 3
  %start = load i64, ptr %start.at
  %stop.at = getelementptr i64, ptr %function.at, i64 4
  %stop = load i64, ptr %stop.at
  call void %function(ptr %frame, i64 %argument, i64 %start, i64 %stop)
  %after = add i64 %i, 1
  br label %more
done:
  ret void
}

define internal void @parts(ptr %state, i64 %room, i64 %number) {
  %calls.at = $calls
  %calls = load ptr, ptr %calls.at
  %bounds.at = $bounds
  %bounds = load ptr, ptr %bounds.at
  %count.at = $count
  %count = load i64, ptr %count.at
  %most.at = $most
  %most = load i64, ptr %most.at
  %taken = $taken
  br label %take
take:
  %before = atomicrmw add ptr %taken, i64 1 seq_cst
  %is.left = icmp slt i64 %before, %count
  br i1 %is.left, label %seek, label %done
seek:
  %whose = phi i64 [%number, %take], [%other, %further]
  %line = call ptr @line(ptr %state, i64 %whose)
  %next = getelementptr i64, ptr %line, i64 3
  %end.at = getelementptr i64, ptr %line, i64 4
  %end = load i64, ptr %end.at
  %part = atomicrmw add ptr %next, i64 1 seq_cst
  %is.found = icmp slt i64 %part, %end
  br i1 %is.found, label %go, label %further
further:
  %is.last = icmp eq i64 %whose, %most
  %after = add i64 %whose, 1
  %other = select i1 %is.last, i64 0, i64 %after
  br label %seek
go:
  call void @part(ptr %calls, ptr %bounds, i64 %part, i64 %room)
  br label %take
done:
  ret void
}
"""
"""Makes all calls of one part, and of all parts that nobody has taken yet."""

_WAKE = """
define void @wake(ptr %state, i64 %unused, i64 %from, i64 %to) {
  %release.at = $release
  %release = load ptr, ptr %release.at
  br label %more
more:
  %i = phi i64 [%from, %0], [%after, %next]
  %is.more = icmp slt i64 %i, %to
  br i1 %is.more, label %ask, label %done
ask:
  %asleep = call ptr @line(ptr %state, i64 %i)
  %found = cmpxchg ptr %asleep, i64 1, i64 0 seq_cst seq_cst
  %slept = extractvalue {i64, i1} %found, 1
  br i1 %slept, label %rouse, label %next
rouse:
  %lock.at = getelementptr i64, ptr %asleep, i64 1
  %lock = load ptr, ptr %lock.at
  call void %release(ptr %lock)
  br label %next
next:
  %after = add i64 %i, 1
  br label %more
done:
  ret void
}
"""
"""Wakes those of some threads that sleep."""

_SHARE = """
define void @share(ptr %state, i64 %job, i64 %room, i64 %most) {
  %calls.from = inttoptr i64 %job to ptr
  %calls = load ptr, ptr %calls.from
  %bounds.from = getelementptr i64, ptr %calls.from, i64 1
  %bounds = load ptr, ptr %bounds.from
  %count.from = getelementptr i64, ptr %calls.from, i64 2
  %count = load i64, ptr %count.from
  %wakes.from = getelementptr i64, ptr %calls.from, i64 3
  %wakes = load i64, ptr %wakes.from
  %gate = $gate
  %busy = $busy
  %is.helped = icmp sgt i64 %most, 0
  br i1 %is.helped, label %enter, label %alone
enter:
  %found = cmpxchg ptr %busy, i64 0, i64 1 seq_cst seq_cst
  %is.ours = extractvalue {i64, i1} %found, 1
  br i1 %is.ours, label %publish, label %alone
alone:
  %i = phi i64 [0, %0], [0, %enter], [%after, %go]
  %is.more = icmp slt i64 %i, %count
  br i1 %is.more, label %go, label %end
go:
  call void @part(ptr %calls, ptr %bounds, i64 %i, i64 %room)
  %after = add i64 %i, 1
  br label %alone
publish:
  %calls.at = $calls
  store atomic ptr %calls, ptr %calls.at monotonic, align 8
  %bounds.at = $bounds
  store atomic ptr %bounds, ptr %bounds.at monotonic, align 8
  %count.at = $count
  store atomic i64 %count, ptr %count.at monotonic, align 8
  %most.at = $most
  store atomic i64 %most, ptr %most.at monotonic, align 8
  %taken = $taken
  store atomic i64 0, ptr %taken monotonic, align 8
  %all = add i64 %most, 1
  br label %give
give:
  %to = phi i64 [0, %publish], [%to.next, %give]
  %first = phi i64 [0, %publish], [%last, %give]
  %to.next = add i64 %to, 1
  %product = mul i64 %count, %to.next
  %last = udiv i64 %product, %all
  %line = call ptr @line(ptr %state, i64 %to)
  %next = getelementptr i64, ptr %line, i64 3
  store atomic i64 %first, ptr %next monotonic, align 8
  %end.at = getelementptr i64, ptr %line, i64 4
  store atomic i64 %last, ptr %end.at monotonic, align 8
  %is.given = icmp sgt i64 %to.next, %most
  br i1 %is.given, label %open, label %give
open:
  store atomic i64 1, ptr %gate seq_cst, align 8
  %is.much = icmp slt i64 %most, %wakes
  %sleepers = select i1 %is.much, i64 %most, i64 %wakes
  %behind = add i64 %sleepers, 1
  call void @wake(ptr %state, i64 0, i64 1, i64 %behind)
  call void @parts(ptr %state, i64 %room, i64 0)
  %closed = atomicrmw and ptr %gate, i64 -2 seq_cst
  %patience.at = $patience
  %patience = load i64, ptr %patience.at
  br label %watch
watch:
  %left = phi i64 [%patience, %open], [%less, %wait]
  %now = load atomic i64, ptr %gate seq_cst, align 8
  %is.empty = icmp eq i64 %now, 0
  br i1 %is.empty, label %leave, label %wait
wait:
  $pause
  %less = sub i64 %left, 1
  %is.patient = icmp sgt i64 %less, 0
  br i1 %is.patient, label %watch, label %sleep
sleep:
  %before = atomicrmw or ptr %gate, i64 2 seq_cst
  %is.done = icmp eq i64 %before, 0
  br i1 %is.done, label %leave, label %block
block:
  %acquire.at = $acquire
  %acquire = load ptr, ptr %acquire.at
  %own = call ptr @line(ptr %state, i64 0)
  %owner.at = getelementptr i64, ptr %own, i64 1
  %owner = load ptr, ptr %owner.at
  %got = call i32 %acquire(ptr %owner, i32 1)
  br label %leave
leave:
  store atomic i64 0, ptr %gate seq_cst, align 8
  store atomic i64 0, ptr %busy seq_cst, align 8
  br label %end
end:
  ret void
}
"""

_SERVE = """
define internal i1 @is_work(ptr %state, i64 %number) {
  %gate = $gate
  %now = load atomic i64, ptr %gate seq_cst, align 8
  %most.at = $most
  %most = load atomic i64, ptr %most.at monotonic, align 8
  %taken.at = $taken
  %taken = load atomic i64, ptr %taken.at monotonic, align 8
  %count.at = $count
  %count = load atomic i64, ptr %count.at monotonic, align 8
  %bit = and i64 %now, 1
  %is.open = icmp ne i64 %bit, 0
  %is.asked = icmp sle i64 %number, %most
  %is.left = icmp slt i64 %taken, %count
  %is.both = and i1 %is.open, %is.asked
  %is.work = and i1 %is.both, %is.left
  ret i1 %is.work
}

define void @serve(ptr %state, i64 %number, i64 %unused, i64 %unused2) {
  %asleep = call ptr @line(ptr %state, i64 %number)
  %lock.at = getelementptr i64, ptr %asleep, i64 1
  %lock = load ptr, ptr %lock.at
  %room.at = getelementptr i64, ptr %asleep, i64 2
  %gate = $gate
  %stop.at = $stop
  %patience.at = $patience
  %patience = load i64, ptr %patience.at
  %acquire.at = $acquire
  %acquire = load ptr, ptr %acquire.at
  br label %begin
begin:
  br label %watch
watch:
  %left = phi i64 [%patience, %begin], [%less, %idle]
  %stop = load atomic i64, ptr %stop.at seq_cst, align 8
  %is.over = icmp ne i64 %stop, 0
  br i1 %is.over, label %end, label %look
look:
  %now = load atomic i64, ptr %gate seq_cst, align 8
  %bit = and i64 %now, 1
  %is.open = icmp ne i64 %bit, 0
  %is.work = call i1 @is_work(ptr %state, i64 %number)
  %is.ours = and i1 %is.open, %is.work
  br i1 %is.ours, label %enter, label %idle
enter:
  %inside = add i64 %now, 4
  %found = cmpxchg ptr %gate, i64 %now, i64 %inside seq_cst seq_cst
  %is.inside = extractvalue {i64, i1} %found, 1
  br i1 %is.inside, label %ask, label %begin
ask:
  %is.still = call i1 @is_work(ptr %state, i64 %number)
  br i1 %is.still, label %work, label %leave
work:
  %room = load atomic i64, ptr %room.at seq_cst, align 8
  call void @parts(ptr %state, i64 %room, i64 %number)
  br label %leave
leave:
  %before = atomicrmw sub ptr %gate, i64 4 seq_cst
  %is.awaited = icmp eq i64 %before, 6
  br i1 %is.awaited, label %tell, label %begin
tell:
  %release.at = $release
  %release = load ptr, ptr %release.at
  %caller = call ptr @line(ptr %state, i64 0)
  %owner.at = getelementptr i64, ptr %caller, i64 1
  %owner = load ptr, ptr %owner.at
  call void %release(ptr %owner)
  br label %begin
idle:
  $pause
  %less = sub i64 %left, 1
  %is.patient = icmp sgt i64 %less, 0
  br i1 %is.patient, label %watch, label %lie
lie:
  store atomic i64 1, ptr %asleep seq_cst, align 8
  %is.late = call i1 @is_work(ptr %state, i64 %number)
  %stop.now = load atomic i64, ptr %stop.at seq_cst, align 8
  %is.over.now = icmp ne i64 %stop.now, 0
  %is.wanted = or i1 %is.late, %is.over.now
  br i1 %is.wanted, label %rise, label %sleep
rise:
  %own = cmpxchg ptr %asleep, i64 1, i64 0 seq_cst seq_cst
  %is.own = extractvalue {i64, i1} %own, 1
  br i1 %is.own, label %begin, label %sleep
sleep:
  %got = call i32 %acquire(ptr %lock, i32 1)
  br label %begin
end:
  ret void
}
"""

_DELAY = """
define void @delay(ptr %unused, i64 %unused2, i64 %start, i64 %stop) {
  br label %more
more:
  %i = phi i64 [%start, %0], [%after, %more]
  $pause
  %after = add i64 %i, 1
  %is.more = icmp slt i64 %after, %stop
  br i1 %is.more, label %more, label %done
done:
  ret void
}
"""


@cache
def share() -> Callable[..., None]:
    """``call(state, job, room, most)``: make all calls of a job, with the help of at most so many
    threads; without any where there is a job already.
    """
    return _compiled("share", _LINE + _PARTS + _WAKE + _SHARE)


@cache
def serve() -> Callable[..., None]:
    """``call(state, number, 0, 0)``: take part in jobs as the thread of a number, until the end."""
    return _compiled("serve", _LINE + _PARTS + _SERVE)


@cache
def wake() -> Callable[..., None]:
    """``call(state, 0, start, stop)``: wake the threads of these numbers."""
    return _compiled("wake", _LINE + _WAKE)


@cache
def delay() -> Callable[..., None]:
    """``call(0, 0, 0, n)``: make n pauses."""
    return _compiled("delay", _DELAY)


def _compiled(name: str, text: str) -> Callable[..., None]:
    places = {name: f"getelementptr i64, ptr %state, i64 {at}" for name, at in STATE.items()}
    declared, pause = _PAUSES.get(platform.machine().lower(), ("", "fence seq_cst"))
    found = Template(text).substitute(places, pause=pause, room=ROOM, line=LINE, threads=THREADS)
    return machine.function(f"{declared}\n{found}", name)[0]
