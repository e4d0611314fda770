"""Starts the editor, or reports why it can't start."""

from __future__ import annotations

import atexit
import builtins
import gc
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import RunError
from gradwire.runtime import progress_bars
from gradwire.runtime.cli.display import why_no_window

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from gradwire.app.shell.windows import OpenWindows

BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables that set the number of threads."""

THREADS = ("worker", "work")
"""The names of threads that compute for a window."""

TURN = 0.002
"""Seconds after which a computing thread yields the interpreter to the window."""


def run(path: Path | None) -> int:
    """Run the editor, with a file if one is given, and return its exit code.

    Raises RunError, which names the headless command, if no window can open.
    """
    if reason := why_no_window(unseen=True):
        raise RunError(reason, next_step=f"Without the editor: gradwire run {path or 'FILE'}")
    progress_bars.turn_off()  # a window shows progress itself
    gc.disable()  # until GarbageCollector takes over: nothing that is imported is garbage
    # Import Qt only now that it is known to be available.
    from gradwire.app.services import typeface

    typeface.preload()
    from PySide6.QtGui import QIcon
    from PySide6.QtWidgets import QApplication

    QApplication.setApplicationName("Gradwire")
    QApplication.setDesktopFileName("gradwire")
    _import_plainly()
    application = QApplication(sys.argv[:1])
    from gradwire.app.services.examples import ASSETS
    from gradwire.app.services.garbage import GarbageCollector
    from gradwire.app.services.settings import Settings
    from gradwire.app.services.translation import install
    from gradwire.app.shell import main_window  # noqa: F401  # or what it imports is taken for new objects
    from gradwire.app.shell.windows import OpenWindows

    install(application)
    QApplication.setWindowIcon(QIcon(str(ASSETS / "icons" / "gradwire.svg")))
    sys.setswitchinterval(TURN)
    _spare_cores()
    GarbageCollector(application)
    windows = OpenWindows(Settings())
    sys.excepthook = _hook(windows)
    if sys.platform == "darwin":
        from gradwire.app.shell.opened_files import OpenedFiles

        OpenedFiles(windows, application)
    window = windows.new(path)
    if not typeface.is_carried():
        window.document.problem.emit(_without_typeface())
    windows.offer_recovery()
    return _left(application.exec())


def _left(code: int) -> int:
    """Return the exit code; while a thread still computes what nobody waits for, end at once.

    When the interpreter ends, it breaks off such a thread wherever that is, and aborts the process
    if that is in C++.
    """
    if any(each.name in THREADS and each.is_alive() for each in threading.enumerate()):
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _import_plainly() -> None:
    """Import without what PySide6 puts around it: for a feature that nothing here uses, it reads
    the source of all that is imported.
    """
    builtins.__import__ = vars(builtins).get("__orig_import__", builtins.__import__)


def _without_typeface() -> str:
    """What to do about a typeface that is missing."""
    from gradwire.app.services.translation import editor
    from gradwire.app.services.typeface import PACKAGE, TEXT

    return editor.tr(
        "The typeface {0} is not installed, so text and pictures look different on each computer. "
        "Install it with: pip install {1}"
    ).format(TEXT, PACKAGE)


def _spare_cores() -> None:
    """Use one thread for arithmetic unless the user chose a number: others starve the window."""
    from threadpoolctl import threadpool_limits

    from gradwire.runtime.engine.plan import threads

    if not any(name in os.environ for name in BLAS_THREADS):
        threadpool_limits(1, user_api="blas")
        threads.limit(1)


def _hook(
    windows: OpenWindows,
) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    """A hook that shows uncaught exceptions in the window, and keeps the editor running."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            windows.close_all()
            return
        traceback.print_exception(kind, error, trace)
        from gradwire.app.services.translation import editor

        text = editor.tr(
            "Internal error ({0}: {1}). The diagram is unchanged; see the terminal for details."
        )
        if windows.listed:  # or the last one has just been closed
            windows.active().document.problem.emit(text.format(kind.__name__, error))

    return show
