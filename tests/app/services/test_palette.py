"""Colours that users choose: text on them can be read, and none looks like a state."""

import math
from itertools import combinations

import pytest
from PySide6.QtGui import QColor

from gradwire.app.services.colours import contrast
from gradwire.app.services.palette import NAMES, colour_icon, shades
from gradwire.app.services.theme import THEMES
from gradwire.runtime.diagram.model import COLOURS

each = pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)


def oklab(colour):
    """Lightness and the two axes of colour. Source: Björn Ottosson, 2020."""
    parts = (QColor(colour).redF(), QColor(colour).greenF(), QColor(colour).blueF())
    r, g, b = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    long = math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
    medium = math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
    short = math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def test_every_colour_of_a_file_has_a_name_and_shades():
    assert tuple(NAMES) == COLOURS
    for theme in THEMES.values():
        assert shades(theme, "") is None
        assert all(shades(theme, colour) for colour in COLOURS)


@each
@pytest.mark.parametrize("colour", COLOURS)
def test_text_on_it_can_be_read(theme, colour):
    found = shades(theme, colour)
    for ink in (theme.ink, theme.ink_soft):
        assert contrast(ink, found.ground) >= 4.5
        assert contrast(ink, found.wash) >= 4.5
    for family in ("sources", "losses", "gradient", "pages"):
        assert contrast(theme.symbol(family), found.ground) >= 3.0
    for line in (theme.wire, *theme.lanes.values(), *theme.losses):
        assert contrast(line, found.wash) >= 2.9


@each
@pytest.mark.parametrize("colour", COLOURS)
def test_it_is_never_taken_for_a_state(theme, colour):
    states = [*theme.lanes.values(), *theme.losses, theme.error, theme.warning, theme.accent]
    for shade in shades(theme, colour):
        assert min(math.dist(oklab(shade), oklab(state)) for state in states) >= 0.1


@each
def test_they_differ(theme):
    for one, other in combinations(COLOURS, 2):
        apart = math.dist(oklab(shades(theme, one).ground), oklab(shades(theme, other).ground))
        assert apart >= 0.03


@each
def test_each_has_a_dot_for_menus(qapp, theme):
    def dot(colour):
        return colour_icon(theme, colour).pixmap(16, 16).toImage()

    pictures = [dot(colour) for colour in (*COLOURS, "")]
    assert all(one != other for one, other in combinations(pictures, 2))
