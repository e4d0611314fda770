"""Bars that say how far is what takes long: on a terminal and in a notebook, and nowhere else.

A terminal has them on standard error. They are drawn by the calls that move them, not by a thread,
and not before half a second is over. ``GRADWIRE_BARS=0`` in the environment turns them off. Texts
are drawn as they are: a caller makes harmless what comes from elsewhere.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

_T = TypeVar("_T")
AFTER, EVERY = 0.5, 0.1
"""Seconds after which a bar is drawn, and between two times that it is."""
_OFF = "GRADWIRE_BARS"
_DISPLAY = "IPython.display"


class _Screen(Protocol):
    """Where a bar is drawn."""

    def draw(self, progress: Progress) -> None:
        """Draw it, again or for the first time."""

    def end(self, progress: Progress) -> None:
        """Draw it no more."""


class Bar:
    """How much of something is done, of ``total`` if that is known, and a note on it.

    One is drawn at a time: of two inside each other the one that is drawn first, until it ends.
    """

    _current: ClassVar[Bar | None] = None

    def __init__(
        self,
        screen: type[_Screen] | None = None,
        what: str = "",
        total: int | None = None,
        done: float = 0.0,
        *,
        share: bool = False,
        keep: bool = False,
    ) -> None:
        self._screen = screen
        self._what, self._total, self._share, self._keep = what, total, share, keep
        self.done = done
        self._note = ""
        self._next = time.monotonic() + AFTER
        self._drawn: tuple[_Screen, Progress] | None = None

    @property
    def is_due(self) -> bool:
        """Whether moving it would draw it."""
        return self._is_free and time.monotonic() >= self._next

    @property
    def _is_free(self) -> bool:
        return self._screen is not None and Bar._current in (None, self)

    def move(self, done: float | None = None, note: str | None = None) -> None:
        """So much is done now, and this is the note; None leaves one as it is."""
        self.done = self.done if done is None else done
        self._note = self._note if note is None else note
        if self.is_due:
            with self._while_it_is_seen():
                self._draw()
            self._next = time.monotonic() + EVERY

    def say(self, text: str) -> None:
        """Write a line above it."""
        if self._is_free:
            with self._while_it_is_seen():
                _, progress = self._drawn or self._draw()
                progress.console.print(text, markup=False, highlight=False)

    def end(self) -> None:
        """Draw how it ended, if it is drawn at all, and no more from now on."""
        if self._is_free and (self._keep or self._drawn):
            with self._while_it_is_seen():
                self._draw()
        self.rest()
        self._screen = None

    def rest(self) -> None:
        """Draw it no more until it has been moved for half a second again."""
        if self._drawn is not None:
            screen, progress = self._drawn
            with self._while_it_is_seen():
                screen.end(progress)
            Bar._current = self._drawn = None
        self._next = time.monotonic() + AFTER

    def over(self, items: Iterable[_T]) -> Iterator[_T]:
        """The items, each of which is done when the next one is asked for."""
        for place, item in enumerate(items):
            self.move(place)
            yield item

    @property
    def _count(self) -> str:
        if self._share:
            return f"{self.done:.0%}"
        return f"{self.done:,.0f}" if self._total is None else f"{self.done:,.0f}/{self._total:,}"

    @contextmanager
    def _while_it_is_seen(self) -> Iterator[None]:
        """A terminal that is gone ends the bar, and nothing else."""
        try:
            yield
        except OSError:
            self._screen = Bar._current = None

    def _draw(self) -> tuple[_Screen, Progress]:
        if self._drawn is None:
            assert self._screen is not None
            Bar._current = self
            self._drawn = self._screen(), _progress(self._what, self._total, keep=self._keep)
        screen, progress = self._drawn
        (task,) = progress.tasks
        progress.update(task.id, completed=self.done, count=self._count, note=self._note)
        screen.draw(progress)
        return self._drawn


@contextmanager
def bar(
    what: str,
    total: int | None = None,
    done: float = 0.0,
    *,
    share: bool = False,
    keep: bool = False,
) -> Iterator[Bar]:
    """A bar to move within; it is drawn if there is a place for it.

    Of a ``share`` the total is 1. One to ``keep`` stays on the terminal when it has ended, and is
    drawn even if that was at once.
    """
    made = Bar(_screen(), what, 1 if share else total, done, share=share, keep=keep)
    try:
        yield made
    finally:
        made.end()


def turn_off() -> None:
    """Draw none in this process and those that it starts."""
    os.environ[_OFF] = "0"


def _screen() -> type[_Screen] | None:
    """Where this thread may draw; None where nobody would see it, or the user wants none."""
    if os.environ.get(_OFF) == "0" or threading.current_thread() is not threading.main_thread():
        return None
    if sys.stderr is not None and sys.stderr.isatty():
        return None if os.environ.get("TERM") == "dumb" else _Terminal
    if _DISPLAY not in sys.modules:  # which every kernel has imported
        return None
    shell: Any = sys.modules["IPython"].get_ipython()
    return None if getattr(shell, "kernel", None) is None else _Notebook


class _Terminal:
    def draw(self, progress: Progress) -> None:
        progress.start()
        progress.refresh()

    def end(self, progress: Progress) -> None:
        progress.stop()


class _Notebook:
    """An output of the cell, which is drawn again in its place; it stays there."""

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(self, progress: Progress) -> None:
        if self._handle is None:
            self._handle = sys.modules[_DISPLAY].display(progress, display_id=True)
        else:
            self._handle.update(progress)

    def end(self, progress: Progress) -> None:
        pass


def _progress(what: str, total: int | None, *, keep: bool) -> Progress:
    from rich.console import Console  # only who sees a bar pays for rich
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}", markup=False),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[note]}", markup=False),
    )
    made = Progress(
        *columns,
        console=Console(stderr=True),
        auto_refresh=False,
        transient=not keep,
        redirect_stdout=False,  # what a program prints goes where it did
        redirect_stderr=False,
    )
    made.add_task(what, total=total, count="", note="")
    return made
