"""Writes tables of comma-separated values, no cell of which a spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

_WIDE = ("\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The first four of ``_FORMULA`` in the width of East Asian signs."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", *_WIDE)
"""What a spreadsheet takes for the beginning of a formula."""
_UNSEEN = " \u00a0\u200b\u2060\ufeff"
"""What it may leave out before that: spaces, and characters that have no width."""


def csv_text(rows: Iterable[Iterable[str | float | None]], end: str = "\n") -> str:
    """The rows as text, each with ``end``. Texts are guarded, numbers stay as they are, and the
    cell of what is not there is empty.
    """
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerows(
        [guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return text.getvalue()


def guarded(cell: str) -> str:
    """A text with an apostrophe before it if it begins a formula."""
    return f"'{cell}" if cell.lstrip(_UNSEEN).startswith(_FORMULA) else cell


def unguarded(cell: str) -> str:
    """A text as it was before ``guarded``."""
    return cell[1:] if cell.startswith("'") and guarded(cell[1:]) == cell else cell
