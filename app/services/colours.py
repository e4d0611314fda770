"""Colours by how they look: OKLCH, and the contrast of two."""

from __future__ import annotations

import math

from PySide6.QtGui import QColor


def oklch(lightness: float, chroma: float, hue: float) -> QColor:
    """The sRGB colour of lightness 0 … 1, chroma and hue (degrees), clipped to the gamut.

    Source: Björn Ottosson, A perceptual color space for image processing, 2020.
    """
    a = chroma * math.cos(math.radians(hue))
    b = chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return QColor(*(round(255.0 * _encoded(min(max(part, 0.0), 1.0))) for part in linear))


def _encoded(linear: float) -> float:
    """The sRGB transfer curve (IEC 61966-2-1)."""
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055


def contrast(one: str | QColor, other: str | QColor) -> float:
    """Contrast ratio of two colours, 1 … 21. Source: WCAG 2.2."""
    lighter, darker = sorted((_luminance(QColor(one)), _luminance(QColor(other))), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: QColor) -> float:
    def decoded(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = (decoded(part) for part in (colour.redF(), colour.greenF(), colour.blueF()))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
