"""The options of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Self, TypeVar

from gradwire.app.services.theme import THEMES
from gradwire.blocks.classes.dataclass import dataclass

SMALLEST_WIDTH, LARGEST_WIDTH = 1.0, 200.0
"""Limits of the width of a picture on paper, cm."""


class LegendChoice(StrEnum):
    """Which states and badges the legend explains."""

    OCCURRING = "occurring"
    ALL = "all"
    NONE = "none"


class Lettering(StrEnum):
    """How a vector picture holds its text.

    ``SHAPES`` look the same everywhere. Text can be selected and searched. ``EMBEDDED`` text
    brings its fonts, which browsers use and some drawing programs ignore. ``TEXT`` is set in the
    reader's own sans-serif typeface. Each label is stretched to its width in the editor.
    """

    SHAPES = "shapes"
    EMBEDDED = "embedded"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """What a picture shows, and how large it is on paper.

    ``theme`` is the name of a theme. ``width`` is the width of the picture, or of each of several,
    in cm; None draws 96 px of the canvas per inch.
    """

    legend: LegendChoice = LegendChoice.OCCURRING
    theme: str = "light"
    numbers: bool = True
    width: float | None = None
    lettering: Lettering = Lettering.SHAPES

    @classmethod
    def parse(cls, stored: Mapping[str, str]) -> Self:
        """Options from their texts; the default for each that is missing or invalid."""
        theme = stored.get("theme", "")
        return cls(
            legend=_member(LegendChoice.OCCURRING, stored.get("legend")),
            theme=theme if theme in THEMES else "light",
            numbers=stored.get("numbers") != "False",
            width=_centimetres(stored.get("width", "")),
            lettering=_member(Lettering.SHAPES, stored.get("lettering")),
        )

    def texts(self) -> dict[str, str]:
        """The options as texts, for :meth:`parse`."""
        return {name: str(value) for name, value in asdict(self).items()}


_Choice = TypeVar("_Choice", LegendChoice, Lettering)


def _member(default: _Choice, text: str | None) -> _Choice:
    """The member with this value, or ``default``."""
    return next((member for member in type(default) if member == text), default)


def _centimetres(text: str) -> float | None:
    """A width that fits on paper; None if it is none."""
    try:
        width = float(text)
    except ValueError:
        return None
    return width if SMALLEST_WIDTH <= width <= LARGEST_WIDTH else None


class PictureExtent(StrEnum):
    """What is drawn: the page shown, the selection on it, or every page."""

    PAGE = "page"
    SELECTION = "selection"
    PAGES = "pages"
