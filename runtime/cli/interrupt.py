"""What Ctrl-C does to a command: it ends at once, or after what it is about to finish."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gradwire.runtime.cli.output import INTERRUPTED

if TYPE_CHECKING:
    import socket


def exit_on_interrupt() -> None:
    """End the process on Ctrl-C from now on, whatever the main thread is doing, even inside a
    kernel that takes a minute.

    Python calls handlers between two of its own instructions, so never inside a kernel. The system
    writes to the socket at once, and a thread waits there.
    """
    import socket  # slow to import, and needed by no help and no window

    reading, writing = socket.socketpair()
    writing.setblocking(False)
    signal.set_wakeup_fd(writing.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, lambda number, frame: None)
    threading.Thread(target=_wait, args=(reading,), name="interrupt", daemon=True).start()


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C is remembered, and ends the process at once when it is pressed again."""
    pressed = False

    def press(number: int, frame: object) -> None:
        nonlocal pressed
        if pressed:
            os._exit(INTERRUPTED)
        pressed = True

    try:
        before = signal.signal(signal.SIGINT, press)
    except ValueError:  # not in the main thread
        yield lambda: False
        return
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _wait(reading: socket.socket) -> None:
    while written := reading.recv(1):
        if signal.SIGINT in written:
            with suppress(OSError):  # standard error may be closed
                os.write(2, b"gradwire: cancelled\n")
            os._exit(INTERRUPTED)
