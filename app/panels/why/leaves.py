"""The leaves of a wire's tree in the Why panel, one row each with the state of its gradient."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from gradwire.app.panels import labels
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QLabel

LEAF = "leaf:"
"""Prefix of link targets that are leaves, followed by the path; alone, it means all leaves."""
_MAX_ROWS = 100


class LeafRow(NamedTuple):
    """One array of a tree: its path, its state in words and colour, and its size as text."""

    path: str
    words: str
    colour: str
    size: str


def leaf_rows(rows: Sequence[LeafRow]) -> QLabel:
    """A table of leaves; each path is a link."""
    lines = [
        f"<tr><td>{labels.link(LEAF + row.path, row.path)}&nbsp;&nbsp;</td>"
        f"<td><span style='color:{row.colour}'>●</span>&nbsp;{_whole(row.words)}&nbsp;&nbsp;</td>"
        f"<td align='right'>{escape(row.size)}</td></tr>"
        for row in rows[:_MAX_ROWS]
    ]
    if len(rows) > _MAX_ROWS:
        more = editor.tr("{0} more").format(len(rows) - _MAX_ROWS)
        lines.append(f"<tr><td>… {more}</td></tr>")
    return labels.rich(f"<table cellspacing='2'>{''.join(lines)}</table>")


def leaf_head(path: str) -> QLabel:
    """The leaf that is shown on its own, with a link back to all leaves."""
    back = labels.link(LEAF, editor.tr("all leaves"))
    return labels.rich(f"<b>{escape(path)}</b> · {back}")


def _whole(words: str) -> str:
    """Words that stay on one line."""
    return escape(words).replace(" ", "&nbsp;")
