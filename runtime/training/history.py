"""The history of a training: numbers by column and iteration, in memory and in files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.errors import FileError
from gradwire.runtime.data.files.csv_text import csv_text
from gradwire.runtime.diagram.files.regular import open_regular
from gradwire.runtime.diagram.files.storage import system_errors

if TYPE_CHECKING:
    from gradwire.blocks.values import Json
    from gradwire.runtime.training.records import StepRecord

CAPACITY = 65_536
"""Iterations that a history remembers, unless told otherwise."""
_FIRST = 256
"""Iterations for which there is room at first."""
_LONGEST_LINE = 1 << 20
"""Bytes of a line of a history file, at most."""
_MOST_COLUMNS = 10_000
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class _Column:
    """Numbers by row, and which of them exist: a number that is not there is not 0."""

    def __init__(self, rows: int) -> None:
        self.numbers = np.zeros(rows)
        self.present = np.zeros(rows, bool)

    def resize(self, rows: int) -> None:
        self.numbers = np.resize(self.numbers, rows)
        self.present = np.resize(self.present, rows)


class History:
    """Numbers of a training by column: losses and watched ports under their names, the rates and
    gradient norms of optimisers as ``lr/NAME`` and ``grad_norm/NAME``, and losses on validation
    rows as ``validation/LOSS``.

    Memory is bounded: once ``capacity`` iterations are there, every second one is dropped, and from
    then on only every second one is added, and so on; ``stride`` says of how many iterations one is
    kept. ``last`` is always the last one.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = max(2, capacity)
        self.stride = 1
        self.last: dict[str, float | None] = {}
        """The numbers of the last iteration, by column."""
        self._steps: NDArray[np.int64] = np.zeros(_FIRST, np.int64)
        self._columns: dict[str, _Column] = {}
        self._count = 0
        self._seen = 0
        self._latest = 0

    def __len__(self) -> int:
        """The number of iterations that are remembered."""
        return self._count

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order in which they first appeared."""
        return tuple(self._columns)

    @property
    def steps(self) -> NDArray[np.int64]:
        """The numbers of the iterations that are remembered."""
        return self._steps[: self._count].copy()

    def append(self, record: StepRecord) -> None:
        """Add an iteration."""
        self.add(record.step, record.columns())

    def add(self, step: int, numbers: Mapping[str, float | None]) -> None:
        """Add an iteration by its number; None is the same as not being there."""
        self.last = dict(numbers)
        self._seen += 1
        if (self._seen - 1) % self.stride:
            return
        if self._count == self.capacity:
            self._thin()
            if (self._seen - 1) % self.stride:
                return
        if self._count == len(self._steps):
            self._grow()
        row = self._count
        self._steps[row] = step
        for name, number in numbers.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = _Column(len(self._steps))
            column.present[row] = number is not None
            column.numbers[row] = 0.0 if number is None else number
        for name in self._columns.keys() - numbers.keys():
            self._columns[name].present[row] = False
        self._count += 1

    def series(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The iterations in which a column has a number, and these; raises KeyError for no
        column.
        """
        column = self._columns[name]
        present = column.present[: self._count]
        return self._steps[: self._count][present], column.numbers[: self._count][present]

    def truncate(self, step: int) -> None:
        """Forget the iterations after ``step``: a training goes on from there."""
        self._count = int(np.searchsorted(self._steps[: self._count], step, side="right"))
        self._seen = self._count * self.stride
        self.last = dict(self._row(self._count - 1)) if self._count else {}

    def rows(self) -> Iterator[tuple[int, dict[str, float | None]]]:
        """The iterations that are remembered, each with its numbers by column."""
        for row in range(self._count):
            yield int(self._steps[row]), self._row(row)

    def csv(self) -> str:
        """The text of a CSV file: a header, and a line for each iteration."""
        return csv_header(self.names) + "".join(
            csv_line(self.names, step, numbers) for step, numbers in self.rows()
        )

    def json_lines(self) -> str:
        """The text of a JSON Lines file: an object for each iteration."""
        return "".join(json_line(step, numbers) for step, numbers in self.rows())

    @classmethod
    def read(cls, path: str | Path, capacity: int = CAPACITY) -> History:
        """The history in a JSON Lines file, as a run writes it. Raises FileError with the line.

        A last line without its end, which a run that was killed may leave, is left out.
        """
        history = cls(capacity)
        with system_errors(Path(path), "read"), open_regular(Path(path)) as file:
            number = 0
            while line := file.readline(_LONGEST_LINE):
                number += 1
                if not line.endswith(b"\n"):
                    if len(line) == _LONGEST_LINE:
                        raise _bad_line(path, number, "it is too long")
                    break
                step, numbers = _parsed(line, path, number)
                if history._seen and step <= history._latest:
                    raise _bad_line(
                        path, number, "its iteration does not come after the one before"
                    )
                history._latest = step
                history.add(step, numbers)
                if len(history._columns) > _MOST_COLUMNS:
                    raise _bad_line(path, number, "there are too many columns")
        return history

    def _row(self, row: int) -> dict[str, float | None]:
        return {
            name: float(column.numbers[row])
            for name, column in self._columns.items()
            if column.present[row]
        }

    def _grow(self) -> None:
        rows = min(self.capacity, 2 * len(self._steps))
        self._steps = np.resize(self._steps, rows)
        for column in self._columns.values():
            column.resize(rows)

    def _thin(self) -> None:
        kept = (self._count + 1) // 2
        self._steps[:kept] = self._steps[: self._count : 2].copy()
        for column in self._columns.values():
            column.numbers[:kept] = column.numbers[: self._count : 2].copy()
            column.present[:kept] = column.present[: self._count : 2].copy()
        self._count = kept
        self.stride *= 2


def json_line(step: int, numbers: Mapping[str, float | None]) -> str:
    """An iteration as a line of JSON; numbers that JSON has not are words: "nan", "inf", "-inf"."""
    found: dict[str, Json] = {"step": step}
    for name, number in numbers.items():
        if number is None or math.isfinite(number):
            found[name] = number
        else:
            found[name] = str(number)
    return json.dumps(found) + "\n"


def csv_header(names: Iterable[str]) -> str:
    """The first line of a CSV file with these columns."""
    return csv_text([["step", *names]])


def csv_line(names: Iterable[str], step: int, numbers: Mapping[str, float | None]) -> str:
    """An iteration as a line of CSV; the cell of a number that is not there is empty."""
    cells = (numbers.get(name) for name in names)
    return csv_text([[step, *(None if x is None else float(x) for x in cells)]])


def _parsed(line: bytes, path: str | Path, number: int) -> tuple[int, dict[str, float | None]]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _bad_line(path, number, f"it is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise _bad_line(path, number, "it is not an object")
    step = found.pop("step", None)
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < 1 << 62:
        raise _bad_line(path, number, "its step is not the number of an iteration")
    numbers: dict[str, float | None] = {}
    for name, value in found.items():
        if isinstance(value, str) and value in _WORDS:
            value = _WORDS[value]
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise _bad_line(path, number, f"{name!r} is not a number")
        try:
            numbers[name] = None if value is None else float(value)
        except OverflowError:
            raise _bad_line(path, number, f"{name!r} is too large") from None
    return step, numbers


def _bad_line(path: str | Path, number: int, why: str) -> FileError:
    return FileError(
        f"This is not a line of a history: {why}.", path=str(path), line=number,
        expected='{"step": 1, "loss.out": 0.5, …}',
    )  # fmt: skip
