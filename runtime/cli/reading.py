"""What ``train`` and ``study`` say and allow when they read data files."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from gradwire.runtime.cli.output import UsageError
from gradwire.runtime.data.files.access import allow_data
from gradwire.runtime.data.progress import listening
from gradwire.runtime.diagram.files.regular import answered
from gradwire.runtime.publish.printable import visible

AllowedData: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-data",
        parser=Path,
        metavar="DIR",
        help="Let the diagram read data files in this folder and in those inside, although they "
        "lie outside of its own. May be repeated.",
        show_default=False,
    ),
]
_AFTER, _EVERY = 0.3, 0.1
"""Seconds after which progress is shown, and between two times that it is."""


def allow_folders(folders: Sequence[Path] | None) -> None:
    """Allow what ``--allow-data`` names; raises UsageError for what is no folder."""
    for folder in folders or ():
        if not answered(folder, folder.is_dir):
            raise UsageError(f"--allow-data {folder}: this is not a folder.")
        allow_data(folder)


@contextmanager
def shown_reading() -> Iterator[None]:
    """Within, a line on the terminal says how far the reading of a large data file is.

    Ctrl-C ends the reading.
    """
    if not sys.stderr.isatty():
        yield
        return
    line = _Line()
    with listening(line.show):
        try:
            yield
        finally:
            line.clear()


class _Line:
    """One line of the terminal that is written again and again."""

    def __init__(self) -> None:
        self._name, self._began, self._shown = "", 0.0, 0.0
        self._length = 0

    def show(self, name: str, fraction: float) -> None:
        now = time.monotonic()
        if name != self._name:
            self._name, self._began = name, now
        if fraction >= 1.0:
            self.clear()
        elif now - self._began > _AFTER and now - self._shown > _EVERY:
            self._shown = now
            text = visible(f"Reading {name}: {fraction:.0%}")
            self._write(text.ljust(self._length))
            self._length = len(text)

    def clear(self) -> None:
        if self._length:
            self._write(" " * self._length + "\r")
            self._name, self._length = "", 0

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text)
        sys.stderr.flush()
