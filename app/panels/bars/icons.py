"""The icons of the tool bar, drawn in a colour at any size."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from gradwire.app.services.examples import ASSETS

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme


def tool_icon(name: str, theme: Theme, *, marked: bool = False) -> QIcon:
    """The icon of a tool; a marked one has the theme's colour of warnings."""
    normal, active = (theme.warning,) * 2 if marked else (theme.ink_soft, theme.ink)
    return _icon(name, normal, active, theme.hairline)


@lru_cache(maxsize=256)
def _icon(name: str, normal: str, active: str, disabled: str) -> QIcon:
    return QIcon(_Drawing(name, normal, active, disabled))


class _Drawing(QIconEngine):
    """An icon that is drawn when it is shown, at the size and the resolution of that place."""

    def __init__(self, name: str, normal: str, active: str, disabled: str) -> None:
        super().__init__()
        self._name, self._normal, self._active, self._disabled = name, normal, active, disabled

    def clone(self) -> QIconEngine:
        return _Drawing(self._name, self._normal, self._active, self._disabled)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        ratio = painter.device().devicePixelRatio()
        painter.drawPixmap(rect, self.scaledPixmap(rect.size(), mode, state, ratio))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self.scaledPixmap(size, mode, state, 1.0)

    def scaledPixmap(
        self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float
    ) -> QPixmap:
        colours = {QIcon.Mode.Active: self._active, QIcon.Mode.Disabled: self._disabled}
        pixels = round(size.width() * scale), round(size.height() * scale)
        picture = QPixmap(_drawn(self._name, colours.get(mode, self._normal), pixels))
        picture.setDevicePixelRatio(scale)
        return picture


@lru_cache(maxsize=256)
def _drawn(name: str, colour: str, size: tuple[int, int]) -> QPixmap:
    """The picture of a drawing of so many physical pixels."""
    picture = QPixmap(QSize(*size))
    picture.fill(QColor(Qt.GlobalColor.transparent))
    drawing = QSvgRenderer(QByteArray(_text(name).replace("currentColor", colour).encode()))
    with QPainter(picture) as painter:
        drawing.render(painter, QRectF(0.0, 0.0, *size))
    return picture


@cache
def _text(name: str) -> str:
    return (ASSETS / "icons" / f"tool_{name}.svg").read_text(encoding="utf-8")
