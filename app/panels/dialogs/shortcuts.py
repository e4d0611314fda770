"""The list of all shortcuts, generated from the tables of actions, keys and mouse actions."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

from app.canvas.input.bindings import KEYS, MOUSE
from app.panels.dialogs.command_palette import plain
from app.services.translation import editor


class Section(NamedTuple):
    """A menu with its actions: shortcut, text and tip of each."""

    title: str
    rows: list[tuple[QKeySequence, str, str]]


class Shortcuts(QDialog):
    """Lists the given sections, then the keys and mouse actions of the canvas."""

    def __init__(self, sections: list[Section], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self.text = QTextBrowser(self)
        self.text.setAccessibleName(self.windowTitle())
        self.text.setHtml("".join(self._tables(sections)))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(self.text)
        column.addWidget(buttons)
        self.resize(640, 620)

    def _tables(self, sections: list[Section]) -> Iterator[str]:
        for title, rows in sections:
            if rows:
                yield _table(plain(title), [(_native(keys), text, tip) for keys, text, tip in rows])
        keys = [
            (editor.tr(row.shown) or ", ".join(map(_native, row.keys)), editor.tr(row.text), "")
            for row in KEYS
            if row.text
        ]
        yield _table(self.tr("On the canvas: keyboard"), keys)
        title = self.tr("On the canvas: mouse, and the same by keyboard")
        yield _table(
            title, [(editor.tr(w.mouse), editor.tr(w.text), editor.tr(w.keys)) for w in MOUSE], 170
        )


def _native(keys: QKeySequence | str) -> str:
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def _table(title: str, rows: list[tuple[str, str, str]], last: int = 0) -> str:
    """A table of keys, effects and details; with ``last``, details have a column that wide, px."""
    lines = "".join(_line(*row, last) for row in rows)
    return f"<h3>{escape(title)}</h3><table cellpadding='3'>{lines}</table>"


def _line(keys: str, text: str, more: str, last: int) -> str:
    description = escape(plain(text))
    if last:
        description += f"</td><td width='{last}'>{escape(more)}"
    elif more:
        description += f" — {escape(more)}"
    return f"<tr><td width='170'><b>{escape(keys)}</b></td><td>{description}</td></tr>"
