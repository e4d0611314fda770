"""Ends a command at once on Ctrl-C, even inside a kernel that takes a minute."""

from __future__ import annotations

import os
import signal
import socket
import threading
from contextlib import suppress

from runtime.cli.output import INTERRUPTED


def exit_on_interrupt() -> None:
    """End the process on Ctrl-C from now on, whatever the main thread is doing.

    Python calls handlers between two of its own instructions, so never inside a kernel. The system
    writes to the socket at once, and a thread waits there.
    """
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    signal.set_wakeup_fd(writing.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, lambda number, frame: None)
    threading.Thread(target=_wait, args=(reading,), name="interrupt", daemon=True).start()


def _wait(reading: socket.socket) -> None:
    while written := reading.recv(1):
        if signal.SIGINT in written:
            with suppress(OSError):  # standard error may be closed
                os.write(2, b"gradwire: cancelled\n")
            os._exit(INTERRUPTED)
