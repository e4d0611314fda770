"""Shows what differs between two diagrams, in words and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QComboBox, QDialogButtonBox, QPlainTextEdit, QSplitter, QWidget

from gradwire.app.panels.dialogs.export_sheet import PicturePreview
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import make_column
from gradwire.app.services.theme import LIGHT, Theme, follow_theme

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradwire.app.pictures.page_picture import PagePicture


class ComparisonDialog(Dialog):
    """Stays open beside the window. ``pictures`` draws a page of ``pages`` in a theme."""

    def __init__(
        self,
        title: str,
        words: str,
        pages: Sequence[str],
        pictures: Callable[[str, Theme], PagePicture],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self._pictures = pictures
        self._theme = LIGHT
        self.page = QComboBox(self)
        self.page.setAccessibleName(self.tr("Page"))
        self.page.addItems(list(pages))
        self.page.setVisible(len(pages) > 1)
        self.page.currentTextChanged.connect(self._draw)
        self.preview = PicturePreview(self)
        self.words = QPlainTextEdit(words, self)
        self.words.setReadOnly(True)
        self.words.setTabChangesFocus(True)
        self.words.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.words.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.words.setAccessibleName(self.tr("Differences"))
        split = QSplitter(Qt.Orientation.Vertical, self)
        split.addWidget(self.preview)
        split.addWidget(self.words)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        make_column(self, self.page, (split, 1), buttons, margins=None)
        self.resize(980, 720)
        follow_theme(self)

    def set_theme(self, theme: Theme) -> None:
        """Draw in the colours of ``theme``."""
        self._theme = theme
        self._draw()

    def _draw(self) -> None:
        self.preview.show_picture(self._pictures(self.page.currentText(), self._theme))
