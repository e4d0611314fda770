"""Runs the code of plug-ins so that it harms nothing else.

What a plug-in prints goes to standard error, so that standard output stays JSON. What it raises
comes out as an Exception, SystemExit included. A loop without an end is broken off: by a limit of
seconds, or by ``interrupt`` from another thread, which reaches the code of plug-ins alone.
"""

from __future__ import annotations

import _thread
import ctypes
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import wraps
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import BlockError, reason_of

if TYPE_CHECKING:
    from types import FrameType

    from gradwire.blocks.block import Block

R = TypeVar("R")
Report: TypeAlias = Callable[[str], None]

IMPORT_SECONDS = 60.0
"""Time that the import of a plug-in may take; loading a large library takes a few."""
HOOK_SECONDS = 5.0
"""Time that a method of a block which the window calls may take; it should take microseconds."""


class PluginError(BlockError):
    """The code of a plug-in failed in a way that is not an Exception, or took too long."""


class BrokenOff(BaseException):
    """Breaks off the code of a plug-in; no Exception, so that no handler keeps it."""


def guarded(call: Callable[[], R], seconds: float | None = None) -> R:
    """The result of foreign code. Raises what it raises, PluginError in place of what is no
    Exception or when the seconds are over, and BrokenOff after ``interrupt``.
    """
    guard = _Guard(seconds)
    with guard, _printing_to_stderr(), _user_interrupts() as by_user:
        try:
            return guard.run(call)
        except BrokenOff:
            if guard.reason is None:
                raise
            raise PluginError(guard.reason) from None
        except (GeneratorExit, SystemExit) as error:
            raise PluginError(f"{error!r}") from error
        except KeyboardInterrupt as error:
            if by_user():
                raise
            raise PluginError(f"{error!r}") from error
        except Exception:
            raise
        except BaseException as error:
            raise PluginError(f"{error!r}") from error


def breakable() -> AbstractContextManager[object]:
    """Work of this thread that ``interrupt`` is meant for. Only the code of plug-ins within it is
    broken off, whether it runs already or begins later.
    """
    return _Guard(None)


def interrupt(thread: int) -> None:
    """Break off the code of plug-ins in the outermost ``breakable`` or ``guarded`` call that
    a thread is in; if it is in none, do nothing.
    """
    with _lock:
        if guards := _guards.get(thread):
            guards[0].is_over = True
            _wake()


# ---- breaking off -------------------------------------------------------------------------------

REPEAT = 0.05
"""Seconds until code that goes on is broken off again: an exception that comes inside of __del__
or a callback of the garbage collector is lost, and careless code catches everything.
"""
_lock = threading.RLock()  # written in C, so an exception cannot come between its halves
_guards: dict[int, list[_Guard]] = {}
"""The guards that each thread is in, the outermost first."""


class _Guard:
    """A call of foreign code, or work that contains such calls.

    BrokenOff comes only while the innermost guard of its thread is open, which is while foreign
    code runs: what ``guarded`` itself does at the beginning and the end is never broken off.
    """

    def __init__(self, seconds: float | None) -> None:
        self.reason: str | None = None
        """Why the code was broken off, when its time is over."""
        self.is_over = False
        self.deadline = math.inf if seconds is None else time.monotonic() + seconds
        self._seconds = seconds
        self._is_open = False
        self._was_struck = False

    def __enter__(self) -> _Guard:
        with _lock:
            guards = _guards.setdefault(threading.get_ident(), [])
            if guards:
                guards[-1]._settle()
            guards.append(self)
            if self.deadline < _next_look:
                _wake()
        return self

    def run(self, call: Callable[[], R]) -> R:
        """The result of the call, during which BrokenOff may come."""
        try:
            self._is_open = True
            return call()
        finally:
            self._is_open = False  # the interpreter delivers no exception before this is done
            with _lock:
                self._settle()

    def __exit__(self, *error: object) -> None:
        with _lock:
            guards = _guards[threading.get_ident()]
            guards.remove(self)
            if not guards:
                del _guards[threading.get_ident()]

    def look(self, now: float) -> None:
        """Be over when the time is."""
        if self.deadline <= now and not self.is_over:
            self.is_over, self.reason = True, f"It took more than {self._seconds:g} s."

    def strike(self, thread: int) -> None:
        """Raise BrokenOff in a thread whose innermost guard this is, if it is open."""
        if self._is_open:
            self._was_struck = True
            _raise_in(thread)
            _absorb()

    def _settle(self) -> None:
        """Let no exception come later that has been raised but has not come yet."""
        if self._was_struck:
            self._was_struck = False
            _absorb()


def _raise_in(thread: int) -> None:
    kind = ctypes.py_object(BrokenOff)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), kind)


def _absorb() -> None:
    """Catch what is pending in this thread, by raising it again.

    The interpreter has a flag that some exception is pending in some thread, and resets it only
    where one comes: not where it is cleared, nor while its thread waits for something. Until
    then Python 3.11 does not let any traced thread enter a function (coverage, debuggers).
    """
    try:
        _raise_in(threading.get_ident())
    except BrokenOff:
        pass


_next_look = math.inf
"""When the watching thread wakes next, if nothing wakes it."""
_wakes: SimpleQueue[None] = SimpleQueue()
_is_watched = False


def _wake() -> None:
    """Let the watching thread look now; the first time, start it. The lock is held."""
    global _is_watched
    if not _is_watched:
        _is_watched = True
        _thread.start_new_thread(_watch, ())  # which nothing traces; see _absorb
    _wakes.put(None)


def _watch() -> None:
    while True:
        with suppress(Empty, BrokenOff):  # should an interpreter deliver it late
            wait = _look()
            _wakes.get(timeout=None if wait == math.inf else wait)


def _look() -> float:
    """Break off what is over; return the seconds until the next look."""
    global _next_look
    with _lock:
        now, _next_look = time.monotonic(), math.inf
        for thread, guards in _guards.items():
            for guard in guards:
                guard.look(now)
            if any(guard.is_over for guard in guards):
                guards[-1].strike(thread)
                _next_look = min(_next_look, now + REPEAT)
            for guard in guards:
                if not guard.is_over:
                    _next_look = min(_next_look, guard.deadline)
        return max(0.0, _next_look - now)


def _after_fork() -> None:
    """The child has no watching thread, and the parent's may have held the lock."""
    global _lock, _wakes, _is_watched, _next_look
    _lock, _wakes, _is_watched, _next_look = threading.RLock(), SimpleQueue(), False, math.inf


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# ---- standard output and Ctrl-C -----------------------------------------------------------------

_printers = 0
_stdout: object = None


@contextmanager
def _printing_to_stderr() -> Iterator[None]:
    """Standard output is standard error while any thread is in here."""
    global _printers, _stdout
    with _lock:
        if _printers == 0:
            _stdout, sys.stdout = sys.stdout, sys.stderr
        _printers += 1
    try:
        yield
    finally:
        with _lock:
            _printers -= 1
            if _printers == 0:
                sys.stdout = _stdout


@contextmanager
def _user_interrupts() -> Iterator[Callable[[], bool]]:
    """Tells whether the user pressed Ctrl-C in here, and not the code raised KeyboardInterrupt."""
    pressed = False
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: False
        return
    forward = before

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        forward(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


# ---- the methods of a block ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Hook:
    """A method that plug-ins may define, and what stands in for it where it fails."""

    name: str
    stand_in: Callable[..., object]
    is_valid: Callable[[object], bool]
    instead: str


def _are_names(found: object) -> bool:
    if not isinstance(found, tuple) or not all(isinstance(name, str) for name in found):
        return False
    return len({*found}) == len(found)


def _are_shapes(found: object) -> bool:
    return isinstance(found, Mapping) and all(
        isinstance(port, str) and isinstance(shape, tuple | list) for port, shape in found.items()
    )


_HOOKS = (
    _Hook(
        "label",
        lambda block: type(block).type_name(),
        lambda found: isinstance(found, str),
        "The name of the type is shown instead.",
    ),
    _Hook(
        "output_names",
        lambda block: type(block).outputs,
        _are_names,
        "The outputs of the class are used instead.",
    ),
    _Hook("infer", lambda *_: {}, _are_shapes, "No shape is inferred."),
)
_UNBOUNDED = ("forward", "data")
"""Methods that have no stand-in, and may take any time; an error of them is that of the block."""


def contain(cls: type[Block], origin: str, report: Report) -> None:
    """Guard the methods that the class of a plug-in defines.

    ``origin`` names the plug-in. ``report`` takes a sentence when a method fails for which there
    is a stand-in, once for each method.
    """
    cls.plugin = origin
    for hook in _HOOKS:
        if _is_foreign(method := getattr(cls, hook.name)):
            setattr(cls, hook.name, _with_stand_in(cls, hook, method, report))
    for name in _UNBOUNDED:
        if (method := getattr(cls, name, None)) is not None and _is_foreign(method):
            setattr(cls, name, _guarded_method(method))
    read = cls.from_record.__func__  # type: ignore[attr-defined]  # of a classmethod
    setattr(cls, "from_record", classmethod(_guarded_method(read, HOOK_SECONDS)))  # noqa: B010
    setattr(cls, "to_record", _guarded_method(cls.to_record, HOOK_SECONDS))  # noqa: B010


_OWN_MODULES = ("gradwire.", "numpy")


def is_own(function: Callable[..., object]) -> bool:
    """Whether a function is one of the library's or of numpy, guarded or not, and no plug-in's."""
    module = getattr(function, "__module__", None) or type(function).__module__
    return module.startswith(_OWN_MODULES)


def contained(function: Callable[..., R]) -> Callable[..., R]:
    """A function of a primitive, guarded if it is a plug-in's."""
    if is_own(function):
        return function

    @wraps(function)
    def call(*args: object, **kwargs: object) -> R:
        return guarded(lambda: function(*args, **kwargs))

    return call


def _is_foreign(method: object) -> bool:
    return not str(method.__module__).startswith("gradwire.blocks.")


def _guarded_method(
    method: Callable[..., object], seconds: float | None = None
) -> Callable[..., object]:
    @wraps(method)
    def call(*args: object, **kwargs: object) -> object:
        try:
            return guarded(lambda: method(*args, **kwargs), seconds)
        except PluginError as error:
            why = error.what.removesuffix(".")
            raise PluginError(f"{method.__qualname__} failed: {why}.") from error

    return call


def _with_stand_in(
    cls: type[Block], hook: _Hook, method: Callable[..., object], report: Report
) -> Callable[..., object]:
    failed: list[str] = []
    hung: list[bool] = []

    @wraps(method)
    def call(*args: object, **kwargs: object) -> object:
        if hung:
            return hook.stand_in(*args, **kwargs)
        try:
            found = guarded(lambda: method(*args, **kwargs), HOOK_SECONDS)
            why = "" if hook.is_valid(found) else f"it returned {found!r:.60}"
        except PluginError as error:
            why = error.what
            hung.append(True)  # or the window would wait every time
        except Exception as error:
            why = reason_of(error)
        if not why:
            return found
        if not failed:
            failed.append(why)
            why = why.removesuffix(".")
            report(f"{cls.plugin}: {hook.name}() of {cls.__name__} failed: {why}. {hook.instead}")
        return hook.stand_in(*args, **kwargs)

    return call
