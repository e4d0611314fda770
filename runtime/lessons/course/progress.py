"""How far a person has come in each lesson, in one small file on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.fields import read_object
from gradwire.runtime.diagram.files.parsing import Flaw, parse
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.diagram.files.storage import replace_file, system_errors
from gradwire.runtime.diagram.files.user_folders import data_folder

FIELD = "gradwire_progress"
VERSION = 1
MAX_BYTES = 4 << 20
MAX_LESSONS = 2_000
"""Lessons that are remembered; beyond that the oldest are forgotten."""
_MAX_TITLE = 300


@dataclass(frozen=True)
class LessonProgress:
    """How far a person has come in one lesson: the last step that was shown (from 1 on), the most
    points that were reached, of how many, and whether the end was reached.
    """

    title: str
    done: bool = False
    best: float = 0.0
    of: float = 0.0
    last: int = 1

    def joined(self, later: LessonProgress) -> LessonProgress:
        """This and a later attempt together: what was reached once stays."""
        best = later if later.best >= self.best else self
        return LessonProgress(later.title, self.done or later.done, best.best, best.of, later.last)


class ProgressFile:
    """The progress in the file ``path``, which need not exist, by the digest of the lesson.

    A file with an error is moved aside before another is written in its place, never overwritten.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, LessonProgress]:
        """All progress, the latest last; raises FileError if the file can't be read."""
        with system_errors(self.path, "read"):
            try:
                data = read_regular(self.path, MAX_BYTES)
            except (FileNotFoundError, NotADirectoryError):
                return {}
        return _parsed(data, str(self.path))

    def of(self, digest: str, title: str = "") -> LessonProgress | None:
        """The progress in a lesson; else that in the latest lesson of the same title, which may
        have been another version of it. None if there is none, or none that can be read.
        """
        try:
            known = self.read()
        except FileError:
            return None
        if digest in known:
            return known[digest]
        return next((p for p in reversed(known.values()) if title and p.title == title), None)

    def put(self, digest: str, progress: LessonProgress) -> Path | None:
        """Add what was reached in a lesson. Returns the place to which a damaged file was moved.

        Raises FileError if the file can't be written.
        """
        aside = None
        try:
            known = self.read()
        except FileError:
            known, aside = {}, self._move_aside()
        before = known.pop(digest, None)
        known[digest] = progress if before is None else before.joined(progress)
        while len(known) > MAX_LESSONS:
            del known[next(iter(known))]
        self._write(known)
        return aside

    def _move_aside(self) -> Path | None:
        """Rename a damaged file; raises FileError if that is impossible."""
        for number in range(1, 1000):
            aside = self.path.with_name(f"{self.path.name}.damaged-{number}")
            if not os.path.lexists(aside):
                with system_errors(self.path, "move"):
                    os.rename(self.path, aside)
                return aside
        raise FileError("There are too many damaged files of progress.", path=str(self.path))

    def _write(self, known: Mapping[str, LessonProgress]) -> None:
        lessons = {
            digest: {
                "title": each.title[:_MAX_TITLE],
                "done": each.done,
                "best": each.best,
                "of": each.of,
                "last": each.last,
            }
            for digest, each in known.items()
        }
        text = json.dumps({FIELD: VERSION, "lessons": lessons}, indent=1)
        with system_errors(self.path, "write"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, (text + "\n").encode("utf-8"))


def user_file() -> Path:
    """Where the progress of whoever uses this machine is kept; GRADWIRE_PROGRESS is another
    place.
    """
    given = os.environ.get("GRADWIRE_PROGRESS")
    if given:
        return Path(given)
    folder = data_folder() or Path("~/.local/share/gradwire")  # in the working directory
    return folder / "progress.json"


def _parsed(data: bytes, path: str) -> dict[str, LessonProgress]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileError("The progress is not UTF-8 text.", path=path) from None
    document = parse(text, path)
    try:
        return _lessons(document)
    except Flaw as flaw:
        found = flaw
    raise found.in_text(text, path)


def _lessons(document: object) -> dict[str, LessonProgress]:
    record = read_object(document, ())
    if record.get(FIELD) != VERSION:
        raise Flaw((), "This is no file of progress.", expected=f'"{FIELD}": {VERSION}')
    lessons = read_object(record.get("lessons"), ("lessons",))
    return {digest: _progress(entry, ("lessons", digest)) for digest, entry in lessons.items()}


def _progress(value: object, path: tuple[str | int, ...]) -> LessonProgress:
    record = read_object(value, path)
    kinds: dict[str, tuple[type, ...]] = {
        "title": (str,), "done": (bool,), "best": (int, float), "of": (int, float), "last": (int,),
    }  # fmt: skip
    for key, kind in kinds.items():
        if type(record.get(key)) not in kind:
            raise Flaw(
                (*path, key) if key in record else path, f"{key!r} is not what it should be."
            )
    fields: dict[str, Any] = {key: record[key] for key in kinds}
    return LessonProgress(**fields)
