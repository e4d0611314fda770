"""Runs the code of plug-ins so that it harms nothing else.

What a plug-in prints goes to standard error, so that standard output stays JSON. What it raises
comes out as an Exception, SystemExit included. A loop without an end is broken off: by a limit of
seconds, or by ``interrupt`` from another thread, which reaches the code of plug-ins alone.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from blocks.errors import BlockError

if TYPE_CHECKING:
    from types import FrameType

    from blocks.block import Block

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
    guard = _Guard()
    with _printing_to_stderr(), _user_interrupts() as by_user:
        try:
            with guard, _time_limit(guard, seconds):
                return call()
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


def interrupt(thread: int) -> None:
    """Break off the code of a plug-in that runs in a thread now; if none does, do nothing."""
    with _LOCK:
        guards = _GUARDS.get(thread)
        if guards:
            guards[0].fire()


_LOCK = threading.RLock()
_GUARDS: dict[int, list[_Guard]] = {}
"""The guards of the plug-in code that runs, by thread, the outermost first."""


@dataclass
class _Guard:
    """Marks where an asynchronous exception may come; none comes after it was left."""

    reason: str | None = None
    """Why the code was broken off, when its time is over."""
    _thread: int = field(default_factory=threading.get_ident)
    _fired: bool = False
    _left: bool = False

    def __enter__(self) -> _Guard:
        with _LOCK:
            _GUARDS.setdefault(self._thread, []).append(self)
        return self

    def __exit__(self, *error: object) -> None:
        while not self._left:
            try:
                self._leave()
            except BrokenOff:  # fired meanwhile, at most once
                continue

    def fire(self, reason: str | None = None) -> None:
        """Raise BrokenOff in the guarded code, once."""
        with _LOCK:
            if not (self._fired or self._left):
                self._fired, self.reason = True, reason
                _raise_in(self._thread, BrokenOff)

    def _leave(self) -> None:
        with _LOCK:
            if self._fired:
                _raise_in(self._thread, None)  # where it has not come yet it must not come later
            guards = _GUARDS[self._thread]
            if self in guards:
                guards.remove(self)
            if not guards:
                del _GUARDS[self._thread]
            self._left = True


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    kind = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), kind)


@contextmanager
def _time_limit(guard: _Guard, seconds: float | None) -> Iterator[None]:
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, guard.fire, [f"It took more than {seconds:g} s."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


_printers = 0
_stdout: Any = None


@contextmanager
def _printing_to_stderr() -> Iterator[None]:
    """Standard output is standard error while any thread is in here."""
    global _printers, _stdout
    with _LOCK:
        if _printers == 0:
            _stdout, sys.stdout = sys.stdout, sys.stderr
        _printers += 1
    try:
        yield
    finally:
        with _LOCK:
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
    stand_in: Callable[..., Any]
    is_valid: Callable[[Any], bool]
    instead: str


def _are_names(found: Any) -> bool:
    texts = isinstance(found, tuple) and all(isinstance(name, str) for name in found)
    return texts and len({*found}) == len(found)


def _are_shapes(found: Any) -> bool:
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
    read = cls.from_record.__func__  # type: ignore[attr-defined]
    setattr(cls, "from_record", classmethod(_guarded_method(read, HOOK_SECONDS)))  # noqa: B010
    setattr(cls, "to_record", _guarded_method(cls.to_record, HOOK_SECONDS))  # noqa: B010


def _is_foreign(method: Any) -> bool:
    return not str(method.__module__).startswith("blocks.")


def _guarded_method(method: Callable[..., Any], seconds: float | None = None) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return guarded(lambda: method(*args, **kwargs), seconds)
        except PluginError as error:
            why = error.what.removesuffix(".")
            raise PluginError(f"{method.__qualname__} failed: {why}.") from error

    return call


def _with_stand_in(
    cls: type[Block], hook: _Hook, method: Callable[..., Any], report: Report
) -> Callable[..., Any]:
    failed: list[str] = []
    hung: list[bool] = []

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        if hung:
            return hook.stand_in(*args, **kwargs)
        try:
            found = guarded(lambda: method(*args, **kwargs), HOOK_SECONDS)
            why = "" if hook.is_valid(found) else f"it returned {found!r:.60}"
        except PluginError as error:
            why = error.what
            hung.append(True)  # or the window would wait every time
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
        if not why:
            return found
        if not failed:
            failed.append(why)
            why = why.removesuffix(".")
            report(f"{cls.plugin}: {hook.name}() of {cls.__name__} failed: {why}. {hook.instead}")
        return hook.stand_in(*args, **kwargs)

    return call
