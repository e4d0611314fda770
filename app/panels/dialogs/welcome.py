"""The welcome page of an empty window: first steps, examples and recent files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from app.panels import labels
from app.services.examples import SUFFIX, Example
from app.services.plain_text import tooltip


class Welcome(QScrollArea):
    """A page in the middle of the canvas; drops on it reach the canvas."""

    exampleRequested = Signal(object)
    """Path of an example to open as a copy."""
    fileRequested = Signal(object)
    """Path of a file to open."""

    def __init__(self, canvas: QWidget, examples: Sequence[Example]) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._examples = examples
        self._recent: list[Path] = []
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)
        sheet = QWidget()
        sheet.setAutoFillBackground(False)
        self._column = QVBoxLayout(sheet)
        self._column.setSpacing(4)
        self.setWidget(sheet)
        sheet.setAutoFillBackground(False)
        canvas.installEventFilter(self)

    def show_if(self, wanted: bool, recent: Sequence[Path]) -> None:
        """Show or hide the page; ``recent`` files are listed when it appears."""
        if wanted and not self.isVisible():
            self.show_recent(recent)
        self.setVisible(wanted)

    def show_recent(self, recent: Sequence[Path]) -> None:
        """Rebuild the page, with these files below the examples."""
        labels.clear(self._column)
        self._recent = list(recent)
        title = labels.plain(self.tr("Gradwire"))
        title.setProperty("type", "title")
        self._column.addWidget(title)
        self._column.addWidget(
            labels.body(self.tr("Drag a block from the palette onto this page, or press Tab and "
                                "type its name; ? shows all shortcuts. Or start from an "
                                "example, which opens as a copy."))
        )  # fmt: skip
        if self._examples:
            self._column.addWidget(labels.heading(self.tr("Examples")))
        for number, example in enumerate(self._examples):
            self._add(f"example:{number}", example.title, _first_sentence(example.description))
        if recent:
            self._column.addWidget(labels.heading(self.tr("Recent files")))
        for number, path in enumerate(recent):
            self._add(f"recent:{number}", path.name.removesuffix(SUFFIX), str(path.parent))
        self._column.addStretch(1)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._canvas and event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    def _add(self, target: str, title: str, text: str) -> None:
        label = labels.rich(labels.link(target, title))
        label.linkActivated.connect(self._follow)
        if text:
            label.setToolTip(tooltip(text))
        self._column.addWidget(label)

    def _follow(self, target: str) -> None:
        kind, _, number = target.partition(":")
        if kind == "example":
            self.exampleRequested.emit(self._examples[int(number)].path)
        else:
            self.fileRequested.emit(self._recent[int(number)])

    def _place(self) -> None:
        """Centre the page, as high as its text needs and the canvas allows."""
        room = self._canvas.size()
        width = min(440, room.width() - 32)
        height = min(self._column.heightForWidth(width) + 16, room.height() - 32)
        self.resize(max(width, 0), max(height, 0))
        self.move(QPoint((room.width() - width) // 2, max((room.height() - height) // 2, 16)))


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")
