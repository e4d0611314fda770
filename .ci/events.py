"""A hand on the X display, and a script for it that waits until the editor has followed."""

from __future__ import annotations

import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, QPoint, QTimer

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

TICK = 20
"""Milliseconds between two looks at what is awaited."""
REACTION = 0.06
"""Seconds that the display and the window manager have before anything is awaited."""
PATIENCE = 60.0
"""Seconds after which what is awaited is taken for a failure."""
STRIDES = 8
"""Movements of the pointer in one drag."""


class Awaited(NamedTuple):
    """What a script waits for."""

    what: str
    is_there: Callable[[], bool]


Script = Iterator[Awaited]


def complain(text: str) -> None:
    """Report a failure."""
    print(text, file=sys.stderr, flush=True)


def _send(*words: object) -> None:
    subprocess.run(["xdotool", *map(str, words)], check=True, timeout=60)


def press(*keys: str) -> None:
    """Press and release keys, such as ``ctrl+z``, where the focus is."""
    _send("key", "--delay", 20, *keys)


def write(text: str) -> None:
    """Type a text where the focus is."""
    _send("type", "--delay", 20, text)


def point(widget: QWidget, at: QPoint) -> None:
    """Move the pointer to a place of a widget."""
    there = widget.mapToGlobal(at)
    _send("mousemove", there.x(), there.y())


def click(widget: QWidget, at: QPoint | None = None) -> None:
    """Press a place of a widget, or its middle."""
    point(widget, widget.rect().center() if at is None else at)
    time.sleep(0.02)
    _send("click", 1)


def drag(source: QWidget, start: QPoint, target: QWidget, end: QPoint) -> Script:
    """Press, move and release, as the editor follows."""
    first, last = source.mapToGlobal(start), target.mapToGlobal(end)
    _send("mousemove", first.x(), first.y())
    yield followed("the pointer")
    _send("mousedown", 1)
    yield followed("the press")
    for stride in range(1, STRIDES + 1):
        at = first + (last - first) * stride / STRIDES
        _send("mousemove", at.x(), at.y())
        yield followed("the drag")
    _send("mouseup", 1)


def followed(what: str) -> Awaited:
    """Nothing but the time that the display needs."""
    return Awaited(what, lambda: True)


class Player(QObject):
    """Plays a script in the event loop of the editor, loops of dialogs and drags included."""

    def __init__(self, script: Script, ended: Callable[[], None]) -> None:
        super().__init__()
        self._script, self._ended = script, ended
        self._awaited = followed("the beginning")
        self._since = time.monotonic()
        self._timer = QTimer(self, interval=TICK)
        self._timer.timeout.connect(self._go_on)
        self._timer.start()

    def _go_on(self) -> None:
        waited = time.monotonic() - self._since
        if waited < REACTION:
            return
        try:
            if self._awaited.is_there():
                self._awaited = next(self._script)
            elif waited > PATIENCE:
                what = f"not there after {PATIENCE:.0f} s: {self._awaited.what}"
                self._awaited = self._script.throw(TimeoutError(what))
            else:
                return
        except StopIteration:
            self._timer.stop()
            self._ended()
        except Exception:  # any fault of the script or the editor is told, and ends the script
            self._timer.stop()
            traceback.print_exc()
            self._ended()
        self._since = time.monotonic()
