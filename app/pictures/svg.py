"""Writes a picture as SVG: no links, no scripts, no style sheets but that of embedded fonts."""

from __future__ import annotations

import base64
from collections import defaultdict
from functools import cache
from html import escape
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING

from gradwire.app.pictures.marks import Raster, TextMark, marks_of
from gradwire.app.pictures.options import Lettering
from gradwire.app.services import typeface
from gradwire.runtime import extras
from gradwire.runtime.publish import xml_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fontTools.ttLib import TTFont

    from gradwire.app.canvas.paint.painter import Progress
    from gradwire.app.pictures.marks import Ink, Mark, Step
    from gradwire.app.pictures.page_picture import PagePicture

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


def svg(picture: PagePicture, title: str, progress: Progress | None = None) -> str:
    """The picture as the text of an SVG file."""
    marks, lettering = marks_of(picture, progress), picture.options.lettering
    embedded = lettering is Lettering.EMBEDDED and can_embed()
    if lettering is not Lettering.TEXT and not embedded:
        marks = [mark.outline() if isinstance(mark, TextMark) else mark for mark in marks]
    labels = [mark for mark in marks if isinstance(mark, TextMark)]
    width, height = picture.size.width(), picture.size.height()
    on_paper = picture.options.width is not None
    unit, scale = ("cm", picture.scale) if on_paper else ("", 1.0)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_short(scale * width, 4)}{unit}" '
        f'height="{_short(scale * height, 4)}{unit}" '
        f'viewBox="0 0 {_short(width)} {_short(height)}" role="img">',
        f"<title>{escape(title, quote=False)}</title>",
        *([f"<style>{font_faces(labels)}</style>"] if embedded else []),
        *_groups(marks, FAMILIES if embedded else "sans-serif"),
        "</svg>",
    ]
    return xml_text("\n".join(lines)) + "\n"


def _groups(marks: Iterable[Mark], families: str) -> Iterator[str]:
    """The marks, those that follow each other in the same ink as one group."""
    for ink, alike in groupby(marks, lambda mark: mark.ink):
        attributes = (f'{name}="{escape(value)}"' for name, value in _attributes(ink))
        yield f"<g {' '.join(attributes)}>"
        for mark in alike:
            if isinstance(mark, TextMark):
                yield _text(mark, families)
            elif isinstance(mark, Raster):
                yield _image(mark)
            else:
                yield f'<path d="{_path(mark.steps)}"/>'
        yield "</g>"


def _image(image: Raster) -> str:
    return (
        f'<image x="{_short(image.left)}" y="{_short(image.top)}" width="{_short(image.width)}" '
        f'height="{_short(image.height)}" preserveAspectRatio="none" '
        f'href="data:image/png;base64,{image.png}"/>'
    )


def _attributes(ink: Ink) -> Iterator[tuple[str, str]]:
    yield "fill", ink.fill or "none"
    if ink.fill:
        yield "fill-rule", "evenodd"
    if ink.fill and ink.fill_opacity < 1.0:
        yield "fill-opacity", _short(ink.fill_opacity)
    if not ink.stroke:
        return
    yield "stroke", ink.stroke
    yield "stroke-width", _short(ink.width)
    yield "stroke-linecap", ink.cap
    yield "stroke-linejoin", ink.join
    if ink.stroke_opacity < 1.0:
        yield "stroke-opacity", _short(ink.stroke_opacity)
    if ink.dash:
        yield "stroke-dasharray", " ".join(map(_short, ink.dash))


def _path(steps: tuple[Step, ...]) -> str:
    """The steps in relative coordinates, which take half the room: letters have many.

    Each step starts where the rounded ones before it end, so that roundings don't add up.
    """
    text: list[str] = []
    x = y = start_x = start_y = 0.0
    for letter, numbers in steps:
        if letter == "Z":
            text.append("z")
            x, y = start_x, start_y
            continue
        rounded = [round(number, 2) for number in numbers]
        offsets = [value - (y if place % 2 else x) for place, value in enumerate(rounded)]
        text.append(letter.lower() + _list(offsets))
        x, y = rounded[-2:]
        if letter == "M":
            start_x, start_y = x, y
    return "".join(text)


def _list(numbers: Iterable[float]) -> str:
    """``1-.5 2``: numbers without a zero before the point, or a space before the sign."""
    texts = [_short(number) for number in numbers]
    short = [text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text
             for text in texts]  # fmt: skip
    return "".join(text if place == 0 or text[0] == "-" else f" {text}"
                   for place, text in enumerate(short))  # fmt: skip


def _text(label: TextMark, families: str) -> str:
    style = ' font-weight="700"' if label.bold else ""
    style += ' font-style="italic"' if label.italic else ""
    fitted = f' textLength="{_short(label.width)}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<text x="{_short(label.x)}" y="{_short(label.y)}" font-family="{families}" '
        f'font-size="{_short(label.size)}"{style}{fitted if len(label.text) > 1 else ""} '
        f'xml:space="preserve">{escape(label.text, quote=False)}</text>'
    )


def _short(number: float, digits: int = 2) -> str:
    """A number without needless digits."""
    text = f"{number:.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
