"""What panels are made of: rows and columns, buttons, lines to type into, sheets, file dialogs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLayout,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Item: TypeAlias = QWidget | QLayout
Part: TypeAlias = Item | tuple[Item, int] | int
"""A widget or a layout, one with its stretch, or a space of so many px."""
Margins: TypeAlias = tuple[int, int, int, int]
_Box = TypeVar("_Box", bound=QBoxLayout)

STRETCH = -1
"""The space that takes what the others leave."""
FLUSH: Margins = (0, 0, 0, 0)


def make_column(
    parent: QWidget | None,
    *parts: Part,
    margins: Margins | None = FLUSH,
    spacing: int | None = None,
) -> QVBoxLayout:
    """Parts from top to bottom; None stands for what the style has."""
    return _filled(
        QVBoxLayout() if parent is None else QVBoxLayout(parent), parts, margins, spacing
    )


def make_row(
    parent: QWidget | None,
    *parts: Part,
    margins: Margins | None = FLUSH,
    spacing: int | None = None,
) -> QHBoxLayout:
    """Parts from left to right; None stands for what the style has."""
    return _filled(
        QHBoxLayout() if parent is None else QHBoxLayout(parent), parts, margins, spacing
    )


def _filled(
    box: _Box, parts: tuple[Part, ...], margins: Margins | None, spacing: int | None
) -> _Box:
    if margins is not None:
        box.setContentsMargins(*margins)
    if spacing is not None:
        box.setSpacing(spacing)
    for part in parts:
        item, stretch = part if isinstance(part, tuple) else (part, 0)
        if isinstance(item, QWidget):
            box.addWidget(item, stretch)
        elif isinstance(item, QLayout):
            box.addLayout(item, stretch)
        elif item == STRETCH:
            box.addStretch(1)
        else:
            box.addSpacing(item)
    return box


def push_button(
    parent: QWidget,
    text: str,
    pressed: Callable[[], object] | None = None,
    *,
    tip: str = "",
    takes_enter: bool = True,
) -> QPushButton:
    """A button with a text. Unless it ``takes_enter``, Enter never presses it in a dialog."""
    made = QPushButton(text, parent)
    made.setToolTip(tip)
    if not takes_enter:
        made.setAutoDefault(False)
    if pressed is not None:
        made.clicked.connect(lambda: pressed())
    return made


def tool_button(
    parent: QWidget,
    text: str,
    pressed: Callable[[], object] | None = None,
    *,
    tip: str = "",
    name: str = "",
    flat: bool = True,
    kind: str = "",
) -> QToolButton:
    """A small button, without a frame unless not ``flat``.

    ``name`` is for assistive technology, and ``kind`` for the style sheet.
    """
    made = QToolButton(parent)
    made.setText(text)
    made.setToolTip(tip)
    made.setAutoRaise(flat)
    if name:
        made.setAccessibleName(name)
    if kind:
        made.setProperty("type", kind)
    if pressed is not None:
        made.clicked.connect(lambda: pressed())
    return made


def close_button(parent: QWidget, tip: str, pressed: Callable[[], object]) -> QToolButton:
    """A cross that closes what it is on."""
    return tool_button(parent, "✕", pressed, tip=tip, name=tip)


def line_edit(parent: QWidget, hint: str, name: str = "", *, clears: bool = False) -> QLineEdit:
    """A line to type into; ``name``, or else the hint, is for assistive technology."""
    made = QLineEdit(parent)
    made.setPlaceholderText(hint)
    made.setAccessibleName(name or hint)
    made.setClearButtonEnabled(clears)
    return made


def path_to_open(
    parent: QWidget, title: str, kinds: str, folder: Path | None = None
) -> Path | None:
    """The file that the user chooses to open; None without one."""
    name, _ = QFileDialog.getOpenFileName(parent, title, str(folder or ""), kinds)
    return Path(name) if name else None


def path_to_save(parent: QWidget, title: str, kinds: str, start: Path | str = "") -> Path | None:
    """The file that the user chooses to write, at first ``start``; None without one."""
    name, _ = QFileDialog.getSaveFileName(parent, title, str(start), kinds)
    return Path(name) if name else None


class Sheet(QScrollArea):
    """A panel as wide as its place, which scrolls up and down where it is higher."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
