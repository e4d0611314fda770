"""Rows in lists of blocks: the symbol on its family's colour, then the name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTreeView, QWidget

from gradwire.app.services import theme as look
from gradwire.app.services.theme import LIGHT, Theme

if TYPE_CHECKING:
    from gradwire.blocks.block import Block

BLOCK_ROLE = Qt.ItemDataRole.UserRole + 1
"""The block class of a row, which may be imported for it; None for a family."""
KIND_ROLE = Qt.ItemDataRole.UserRole + 9
"""The name of the type of a row's block; None for a family."""
STAR_ROLE = Qt.ItemDataRole.UserRole + 3
"""Whether a block is a favourite; None if it can't be one."""
PAGE_ROLE = Qt.ItemDataRole.UserRole + 4
"""Name of the page of a row; None for other blocks."""
ASIDE_ROLE = Qt.ItemDataRole.UserRole + 5
"""Faint text at the end of a row."""
REFUSAL_ROLE = Qt.ItemDataRole.UserRole + 6
"""Why a page can't be used on the current page; empty if it can."""
LIBRARY_ROLE = Qt.ItemDataRole.UserRole + 7
"""Name of the library's page of a row; None for other blocks."""
LAYER_ROLE = Qt.ItemDataRole.UserRole + 8
"""Name of the recurrent layer of a row; None for other blocks."""

TILE = 22
"""Height of a tile, px, with text of normal size."""
TILE_WIDTH = 30
_GAP = 8
_STAR = 26.0
_Index = QModelIndex | QPersistentModelIndex


class SymbolTile(QWidget):
    """The symbol of one block class on the tint of its family."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._block: type[Block] | None = None
        self._theme = LIGHT
        self.setFixedSize(look.scaled(TILE_WIDTH + 6), look.scaled(TILE + 6))

    def show_block(self, cls: type[Block] | None, theme: Theme) -> None:
        """Show the tile of another block class."""
        self._block, self._theme = cls, theme
        self.update()

    def paintEvent(self, event: object) -> None:
        if self._block is not None:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint_tile(painter, QRectF(self.rect()), self._block, self._theme)


def is_star(event: QKeyEvent) -> bool:
    """Whether a key press toggles a favourite: Ctrl+B."""
    control = Qt.KeyboardModifier.ControlModifier
    return event.key() == Qt.Key.Key_B and event.modifiers() == control


class Stars(QObject):
    """Catches clicks on the stars of a view's rows before the view handles them."""

    clicked = Signal(object)
    """The row, a QModelIndex."""

    def __init__(self, view: QTreeView) -> None:
        super().__init__(view)
        self._view = view
        self._pressed = False
        view.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QMouseEvent) or event.button() != Qt.MouseButton.LeftButton:
            return super().eventFilter(watched, event)
        if event.type() == QEvent.Type.MouseButtonRelease:
            held, self._pressed = self._pressed, False
            return held
        at = event.position().toPoint()
        index = self._view.indexAt(at)
        self._pressed = index.data(STAR_ROLE) is not None and star_rect(
            QRectF(self._view.visualRect(index))
        ).contains(at)
        if self._pressed:
            self.clicked.emit(index)
        return self._pressed


def star_rect(row: QRectF) -> QRectF:
    """The place of the star in a row."""
    return QRectF(row.right() - _STAR, row.top(), _STAR, row.height())


class BlockRows(QStyledItemDelegate):
    """Paints families as headings, and blocks as tile, name and star."""

    def __init__(self, view: QTreeView) -> None:
        super().__init__(view)
        self._view = view
        self._theme = LIGHT

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(120, look.scaled(TILE + 8 if index.data(KIND_ROLE) else TILE + 12))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = QRectF(option.rect)
        if index.data(KIND_ROLE) is None:
            self._paint_family(painter, rect, index)
        else:
            self._paint_block(painter, rect, option, index)
        painter.restore()

    def _paint_family(self, painter: QPainter, rect: QRectF, index: _Index) -> None:
        painter.setFont(look.font(look.scaled(look.SMALL), bold=True))
        painter.setPen(QColor(self._theme.ink_soft))
        open_ = self._view.isExpanded(index)
        bottom = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(rect.adjusted(20, 4, 0, 0), bottom, index.data().capitalize())
        arrow = QRectF(rect.left() + 2, rect.top() + 4, 14, rect.height() - 4)
        painter.setPen(QColor(self._theme.ink_faint))
        painter.drawText(arrow, Qt.AlignmentFlag.AlignCenter, "▾" if open_ else "▸")

    def _paint_block(
        self, painter: QPainter, rect: QRectF, option: QStyleOptionViewItem, index: _Index
    ) -> None:
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if selected or hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            wash = self._theme.accent_wash if selected else self._theme.surface
            painter.setBrush(QColor(wash))
            painter.drawRoundedRect(rect.adjusted(0, 1, -1, -1), 5, 5)
        wide, high = look.scaled(TILE_WIDTH), look.scaled(TILE)
        tile = QRectF(rect.left() + _GAP / 2, rect.center().y() - high / 2, wide, high)
        paint_tile(painter, tile, index.data(BLOCK_ROLE), self._theme)
        refused = bool(index.data(REFUSAL_ROLE))
        painter.setPen(QColor(self._theme.ink_faint if refused else self._theme.ink))
        painter.setFont(look.font(look.scaled(look.BODY)))
        text = text_rect(rect)
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, str(index.data()))
        self._paint_aside(painter, text, index)
        starred = index.data(STAR_ROLE)
        if starred or (starred is not None and (selected or hovered)):
            painter.setPen(QColor(self._theme.ink_soft if starred else self._theme.ink_faint))
            centre = Qt.AlignmentFlag.AlignCenter
            painter.drawText(star_rect(rect), centre, "★" if starred else "☆")

    def _paint_aside(self, painter: QPainter, room: QRectF, index: _Index) -> None:
        """Paint the text at the end of the row in the room that the name leaves."""
        taken = painter.fontMetrics().horizontalAdvance(str(index.data())) + 2 * _GAP
        painter.setFont(look.font(look.scaled(look.SMALL)))
        painter.setPen(QColor(self._theme.ink_faint))
        left = room.adjusted(taken, 0, _STAR - _GAP, 0)
        aside = painter.fontMetrics().elidedText(
            index.data(ASIDE_ROLE) or "", Qt.TextElideMode.ElideRight, int(left.width())
        )
        end = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.drawText(left, end, aside)

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: _Index
    ) -> None:
        editor.setGeometry(text_rect(QRectF(option.rect)).toRect())


def text_rect(row: QRectF) -> QRectF:
    """The place of the name in a row."""
    return row.adjusted(look.scaled(TILE_WIDTH) + 2 * _GAP, 0, -_STAR, 0)


def paint_tile(painter: QPainter, rect: QRectF, cls: type[Block], theme: Theme) -> None:
    """Paint the symbol of ``cls`` in ``rect``; a long one shrinks to fit."""
    painter.setPen(theme.border(cls.family))
    painter.setBrush(theme.face(cls.family))
    painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
    symbol = cls.symbol or cls.type_name()[0]
    painter.setPen(theme.symbol(cls.family))
    face = look.font(look.scaled(look.BODY))
    needed = QFontMetricsF(face).horizontalAdvance(symbol)
    if needed > rect.width() - 6:
        face.setPixelSize(max(7, int(face.pixelSize() * (rect.width() - 4) / needed)))
    painter.setFont(face)
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, symbol)
