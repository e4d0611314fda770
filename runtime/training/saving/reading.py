"""Reads the curves of runs back: histories of ``gradwire train``, and curves that were exported."""

from __future__ import annotations

import csv
import hashlib
import math
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError
from gradwire.runtime.data.files.csv_text import unguarded
from gradwire.runtime.diagram.files.storage import system_errors, text_of
from gradwire.runtime.training.curves import MOST, CurveRecording
from gradwire.runtime.training.history import History, csv_header, csv_line, json_line

if TYPE_CHECKING:
    from gradwire.runtime.training.records import StepRecord


# The files of a history, in which a killed process leaves no row torn or twice after a resume.

HISTORIES = JSON_LINES, CSV = "history.jsonl", "history.csv"
_SECONDS = 0.5
"""After so long, rows are written at the latest."""
_ROWS = 1000
"""So many rows are written at once at the latest."""
_CHUNK = 1 << 20
_FLAGS = sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))


class HistoryFiles:
    """A JSON Lines file and a CSV file with a row for each iteration.

    Rows are written in batches. ``sync`` returns how far the files got, which goes into the
    checkpoint; ``go_on`` cuts off what came after it. Raises FileError for files that can't be
    written, and for links and pipes in their place.
    """

    def __init__(self, folder: Path, columns: Iterable[str]) -> None:
        self._columns = tuple(columns)
        self._files = [_Growing(folder / name) for name in (JSON_LINES, CSV)]
        self._waiting: list[tuple[int, Mapping[str, float | None]]] = []
        self._written_at = time.monotonic()

    def exist(self) -> bool:
        """Whether there is something under the name of one of the files."""
        return any(os.path.lexists(file.path) for file in self._files)

    def begin(self) -> None:
        """Make empty files, with the header of the CSV file."""
        for file in self._files:
            file.open(os.O_CREAT)
            file.cut(0)
        self._files[1].write(csv_header(self._columns))

    def go_on(self, position: object) -> None:
        """Open the files as they were at a position that ``sync`` returned.

        Raises FileError if they are shorter, or were changed before it.
        """
        for file in self._files:
            file.open(0)
            file.require(_stated(position, file.path))
        for file in self._files:
            file.cut(file.size)

    def copy(self, folder: Path, position: object) -> None:
        """Begin with the rows of a history in another folder, up to a position."""
        for file in self._files:
            other = _Growing(folder / file.path.name)
            try:
                other.open(0, reading=True)
                other.require(_stated(position, other.path))
                file.open(os.O_CREAT)
                file.cut(0)
                for chunk in other.content():
                    file.write_bytes(chunk)
            finally:
                other.close()

    def append(self, record: StepRecord) -> None:
        """Add a row."""
        self._waiting.append((record.step, record.columns()))
        if len(self._waiting) >= _ROWS or time.monotonic() - self._written_at > _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        rows, self._waiting = self._waiting, []
        self._written_at = time.monotonic()
        if rows:
            lines, cells = self._files
            lines.write("".join(json_line(step, numbers) for step, numbers in rows))
            cells.write("".join(csv_line(self._columns, step, numbers) for step, numbers in rows))

    def sync(self) -> dict[str, object]:
        """Write all rows to disk; returns the position, as plain JSON."""
        self.flush()
        for file in self._files:
            file.sync()
        return {
            file.path.name: {"bytes": file.size, "sha256": file.digest.hexdigest()}
            for file in self._files
        }

    def close(self) -> None:
        """Write the rows that wait, if that is possible, and close the files."""
        with suppress(FileError):
            self.flush()
        for file in self._files:
            file.close()


class _Growing:
    """A file that grows, with the size and the digest of all that was written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.digest = hashlib.sha256()
        self._descriptor: int | None = None

    @property
    def _open(self) -> int:
        assert self._descriptor is not None, "the file is open"
        return self._descriptor

    def open(self, flags: int, *, reading: bool = False) -> None:
        """Open it, unless it is something else than a regular file of one name."""
        self.close()
        with system_errors(self.path, "read" if reading else "write"):
            flags |= _FLAGS | (os.O_RDONLY if reading else os.O_RDWR)
            self._descriptor = os.open(self.path, flags, 0o666)
            status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            self.close()
            raise FileError(
                "This is not a file that a training may write.",
                path=str(self.path),
                expected="a regular file with one name",
            )

    def require(self, stated: tuple[int, str]) -> None:
        """Read what was written up to a position; raises FileError if it is not there."""
        self.size, digest = stated
        self.digest = hashlib.sha256()
        for chunk in self.content():
            self.digest.update(chunk)
        if self.digest.hexdigest() != digest:
            raise FileError(
                "The history is not that of the checkpoint: it is shorter, or was changed.",
                path=str(self.path),
                next_step="Resume into another folder, where a new history begins.",
            )

    def content(self) -> Iterable[bytes]:
        """The bytes up to the size."""
        with system_errors(self.path, "read"):
            os.lseek(self._open, 0, os.SEEK_SET)
            left = self.size
            while left and (chunk := os.read(self._open, min(left, _CHUNK))):
                left -= len(chunk)
                yield chunk

    def cut(self, size: int) -> None:
        """Remove everything behind a position, which is the end from now on."""
        with system_errors(self.path, "write"):
            os.ftruncate(self._open, size)
            os.lseek(self._open, size, os.SEEK_SET)
        if size == 0:
            self.size, self.digest = 0, hashlib.sha256()

    def write(self, text: str) -> None:
        self.write_bytes(text.encode())

    def write_bytes(self, data: bytes) -> None:
        """Append bytes."""
        with system_errors(self.path, "write"):
            left = memoryview(data)
            while left:
                left = left[os.write(self._open, left) :]
        self.size += len(data)
        self.digest.update(data)

    def sync(self) -> None:
        with system_errors(self.path, "write"):
            os.fsync(self._open)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _stated(position: object, path: Path) -> tuple[int, str]:
    """The size and digest that a checkpoint states for a file."""
    about = position.get(path.name) if isinstance(position, Mapping) else None
    match about:
        case {"bytes": int() as size, "sha256": str() as digest} if (
            not isinstance(size, bool) and 0 <= size < 1 << 62
        ):
            return size, digest
    raise FileError("The checkpoint does not say how far its history goes.", path=str(path))


MOST_RUNS = 64
"""Runs that one file may have."""
_LEAST, _LARGEST = " least", " largest"
_LONGEST_FIELD = 1 << 16
"""Characters of a cell of a CSV file, at most."""
_OTHERS = ("lr/", "grad_norm/", "gradient/", "update/", "dead/")
_VALIDATION = "validation/"


def read_recordings(path: str | Path) -> list[CurveRecording]:
    """The runs in a file: ``history.jsonl`` or ``history.csv`` of a training, or the CSV file of
    exported curves; or in the folder of a training.

    A file is CSV if its name ends so, and else JSON Lines. A run without a name is called as its
    file, or as the folder of a training. Raises FileError with the line.
    """
    path = Path(path)
    if path.is_dir():
        path = path / JSON_LINES
    if path.suffix.lower() == ".csv":
        found = _read_csv(path)
    else:
        found = [_of_history(History.read(path))]
    found = [recording for recording in found if recording.names]
    if not found:
        raise FileError("There are no numbers of a run.", path=str(path), expected="a history")
    for recording in found:
        recording.name = recording.name or _name_of(path)
        recording.losses = _losses(recording)
    return found


def _of_history(history: History) -> CurveRecording:
    made = CurveRecording()
    for step, numbers in history.rows():
        made.add(step, numbers)
    return made


def _read_csv(path: Path) -> list[CurveRecording]:
    rows = _rows(path)
    number, header = next(rows, (1, []))
    has_runs = header[:1] == ["run"]
    names = [*map(unguarded, header[1 + has_runs :])]
    if header[has_runs : has_runs + 1] != ["step"] or not names:
        raise _bad(path, number, "its first line is not a header", "step,loss.out,… or run,step,…")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise _bad(path, number, f"the column {twice[:80]!r} is there twice", "a name for each")
    if len(names) > 3 * MOST:
        raise _bad(path, number, f"it has {len(names):,} columns", f"at most {3 * MOST:,}")
    found: dict[str, CurveRecording] = {}
    for number, cells in rows:
        if len(cells) != len(header):
            raise _bad(path, number, f"it has {len(cells)} cells", f"{len(header)}")
        run = unguarded(cells[0]) if has_runs else ""
        step = _step(path, number, cells[has_runs])
        if run not in found:
            if len(found) == MOST_RUNS:
                raise _bad(path, number, "it begins one run too many", f"at most {MOST_RUNS}")
            found[run] = CurveRecording(run)
        elif step <= found[run].step:
            raise _bad(path, number, f"step {step} is not after the one before", "steps that grow")
        numbers = {
            name: _number(path, number, name, cell)
            for name, cell in zip(names, cells[1 + has_runs :], strict=True)
            if cell
        }
        found[run].add(step, *_ranges(numbers))
        found[run].step = step
    return [*found.values()]


def _ranges(
    numbers: dict[str, float],
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """The numbers of curves, and of those that are means the least and the largest."""
    ranges = {}
    for name in numbers:
        if name + _LEAST in numbers and name + _LARGEST in numbers:
            ranges[name] = numbers[name + _LEAST], numbers[name + _LARGEST]
    parts = {name + end for name in ranges for end in (_LEAST, _LARGEST)}
    return {name: number for name, number in numbers.items() if name not in parts}, ranges


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV file that are not empty, with their numbers."""
    text = text_of(path)
    limit = csv.field_size_limit(_LONGEST_FIELD)
    try:
        reader = csv.reader(text.splitlines(keepends=True), strict=True)
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise _bad(path, reader.line_num, f"it is not CSV ({error})", "cells") from None
            if row:
                yield reader.line_num, row
    finally:
        csv.field_size_limit(limit)


def _step(path: Path, line: int, cell: str) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) <= 18):
        raise _bad(
            path, line, f"{cell[:80]!r} is not a step", "a number of iterations, such as 100"
        )
    return int(cell)


def _number(path: Path, line: int, name: str, cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = None
    if number is None or "_" in cell or (math.isinf(number) and "inf" not in cell.lower()):
        why = f"{cell[:80]!r} in the column {name[:80]!r} is not a number"
        raise _bad(path, line, why, "a number, such as 0.5")
    return number


def _losses(recording: CurveRecording) -> tuple[str, ...]:
    """The curves that are losses: a training names them before the rates of its optimisers.

    Where there are no rates, those that were validated, or the first one.
    """
    names = recording.names
    if any(name.startswith("lr/") for name in names):
        return tuple(takewhile(lambda name: not name.startswith(_OTHERS), names))
    validated = {name.removeprefix(_VALIDATION) for name in names if name.startswith(_VALIDATION)}
    plain = [name for name in names if not name.startswith((*_OTHERS, _VALIDATION))]
    return tuple(name for name in plain if name in validated) or tuple(plain[:1])


def _name_of(path: Path) -> str:
    """What a run is called after its file."""
    stem = path.stem
    return path.absolute().parent.name or stem if stem == Path(JSON_LINES).stem else stem


def _bad(path: Path, line: int, why: str, expected: str) -> FileError:
    return FileError(
        f"This is not a line of a history: {why}.", path=str(path), line=line, expected=expected
    )
