"""The icons of the tool bar, drawn in a colour at any size."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.services.examples import ASSETS

if TYPE_CHECKING:
    from app.services.theme import Theme

_RATIOS = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)
"""Physical pixels per px of the screens that an icon is drawn for."""


def tool_icon(name: str, theme: Theme, size: int, *, marked: bool = False) -> QIcon:
    """The icon of a tool, ``size`` px wide; a marked one has the theme's colour of warnings."""
    normal, active = (theme.warning,) * 2 if marked else (theme.ink_soft, theme.ink)
    return _icon(name, size, normal, active, theme.hairline)


@lru_cache(maxsize=256)
def _icon(name: str, size: int, normal: str, active: str, disabled: str) -> QIcon:
    made = QIcon()
    colours = {
        QIcon.Mode.Normal: normal,
        QIcon.Mode.Active: active,
        QIcon.Mode.Disabled: disabled,
    }
    for mode, colour in colours.items():
        drawing = QSvgRenderer(QByteArray(_text(name).replace("currentColor", colour).encode()))
        for ratio in _RATIOS:
            made.addPixmap(_drawn(drawing, round(size * ratio), ratio), mode)
    return made


def _drawn(drawing: QSvgRenderer, width: int, ratio: float) -> QPixmap:
    """The picture of a drawing, ``width`` physical pixels wide and high."""
    picture = QPixmap(QSize(width, width))
    picture.fill(QColor(Qt.GlobalColor.transparent))
    with QPainter(picture) as painter:
        drawing.render(painter, QRectF(0.0, 0.0, width, width))
    picture.setDevicePixelRatio(ratio)
    return picture


@cache
def _text(name: str) -> str:
    return (ASSETS / "icons" / f"tool_{name}.svg").read_text(encoding="utf-8")
