"""Gathers the data files of a diagram in the folder of its file."""

from __future__ import annotations

import filecmp
import os
import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError
from gradwire.runtime.data.files.access import located
from gradwire.runtime.diagram.files.data_paths import led_from, with_data_paths
from gradwire.runtime.diagram.files.storage import system_errors

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Diagram

DATA = "data"
"""The folder for data files beside the diagram's file."""


def with_data_inside(diagram: Diagram, folder: Path) -> Diagram:
    """The diagram for a file in ``folder``, which holds all of its data files.

    Those that lie elsewhere get a hard link in ``folder/data`` or, where the file system has none,
    a copy. So it opens without being allowed any other file. Nothing is overwritten. What
    is missing, or the diagram may not read, stays where it is. Raises FileError.
    """
    home = Path(os.path.realpath(folder))

    def bring(path: str) -> str:
        try:
            real = located(path, diagram.folder)
        except FileError:
            real = None
        if real is None or not real.is_file():
            return path if diagram.folder is None else led_from(home, path, diagram.folder)
        with system_errors(home / DATA, "write"):
            place = real if real.is_relative_to(home) else _brought(real, home / DATA)
        return place.relative_to(home).as_posix()

    return replace(with_data_paths(diagram, bring), folder=home)


def _brought(real: Path, folder: Path) -> Path:
    """A link to a file, or a copy of it, in ``folder``: the one there is, or a new one."""
    folder.mkdir(exist_ok=True)
    if folder.is_symlink():
        raise FileError("This folder is a link.", path=str(folder))
    for number in count(1):
        place = folder / f"{real.stem}{'' if number == 1 else f'-{number}'}{real.suffix}"
        if place.is_symlink() or place.exists():
            if not place.is_symlink() and place.is_file() and filecmp.cmp(real, place):
                break
            continue
        try:
            os.link(real, place)
        except OSError:  # of a file system without links, or between two
            shutil.copy2(real, place)
        break
    return place
