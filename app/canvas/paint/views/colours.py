"""Colours of views in each theme, and pictures of levels in them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from gradwire.app.services.theme import THEMES
from gradwire.runtime.flow import ColourRole
from gradwire.runtime.views import ImagePicture
from gradwire.runtime.views import colours as maps

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme
    from gradwire.runtime.views import Colour, FieldPicture, Scale, Table

_GROUND = 0.72
"""Strength of the colours of a field beneath its points."""
_CLASSES = 0.45
"""Strength of the colours of classes beneath the points of the same classes."""
_OVER = 0.25
"""Share of the ink in the colours of points over a field."""


def class_colour(number: int, theme: Theme) -> QColor:
    """The colour of a class or line; on a dark ground, those that are dark change places."""
    colours = maps.CLASSES
    order = (5, 4, 2, 3, 1, 6, 0, 7) if theme.dark else range(len(colours))
    return QColor(*colours[[*order][number % len(colours)]])


def over_field(colour: QColor, theme: Theme) -> QColor:
    """A colour of the same hue that stands out from a field, nearer to the ink of the theme."""
    return QColor(*_mixed(_colour(theme.ink), _colour(colour.name()), _OVER))


def table_of(scale: Scale, theme: Theme) -> Table:
    """Colours of the levels of a scale."""
    bad = _colour(theme.lanes[ColourRole.BROKEN])
    ground = _colour(theme.canvas)
    if scale == "sequential":
        return maps.sequential(bad)
    if scale == "grey":
        return maps.grey(bad)
    if scale == "classes":
        table = np.array(maps.classes(ground, _CLASSES, bad))
        for number in range(len(maps.CLASSES) if theme.dark else 0):
            table[maps.FIRST + number :: len(maps.CLASSES)] = _mixed(
                _colour(class_colour(number, theme).name()), ground, _CLASSES
            )
        table[maps.NOT_FINITE] = bad
        return table
    low, high = (_colour(class_colour(number, theme).name()) for number in (0, 1))
    return maps.diverging(_mixed(low, ground, _GROUND), ground, _mixed(high, ground, _GROUND), bad)


@lru_cache(maxsize=64)
def image_of(picture: ImagePicture | FieldPicture, theme_name: str) -> QImage:
    """The levels or colours of a picture as an image; what lies between images is clear."""
    pixels = picture.pixels if isinstance(picture, ImagePicture) else picture.levels
    if pixels.ndim == 3:
        colours = _packed(pixels)
    else:
        colours = _packed(table_of(picture.scale, THEMES[theme_name]))[pixels]
    if isinstance(picture, ImagePicture) and picture.gaps is not None:
        colours[picture.gaps] = 0
        return _image(colours, QImage.Format.Format_ARGB32_Premultiplied)
    return _image(colours, QImage.Format.Format_RGB32)


@lru_cache(maxsize=16)
def scale_image(scale: Scale, theme_name: str) -> QImage:
    """The colours of a scale, from the greatest value at the top to the least."""
    table = table_of(scale, THEMES[theme_name])
    colours = _packed(table[: maps.NOT_FINITE : -1])[:, None]
    return _image(colours, QImage.Format.Format_RGB32)


def _packed(colours: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Opaque colours (…, 3) as Qt packs them (…)."""
    red, green, blue = np.moveaxis(colours.astype(np.uint32), -1, 0)
    return np.asarray(0xFF000000 | red << 16 | green << 8 | blue, np.uint32)


def _image(colours: NDArray[np.uint32], form: QImage.Format) -> QImage:
    data = np.ascontiguousarray(colours)
    height, width = data.shape
    return QImage(data.data, width, height, 4 * width, form).copy()


def _mixed(colour: Colour, ground: Colour, strength: float) -> Colour:
    red, green, blue = (
        round(below + strength * (part - below)) for part, below in zip(colour, ground, strict=True)
    )
    return red, green, blue


def _colour(name: str) -> Colour:
    colour = QColor(name)
    return colour.red(), colour.green(), colour.blue()
