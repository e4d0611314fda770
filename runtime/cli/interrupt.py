"""What Ctrl-C does to a command: it ends at once, or after what it is about to finish; and what
other signals that ask a process to end do to one that has something to write first.
"""

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


_ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
"""Signals that ask a process to end, each where the system has it: Ctrl-C, of ``kill`` and of batch
systems, of a terminal that closes, Ctrl-Break."""


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
    """Within, Ctrl-C is remembered, and ends the process at once when it is pressed again.

    A signal to end, or that the terminal is gone, is remembered like the first Ctrl-C, however
    often it comes; one that is ignored, as ``nohup`` has it, stays ignored.
    """
    asked: set[int] = set()

    def ask(number: int, frame: object) -> None:
        if number == signal.SIGINT and number in asked:
            os._exit(INTERRUPTED)
        asked.add(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    numbers = [getattr(signal, name) for name in _ENDINGS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    before = {number: how for number, how in before.items() if how is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, ask)
    try:
        yield lambda: bool(asked)
    finally:
        for number, how in before.items():
            signal.signal(number, how)


def _wait(reading: socket.socket) -> None:
    while written := reading.recv(1):
        if signal.SIGINT in written:
            with suppress(OSError):  # standard error may be closed
                os.write(2, b"gradwire: cancelled\n")
            os._exit(INTERRUPTED)
