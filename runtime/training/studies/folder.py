"""A study that is written to a folder as it goes, so that it can go on after being killed.

study.json         the settings of the study
trainings.jsonl    a line for each training that has ended
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, ValidationError

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.document_types import Record
from gradwire.runtime.diagram.files.parsing import parse
from gradwire.runtime.diagram.files.regular import open_regular
from gradwire.runtime.diagram.files.storage import replace_file, system_errors, text_of
from gradwire.runtime.training.saving.fingerprint import block_differences, differences, fingerprint
from gradwire.runtime.training.saving.locking import FolderLock
from gradwire.runtime.training.studies.files import Measure, Variant
from gradwire.runtime.training.studies.task import Trained

if TYPE_CHECKING:
    from types import TracebackType

    from gradwire.runtime.diagram import Diagram

SETTINGS, TRAININGS = "study.json", "trainings.jsonl"
_LONGEST_LINE = 1 << 24
"""Bytes of a line, at most."""
_SHOWN = 5
"""Differences that are named."""
_FLAGS = (os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
          | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0))  # fmt: skip


class StudySettings(Record):
    """What decides every number of a study."""

    report: Literal["study-settings"] = "study-settings"
    version: Literal[1] = 1
    varied: Mapping[str, tuple[object, ...]]
    measures: tuple[Measure, ...] = ()
    steps: int | None = None
    variants: Mapping[str, Variant] = Field(default_factory=dict)
    """Those of a study file."""
    recipe: Mapping[str, Any] | None = None
    diagram: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    """Digests of its blocks and wires, by page."""

    @classmethod
    def of(
        cls,
        diagram: Diagram,
        varied: Mapping[str, Sequence[object]],
        measures: Sequence[Measure],
        steps: int | None,
        variants: Mapping[str, Variant] | None = None,
    ) -> StudySettings:
        """The settings of a study of a diagram."""
        return cls(
            varied={name: tuple(values) for name, values in varied.items()},
            measures=tuple(measures),
            steps=steps,
            variants=variants or {},
            recipe=None if diagram.training is None else diagram.training.to_record(),
            diagram=fingerprint(diagram, values=True),
        )

    def differences(self, now: StudySettings) -> list[str]:
        """What differs in other settings, in a few words each."""
        before, after = self.model_dump(mode="json"), now.model_dump(mode="json")
        found = block_differences(before.pop("diagram"), after.pop("diagram"))
        return found + differences(before, after)


def stored_settings(folder: Path) -> StudySettings:
    """The settings of the study in a folder. Raises FileError."""
    path = folder / SETTINGS
    if not path.exists():
        raise FileError(
            "There is no study in this folder.",
            path=str(folder),
            next_step="Name the folder that --out named, or begin one with --out.",
        )
    try:
        return StudySettings.model_validate(parse(text_of(path), str(path)))
    except ValidationError:
        raise FileError("These are not the settings of a study.", path=str(path)) from None


class _Line(Record):
    """A line of the file: what is varied in a training, and how it ended."""

    settings: Mapping[str, object]
    result: Trained


class StudyFolder:
    """The trainings of a study in a folder, by what is varied in each.

    A context manager: within, no other process can train into the folder. Where the folder has
    a study already, it goes on if its settings are the same: ``done`` has what has ended, and
    ``notes`` tell. Raises FileError if the settings differ.
    """

    def __init__(self, folder: Path, settings: StudySettings) -> None:
        self.folder = folder
        self.notes: list[str] = []
        self.done: dict[str, Trained] = {}
        """What has ended and need not be trained again, by the key of its settings."""
        self._settings = settings
        self._lock = FolderLock(folder)
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        with system_errors(self.folder, "write"):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.take()
        try:
            if (self.folder / SETTINGS).exists():
                self._require_same()
            else:
                self._begin()
            self._open()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def append(self, settings: Mapping[str, object], result: Trained) -> None:
        """Write the line of a training that has ended, to the disk."""
        assert self._descriptor is not None, "the folder is entered"
        line = {"settings": settings, "result": plain(result)}
        data = f"{json.dumps(line, allow_nan=False)}\n".encode()
        with system_errors(self.folder / TRAININGS, "write"):
            left = memoryview(data)
            while left:
                left = left[os.write(self._descriptor, left) :]
            os.fsync(self._descriptor)

    def _begin(self) -> None:
        if (self.folder / TRAININGS).exists():
            raise FileError(
                "The folder has trainings of a study, and not its settings.",
                path=str(self.folder),
                next_step="Choose another folder.",
            )
        with system_errors(self.folder / SETTINGS, "write"):
            text = json.dumps(self._settings.model_dump(mode="json"), indent=1, allow_nan=False)
            replace_file(self.folder / SETTINGS, f"{text}\n".encode())

    def _require_same(self) -> None:
        """Raise FileError with what differs unless the study in the folder is this one."""
        found = stored_settings(self.folder).differences(self._settings)
        if found:
            more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise FileError(
                f"The study in this folder is another one: {'; '.join(found[:_SHOWN])}{more}.",
                path=str(self.folder),
                next_step="Choose another folder, or go on with the settings that it has.",
            )

    def _open(self) -> None:
        """Open the file of trainings after its last whole line, and read those that count."""
        path = self.folder / TRAININGS
        with system_errors(path, "read"):
            self._descriptor = os.open(path, _FLAGS, 0o666)
            whole = self._read(path)
            if os.fstat(self._descriptor).st_size > whole:
                os.ftruncate(self._descriptor, whole)
                self.notes.append("The last line of a training was cut off, so it is done again.")
        if self.done:
            count = len(self.done)
            what = "1 training has" if count == 1 else f"{count:,} trainings have"
            self.notes.insert(0, f"The study goes on: {what} ended already.")

    def _read(self, path: Path) -> int:
        """The bytes of all whole lines. A training that failed is to be done again."""
        whole = number = 0
        with open_regular(path) as file:
            while line := file.readline(_LONGEST_LINE):
                number += 1
                if not line.endswith(b"\n"):
                    if len(line) == _LONGEST_LINE:
                        raise FileError("The line is too long.", path=str(path), line=number)
                    break
                whole += len(line)
                found = _parsed(line, path, number)
                self.done.pop(key(found.settings), None)
                if found.result.status != "failed":
                    self.done[key(found.settings)] = found.result
        return whole

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._lock.release()


def key(settings: Mapping[str, object]) -> str:
    """The settings of a training as a text, the same for equal ones."""
    return json.dumps(settings, sort_keys=True)


def plain(result: Trained) -> dict[str, object]:
    """How a training ended, as JSON; what is not finite as a word."""

    def words(value: object) -> object:
        if isinstance(value, float) and value - value != 0.0:
            return str(value)
        if isinstance(value, dict):
            return {name: words(item) for name, item in value.items()}
        return [words(item) for item in value] if isinstance(value, list | tuple) else value

    return {name: words(value) for name, value in result.model_dump().items()}


def _parsed(line: bytes, path: Path, number: int) -> _Line:
    try:
        return _Line.model_validate(json.loads(line))
    except (ValidationError, ValueError, RecursionError):
        raise FileError(
            "This is not a training of a study.", path=str(path), line=number,
            next_step="Remove the line, and the training is done again.",
        ) from None  # fmt: skip
