"""The sheet of all keys, made from the table of actions so that it can't be out of date."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

from app.actions import HAND, MENUS, TABLE, translated
from app.panels.command_palette import plain


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
        canvas = [(translated(keys), translated(text), "") for keys, text in HAND]
        yield _table(self.tr("On the canvas"), canvas)


def _native(keys: QKeySequence.StandardKey | str | None) -> str:
    return QKeySequence(keys or "").toString(QKeySequence.SequenceFormat.NativeText)


def _table(title: str, rows: list[tuple[str, str, str]]) -> str:
    lines = "".join(
        f"<tr><td width='150'><b>{escape(keys)}</b></td><td>{escape(plain(text))}"
        f"{f' — {escape(tip)}' if tip else ''}</td></tr>"
        for keys, text, tip in rows
    )
    return f"<h3>{escape(title)}</h3><table cellpadding='3'>{lines}</table>"
