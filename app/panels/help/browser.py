"""Shows pages of the manual and their pictures, and nothing from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QUrl, Signal
from PySide6.QtGui import QImage, QPalette, QTextDocument
from PySide6.QtWidgets import QTextBrowser, QTextEdit, QWidget

from gradwire.app.panels.help.manual import FOLDER, html, manual
from gradwire.app.services.examples import ASSETS, SUFFIX

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QResizeEvent, QTextCursor

_Resource = QTextDocument.ResourceType
_Role = QPalette.ColorRole
_SCHEME = "manual"
_EXAMPLE = "example"
_PICTURES = frozenset({".png", ".svg"})
_WIDTH = 640
"""Width of the widest picture, px."""
_COLUMN = 840
"""Width of the text, px: longer lines are hard to read."""
_MARGIN = 16


class ManualBrowser(QTextBrowser):
    """Follows links to pages; ``example:gan`` requests an example; other links do nothing."""

    exampleRequested = Signal(object)
    """Path of an example to open."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Page of the manual"))
        self._words: list[str] = []
        self.document().setDocumentMargin(_MARGIN)
        self.setLineWrapMode(QTextBrowser.LineWrapMode.FixedPixelWidth)
        self._take_colours()

    def show_page(self, to: str) -> None:
        """Go to a page, ``states.md``, or to a heading of it, ``states.md#stopped``."""
        self.setSource(QUrl(f"{_SCHEME}:/{to}"))

    def highlight(self, words: list[str]) -> None:
        """Mark these words on the page that is shown and on those shown later."""
        self._words = words
        self.setExtraSelections([self._marked(at) for word in words for at in self._places(word)])

    def doSetSource(self, name: QUrl | str, _kind: _Resource = _Resource.UnknownResource) -> None:
        url = QUrl(name)
        if url.scheme() == _EXAMPLE:
            self._request_example(url.path())
        elif page_of(url) in manual().pages:
            super().doSetSource(url, _Resource.HtmlResource)
            self.highlight(self._words)

    def loadResource(self, kind: int, url: QUrl | str) -> object:
        name = page_of(self.source().resolved(QUrl(url)))
        if kind == _Resource.HtmlResource.value and name in manual().pages:
            return html(manual().pages[name])
        if kind == _Resource.ImageResource.value and (path := _picture(name)) is not None:
            image = QImage(str(path))
            smooth = Qt.TransformationMode.SmoothTransformation
            return image.scaledToWidth(_WIDTH, smooth) if image.width() > _WIDTH else image
        return None

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.setLineWrapColumnOrWidth(min(_COLUMN, self.viewport().width()))
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._take_colours()

    def _take_colours(self) -> None:
        """Lay out the page again in the colours of the palette, which follows the theme."""
        self.document().setDefaultStyleSheet(_style(self.palette()))
        if not self.source().isEmpty():
            at = self.verticalScrollBar().value()
            self.reload()
            self.verticalScrollBar().setValue(at)

    def _request_example(self, name: str) -> None:
        path = ASSETS / "diagrams" / f"{name}{SUFFIX}"
        if name.isidentifier() and path.is_file():
            self.exampleRequested.emit(path)

    def _places(self, word: str) -> list[QTextCursor]:
        found: list[QTextCursor] = []
        cursor = self.document().find(word)
        while not cursor.isNull():
            found.append(cursor)
            cursor = self.document().find(word, cursor)
        return found

    def _marked(self, cursor: QTextCursor) -> QTextEdit.ExtraSelection:
        mark = QTextEdit.ExtraSelection()
        mark.cursor = cursor
        mark.format.setBackground(self.palette().color(_Role.Highlight))
        mark.format.setForeground(self.palette().color(_Role.HighlightedText))
        return mark


def page_of(url: QUrl) -> str:
    """The name of the page that a link in the manual points to."""
    return url.path().removeprefix("/") if url.scheme() == _SCHEME else ""


def _picture(name: str) -> Path | None:
    path = (FOLDER / name).resolve()
    ours = path.suffix in _PICTURES and path.is_relative_to(FOLDER.resolve())
    return path if ours and path.is_file() else None


def _style(palette: QPalette) -> str:
    ink, soft, line, ground = (
        palette.color(role).name()
        for role in (_Role.Text, _Role.PlaceholderText, _Role.Midlight, _Role.Window)
    )
    return f"""
    h1, h2, h3 {{ color: {ink}; margin-top: 18px; margin-bottom: 6px; }}
    h1 {{ font-size: xx-large; }} h2 {{ font-size: x-large; }} h3 {{ font-size: large; }}
    p, li {{ color: {ink}; line-height: 135%; }}
    a {{ color: {palette.color(_Role.Link).name()}; text-decoration: none; }}
    code {{ background: {ground}; }}
    pre {{ background: {ground}; margin: 6px 12px; }}
    table {{ border-collapse: collapse; border: 1px solid {line}; margin: 8px 0; }}
    th {{ color: {soft}; text-align: left; padding: 4px 8px; border: 1px solid {line}; }}
    td {{ padding: 4px 8px; border: 1px solid {line}; }}
    """
