"""Starting the editor, or saying why it can't start."""

from __future__ import annotations

import sys
from pathlib import Path

from blocks.errors import RunError
from runtime.cli.display import why_no_window

ABOUT_ONE_FRAME = 0.002
"""Seconds a computing thread keeps the interpreter before the window gets its turn."""


def run(path: Path | None) -> int:
    """Open the editor, with a file if one is given, until its window is closed; the exit code.

    Raises RunError, and points to the headless command, where no window can open.
    """
    if reason := why_no_window(unseen=True):
        raise RunError(reason, next_step=f"Without the editor: gradwire run {path or 'FILE'}")
    # Qt is imported only now that it is known to be there.
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QApplication

    QApplication.setHighDpiScaleFactorRoundingPolicy(
        Qt.HighDpiScaleFactorRoundingPolicy.PassThrough
    )
    QApplication.setApplicationName("Gradwire")
    QApplication.setOrganizationName("Gradwire")
    QApplication.setDesktopFileName("gradwire")
    application = QApplication.instance() or QApplication(sys.argv[:1])
    sys.setswitchinterval(ABOUT_ONE_FRAME)
    from app.main_window import MainWindow

    window = MainWindow()
    window.show()
    if path is not None:
        window.document.open(path)
    return application.exec()
