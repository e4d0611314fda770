"""Tables of comma-separated values: read once, by chunks, to a table of numbers.

The table lies in memory or, where it is large, in a temporary file that ends with the process.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.data.progress import report
from gradwire.runtime.diagram.files.regular import open_regular
from gradwire.runtime.diagram.files.storage import system_errors
from gradwire.runtime.limits import require_at_most

if TYPE_CHECKING:
    from io import BufferedReader, TextIOWrapper

    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.data.columns import Index

Watch: TypeAlias = Callable[[Iterable[Any]], Iterable[Any]]
"""Passes things on, and may raise between two of them to cancel what uses them."""

Row: TypeAlias = tuple[int, list[str]]
"""The line where a row ends, and its fields."""

MAX_FIELDS = 10_000
"""Columns of a table."""
MAX_FIELD = 2**17
"""Characters of one field, as many as the csv module takes."""
MAX_ROW = 2**24
"""Characters of one row."""
MAX_TEXTS = 10_000
"""Different texts in a column of labels."""
MAPPED = 2**26
"""Bytes from which the numbers lie in a temporary file."""
CHUNK = 4096
"""Rows parsed between two reports of progress."""
MAX_CHUNK = 2**26
"""Characters of rows that are in memory at once, or a row more."""
_PIECE = 2**20
"""Bytes read at once to find what is wrong."""
DELIMITERS = ",;\t|"

_TRUTH = {"true": 1.0, "false": 0.0}
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def number(text: str) -> float | None:
    """The number that a field has, 1 and 0 for true and false; None for other texts."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return _TRUTH.get(text.strip().casefold())


@contextmanager
def reading(path: Path) -> Iterator[Reader]:
    """A file that is open within; raises FileError."""
    with system_errors(path, "read"), open_regular(path) as file:
        start = file.read(4)
        encoding = next((name for bom, name in _BOMS.items() if start.startswith(bom)), "utf-8")
        file.seek(0)
        with io.TextIOWrapper(file, encoding=encoding, newline="") as text:
            yield Reader(file, text, path)


class Reader:
    """The rows of a file with their lines. Errors say file, line and column."""

    def __init__(self, file: BufferedReader, text: TextIOWrapper, path: Path) -> None:
        self.path = path
        self._file, self._encoding = file, text.encoding
        file.seek(0, io.SEEK_END)
        self.size = max(1, file.tell())
        file.seek(0)
        try:
            first = text.readline(MAX_FIELD)
        except UnicodeError:
            raise self._undecodable() from None
        text.seek(0)
        self._row = self._characters = 0
        """Characters read of the row at which the file is now, and of all."""
        self._csv = csv.reader(self._lines(text), delimiter=_delimiter(first), strict=True)
        self._all = self._every()
        top = next(self._all, None)
        if top is None:
            raise FileError("The table is empty.", path=str(path), expected="rows of numbers")
        self.has_header = all(number(field) is None for field in top[1])
        self.names = self._named(top[1])
        self._top = None if self.has_header else top

    def _named(self, row: Sequence[str]) -> tuple[str, ...]:
        what = "The table has too many columns."
        require_at_most(what, len(row), MAX_FIELDS, path=str(self.path))
        if not self.has_header:
            return tuple(map(str, range(len(row))))
        names = tuple(field.strip() for field in row)
        twice = next((name for name, count in Counter(names).items() if count > 1), None)
        if twice is not None:
            raise FileError(
                "Two columns have one name.", path=str(self.path), line=1, got=repr(twice)[:80]
            )
        return names

    def error(self, at: int, line: int, what: str, expected: str, got: str) -> FileError:
        """An error in a field, the one numbered ``at`` from 0."""
        return FileError(
            f"Column {self.names[at]!r:.60}: {what}.",
            path=str(self.path),
            line=line,
            column=at + 1,
            expected=expected,
            got=got,
        )

    def _every(self) -> Iterator[Row]:
        """All rows that are not blank, that of the names included, each with its last line."""
        try:
            for row in self._csv:
                self._row = 0
                if row:
                    yield self._csv.line_num, row
        except csv.Error as error:
            line = self._csv.line_num
            raise FileError(
                f"The line can't be read: {error}.", path=str(self.path), line=line
            ) from None
        except UnicodeError:
            raise self._undecodable() from None

    def _lines(self, text: TextIOWrapper) -> Iterator[str]:
        """The lines, none of which is read further than a row may be long."""
        while line := text.readline(MAX_ROW - self._row + 1):
            self._row += len(line)
            self._characters += len(line)
            if self._row > MAX_ROW:
                raise FileError(
                    "The row is too long.",
                    path=str(self.path),
                    line=self._csv.line_num + 1,
                    expected=f"at most {MAX_ROW:,} characters",
                )
            yield line

    def _undecodable(self) -> FileError:
        """The error of a text in another encoding, with its line where lines can be told apart."""
        return FileError(
            "The text is not in UTF-8 or UTF-16.",
            path=str(self.path),
            line=None if self._encoding == "utf-16" else self._first_that_is_not_utf8(),
            next_step="Save it as UTF-8.",
        )

    def _first_that_is_not_utf8(self) -> int:
        """The line, found in pieces: it may be as long as the file."""
        decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
        with open_regular(self.path) as file:
            while piece := file.read(_PIECE):
                try:
                    line += decoder.decode(piece).count("\n")
                except UnicodeDecodeError as error:
                    return line + error.object[: error.start].count(b"\n")
        return line  # the file ends within a character

    def rows(self) -> Iterator[Row]:
        """Each row with its last line; raises FileError for one of another length."""
        width = len(self.names)
        for line, row in chain([] if self._top is None else [self._top], self._all):
            if len(row) != width:
                raise FileError(
                    "The row has another number of fields.",
                    path=str(self.path),
                    line=line,
                    expected=str(width),
                    got=str(len(row)),
                )
            yield line, row

    def some(self, most: int, rows: Iterator[Row] | None = None) -> list[Row]:
        """The next rows, by default of all: so many, or as many as may be in memory."""
        start, found = self._characters, []
        for row in islice(self.rows() if rows is None else rows, most):
            found.append(row)
            if self._characters - start > MAX_CHUNK:
                break
        return found

    def chunks(self) -> Iterator[list[Row]]:
        """The rows by chunks; how far they are is reported."""
        rows = self.rows()
        while chunk := self.some(CHUNK, rows):
            report(self.path.name, self._file.tell() / self.size)
            yield chunk
        report(self.path.name, 1.0)


def _delimiter(first: str) -> str:
    """What separates the fields: of the delimiters the one that is most frequent outside quotes."""
    bare = re.sub(r'"[^"]*"', "", first)
    return max(DELIMITERS, key=bare.count)


class CsvTable:
    """The columns of a file that are wanted: numbers, and labels where texts are expected."""

    def __init__(self, path: Path, wanted: Mapping[str, bool], watch: Watch = iter) -> None:
        self.path = path
        self._texts: dict[str, dict[str, int]] = {name: {} for name, text in wanted.items() if text}
        with reading(path) as reader:
            missing = next((name for name in wanted if name not in reader.names), None)
            if missing is not None:
                raise FileError(
                    f"There is no column {missing!r:.80}.",
                    path=str(path),
                    expected="one of " + ", ".join(reader.names[:20]),
                    next_step=did_you_mean(missing, reader.names),
                )
            self._places = {name: i for i, name in enumerate(wanted)}
            at = {name: i for i, name in enumerate(reader.names)}
            fields = [(name, at[name]) for name in wanted]
            self._numbers = self._parsed(reader, fields, watch)
        if not len(self._numbers):
            raise FileError("The table has no rows.", path=str(path), expected="rows of numbers")

    def _parsed(self, reader: Reader, fields: Sequence[tuple[str, int]], watch: Watch) -> Array:
        """The wanted numbers of each row, then the line of the row: (rows, columns + 1)."""
        width, count = len(fields) + 1, 0
        large = reader.size >= MAPPED
        with tempfile.TemporaryFile() if large else io.BytesIO() as stored:
            for chunk in watch(reader.chunks()):
                numbers = np.empty((len(chunk), width))
                numbers[:, -1] = [line for line, _ in chunk]
                for j, (name, at) in enumerate(fields):
                    numbers[:, j] = self._values(reader, name, at, chunk)
                stored.write(numbers.tobytes())
                count += len(chunk)
            if large and count:
                stored.flush()
                mapped: Array = np.memmap(stored, np.float64, "r", shape=(count, width))
                return mapped
            stored.seek(0)
            return np.frombuffer(stored.read(), np.float64).reshape(count, width)

    def _values(self, reader: Reader, name: str, at: int, chunk: Sequence[Row]) -> list[float]:
        texts = [row[at] for _, row in chunk]
        if name in self._texts:
            return self._codes(reader, name, at, chunk)
        if "_" not in "".join(texts):
            try:
                return list(map(float, texts))
            except ValueError:
                pass  # true or false, or the mistake that is looked for now
        return [self._number(reader, at, line, row[at]) for line, row in chunk]

    def _number(self, reader: Reader, at: int, line: int, field: str) -> float:
        value = number(field)
        if value is None:
            what = "this is no number" if field.strip() else "a number is missing"
            error = reader.error(at, line, what, "a number", repr(field[:60]))
            error.next_step = "Correct the row; a column of texts needs labels in its port."
            raise error
        return value

    def _codes(self, reader: Reader, name: str, at: int, chunk: Sequence[Row]) -> list[float]:
        known, codes = self._texts[name], []
        for line, row in chunk:
            codes.append(known.setdefault(row[at].strip(), len(known)))
            if len(known) > MAX_TEXTS:
                what = "there are too many different texts"
                raise reader.error(at, line, what, f"at most {MAX_TEXTS:,}", "more")
        return list(map(float, codes))

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self._numbers)

    def row_shape(self, name: str) -> Shape:
        """A column has one number in each row."""
        return ()

    def take(self, name: str, rows: Index | slice) -> Array:
        """Rows of a column: float64, or the number of each text."""
        found: Array = self._numbers[rows, self._places[name]]
        return found.astype(np.int64) if name in self._texts else np.asarray(found)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """The texts of a column of labels; None for numbers."""
        return tuple(self._texts[name]) if name in self._texts else None

    def place(self, name: str, row: int) -> str:
        """File, line and column of a row."""
        return f"{self.path}:{int(self._numbers[row, -1])}: column {name!r:.60}"
