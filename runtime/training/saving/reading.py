"""Reads the curves of runs back: histories of ``gradwire train``, and curves that were exported."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from gradwire.blocks.errors import FileError
from gradwire.runtime.data.files.csv_text import unguarded
from gradwire.runtime.diagram.files.storage import text_of
from gradwire.runtime.training.curves import MOST, CurveRecording
from gradwire.runtime.training.history import History
from gradwire.runtime.training.saving.history_files import JSON_LINES

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
