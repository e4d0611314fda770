"""Text for a reader: numbers, and tables that suit a terminal or a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.publish.printable import one_line, visible

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

WRITTEN_OUT = 24
"""An array of at most so many numbers is written out; a larger one is summed up."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of cells under headings; the last column may be long."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Part: TypeAlias = TextTable | str


def number_text(item: bool | int | float) -> str:
    """``0.1``, ``1e-08``, ``true``: six digits, in a form that ``--set`` reads back."""
    if isinstance(item, bool):
        return "true" if item else "false"
    return f"{item:.6g}" if isinstance(item, float) else str(item)


def time_text(seconds: float) -> str:
    """``1.25 ms``: three digits in the unit that suits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{_three_digits(seconds / 1e-9)} ns"


def bytes_text(count: int) -> str:
    """``1.5 MiB``: three digits in the unit that suits."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{_three_digits(count / size)} {unit}"
    return f"{count} B"


def _three_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def array_text(array: Array) -> str:
    """``[[1, 2]]``; for more than ``WRITTEN_OUT`` numbers their count, range and mean."""
    if array.size <= WRITTEN_OUT:
        return _nested(array.tolist())
    if array.dtype == np.bool_:
        return f"{array.size} booleans, {int(array.sum())} true"
    finite = array[np.isfinite(array)].astype(np.float64)
    text = f"{array.size} numbers"
    if finite.size:
        low, high, mean = (float(f(finite)) for f in (np.min, np.max, np.mean))
        text += f" from {number_text(low)} to {number_text(high)}, mean {number_text(mean)}"
    rest = array.size - finite.size
    return f"{text}, {rest} not finite" if rest else text


def plain(parts: Sequence[Part]) -> str:
    """Paragraphs and aligned columns, at least two spaces apart; nothing is cut to a width."""
    return "\n\n".join(p if isinstance(p, str) else _aligned(p) for p in parts) + "\n"


def show(parts: Sequence[Part], stream: IO[str] | None = None) -> None:
    """Write to the stream (standard output): ruled tables in a terminal, plain text elsewhere."""
    stream = stream or sys.stdout
    parts = [_visible_part(part) for part in parts]
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        _draw(parts, stream)
    else:
        stream.write(plain(parts))


def _visible_part(part: Part) -> Part:
    if isinstance(part, str):
        return visible(part)
    rows = tuple(tuple(map(visible, row)) for row in part.rows)
    return TextTable(one_line(part.title), tuple(map(visible, part.columns)), rows)


def _nested(data: Any) -> str:
    if isinstance(data, list):
        return "[" + ", ".join(map(_nested, data)) + "]"
    return number_text(data)


def _aligned(table: TextTable) -> str:
    lines = [table.columns, *(tuple(" ".join(c.split()) for c in row) for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([table.title, *text] if table.title else text)


def _draw(parts: Sequence[Part], stream: IO[str]) -> None:
    from rich import box  # only a terminal pays for rich
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    for part in parts:
        if isinstance(part, str):
            console.print(Text(part), end="\n\n")
            continue
        drawn = RichTable(
            title=Text(part.title, style="bold"),
            title_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        for column in part.columns:
            drawn.add_column(column, overflow="fold")
        for row in part.rows:
            cells = zip(part.columns, row, strict=True)
            drawn.add_row(*(Text(cell, style=_style(name, cell)) for name, cell in cells))
        console.print(drawn)


def _style(column: str, cell: str) -> str:
    return State(cell).row.accent if column == "state" else ""
