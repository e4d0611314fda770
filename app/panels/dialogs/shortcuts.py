"""The sheet of all keys, made from the table of actions so that it can't be out of date."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

from app.canvas.input.keys import KEYS
from app.canvas.input.mouse_help import MOUSE
from app.panels.dialogs.command_palette import plain
from app.shell.actions import MENUS, TABLE, translated


class Shortcuts(QDialog):
    """Menu by menu the actions that have keys, then what mouse and keys do on the canvas."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self.text = QTextBrowser(self)
        self.text.setAccessibleName(self.windowTitle())
        self.text.setHtml("".join(self._sections()))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(self.text)
        column.addWidget(buttons)
        self.resize(640, 620)

    def _sections(self) -> Iterator[str]:
        for menu, title in MENUS.items():
            rows = [
                (_native(command.shortcut), translated(command.text), translated(command.tip))
                for command in TABLE
                if command.menu == menu and command.shortcut is not None
            ]
            if rows:
                yield _table(plain(translated(title)), rows)
        keys = [
            (_said(row.shown) or ", ".join(map(_native, row.keys)), _said(row.text), "")
            for row in KEYS
            if row.text
        ]
        yield _table(self.tr("On the canvas, by keyboard"), keys)
        title = self.tr("On the canvas, with the mouse, and by keyboard")
        yield _table(title, [(_said(w.mouse), _said(w.text), _said(w.keys)) for w in MOUSE], 170)


def _said(text: str) -> str:
    return QCoreApplication.translate("keys", text) if text else ""


def _native(keys: QKeySequence.StandardKey | str | None) -> str:
    return QKeySequence(keys or "").toString(QKeySequence.SequenceFormat.NativeText)


def _table(title: str, rows: list[tuple[str, str, str]], last: int = 0) -> str:
    """Keys, what they do and more on it; the last column by itself where it has a width, px."""
    lines = "".join(_line(*row, last) for row in rows)
    return f"<h3>{escape(title)}</h3><table cellpadding='3'>{lines}</table>"


def _line(keys: str, text: str, more: str, last: int) -> str:
    told = escape(plain(text))
    if last:
        told += f"</td><td width='{last}'>{escape(more)}"
    elif more:
        told += f" — {escape(more)}"
    return f"<tr><td width='170'><b>{escape(keys)}</b></td><td>{told}</td></tr>"
