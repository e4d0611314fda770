"""The colours that users give to blocks, frames, notes and losses, in the shades of each theme.

They are grounds for text, paler or darker than any colour that stands for a state, so that a lane
is never mistaken for one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap

from gradwire.app.services.colours import oklch
from gradwire.app.services.theme import Tone
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "red": editor.noop("red"),
        "orange": editor.noop("orange"),
        "yellow": editor.noop("yellow"),
        "green": editor.noop("green"),
        "blue": editor.noop("blue"),
        "purple": editor.noop("purple"),
        "grey": editor.noop("grey"),
    }
)
"""What the colours are called on the screen."""
_HUES: Mapping[str, float | None] = MappingProxyType(
    {
        "red": 20.0,
        "orange": 58.0,
        "yellow": 98.0,
        "green": 148.0,
        "blue": 245.0,
        "purple": 310.0,
        "grey": None,
    }
)
"""OKLCH hue in degrees; None is grey."""
_ICON = 16


class _Tones(NamedTuple):
    ground: Tone
    wash: Tone
    edge: Tone


_TONES: Mapping[str, _Tones] = MappingProxyType(
    {
        "light": _Tones(Tone(0.905, 0.062), Tone(0.965, 0.022), Tone(0.74, 0.105)),
        "dark": _Tones(Tone(0.37, 0.062), Tone(0.255, 0.026), Tone(0.47, 0.085)),
        "high contrast": _Tones(Tone(0.36, 0.095), Tone(0.2, 0.05), Tone(0.62, 0.13)),
    }
)
"""The tones of each theme, by its name."""


class Shades(NamedTuple):
    """A colour in one theme."""

    ground: QColor
    """Behind the title of a block or the number of a lane."""
    wash: QColor
    """Behind everything in a frame."""
    edge: QColor
    """Outlines, and blocks from afar."""


def shades(theme: Theme, colour: str) -> Shades | None:
    """The shades of a colour in a theme; None for no colour."""
    return _shades(theme.name, colour) if colour in _HUES else None


@cache
def _shades(theme: str, colour: str) -> Shades:
    return Shades(*(_toned(tone, _HUES[colour]) for tone in _TONES[theme]))


def colour_icon(theme: Theme, colour: str) -> QIcon:
    """A dot of a colour for menus; an empty ring for none."""
    picture = QPixmap(_ICON, _ICON)
    picture.fill(Qt.GlobalColor.transparent)
    found = shades(theme, colour)
    with QPainter(picture) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(found.edge if found else QColor(theme.ink_soft), 1.5))
        painter.setBrush(found.ground if found else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(QRectF(2.0, 2.0, _ICON - 4.0, _ICON - 4.0))
    return QIcon(picture)


def _toned(tone: Tone, hue: float | None) -> QColor:
    return oklch(tone.lightness, 0.0 if hue is None else tone.chroma, hue or 0.0)
