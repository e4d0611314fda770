"""Fonts inside an SVG picture: of the typeface, only the letters that the picture shows."""

from __future__ import annotations

import base64
from collections import defaultdict
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING

from gradwire.app.services import typeface
from gradwire.runtime import extras

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fontTools.ttLib import TTFont

    from gradwire.app.pictures.marks import TextMark

FAMILIES = ", ".join(f"'{family}'" for family in typeface.FAMILIES) + ", sans-serif"
"""The families of labels whose fonts are embedded; what the typeface lacks is the reader's."""


def can_embed() -> bool:
    """Whether the typeface is carried, and what cuts it down is installed."""
    return typeface.is_carried() and extras.installed("fontTools")


def font_faces(labels: Iterable[TextMark]) -> str:
    """The style sheet that holds the fonts of the labels."""
    wanted: defaultdict[typeface.FontFace, set[int]] = defaultdict(set)
    for label in labels:
        for code in map(ord, label.text):
            if (face := _face_with(code, bold=label.bold, italic=label.italic)) is not None:
                wanted[face].add(code)
    return "".join(_font_face(face, wanted[face]) for face in typeface.FACES if face in wanted)


def _face_with(code: int, *, bold: bool, italic: bool) -> typeface.FontFace | None:
    """The face of the style that has a character; signs have only one style."""
    style = (bold, italic and not bold)
    texts = [face for face in typeface.FACES if (face.bold, face.italic) == style]
    signs = [face for face in typeface.FACES if face.family != typeface.TEXT]
    return next((face for face in (*texts, *signs) if code in _characters(face)), None)


def _font_face(face: typeface.FontFace, codes: set[int]) -> str:
    weight, style = 700 if face.bold else 400, "italic" if face.italic else "normal"
    content = base64.b64encode(_cut_down(face, codes)).decode()
    return (
        f"@font-face{{font-family:'{face.family}';font-weight:{weight};font-style:{style};"
        f"src:url(data:font/woff;base64,{content}) format('woff')}}"
    )


def _cut_down(face: typeface.FontFace, codes: set[int]) -> bytes:
    """The font with these characters only, compressed for browsers."""
    from fontTools.subset import Options, Subsetter, save_font  # slow to import

    options = Options(flavor="woff", hinting=False, notdef_outline=True)
    options.drop_tables = [*options.drop_tables, "TTFA"]  # how it was hinted
    font, made = _opened(face), BytesIO()
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=codes)
    subsetter.subset(font)
    save_font(font, made, options)
    return made.getvalue()


@cache
def _characters(face: typeface.FontFace) -> frozenset[int]:
    return frozenset(_opened(face).getBestCmap())


def _opened(face: typeface.FontFace) -> TTFont:
    from fontTools.ttLib import TTFont  # slow to import

    return TTFont(BytesIO(face.content()))
