"""Pages of a lesson for a class: names from a list, a file for each, all written or none."""

from __future__ import annotations

import os
import secrets
import shutil
from errno import EISDIR
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.publish.living.lesson import Exercise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gradwire.runtime.diagram.files.storage import Pulse

_LONGEST = 1_000_000
_NAME_LETTERS = 40
MOST_PAGES = 500
"""Pages that a class may have; a larger one shares a page."""


def names_in(text: str) -> tuple[str, ...]:
    """The names in a text, one a line; empty lines are left out."""
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def read_names(file: Path) -> tuple[str, ...]:
    """The names in a list in UTF-8. Raises FileError if it can't be read, or has none."""
    try:
        text = read_regular(file, _LONGEST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{file}: the names can't be read: {error}.") from None
    names = names_in(text)
    if not names:
        raise FileError(f"{file} has no names.", expected="one name a line")
    return names


def exercise_files(
    path: Path, learners: Sequence[str] = (), count: int = 0
) -> dict[Path, Exercise]:
    """A page for each learner, or else ``count`` pages: the file of each, beside ``path``.

    Seeds are those of a page for all of them: the first has 1. Files begin with the stem of
    ``path`` and the seed, so that no two are the same on any file system.
    """
    count = len(learners) or count
    found = {}
    for seed in range(1, count + 1):
        parts = [path.stem, f"{seed:0{len(str(count))}}", *map(_plain, learners[seed - 1 : seed])]
        found[path.with_name("-".join(filter(None, parts)) + path.suffix)] = Exercise(seed)
    return found


def write_together(pages: Mapping[Path, Callable[[], str]], pulse: Pulse) -> None:
    """Write files of one folder: all of them or, on any error, none. ``pulse`` may cancel it.

    They are written to a folder of their own and then renamed; those that they replace come back
    if a later one can't be renamed. Raises OSError.
    """
    folder = next(iter(pages)).parent
    made = folder / f".gradwire-{secrets.token_hex(8)}.tmp"
    made.mkdir()
    try:
        for number, (path, html) in enumerate(pages.items()):
            pulse(number / len(pages))
            (made / path.name).write_text(html(), encoding="utf-8", newline="\n")
        pulse(1.0)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    _place(list(pages), made)
    shutil.rmtree(made, ignore_errors=True)


def _place(paths: list[Path], made: Path) -> None:
    """Rename files of ``made`` to ``paths``. If that fails, all is as before, without ``made``."""
    before = made / "before"
    before.mkdir()
    placed: list[Path] = []
    try:
        for path in paths:
            if path.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
            if path.exists():
                os.replace(path, before / path.name)
            placed.append(path)
            os.replace(made / path.name, path)
    except BaseException:
        for path in placed:
            path.unlink(missing_ok=True)
            if (before / path.name).exists():
                os.replace(before / path.name, path)
        shutil.rmtree(made, ignore_errors=True)
        raise


def _plain(name: str) -> str:
    """A name as a part of the name of a file."""
    safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in name[:_NAME_LETTERS])
    return safe.strip("_")
