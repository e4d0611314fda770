"""The marks of a vector picture: outlines and labels, in the coordinates of the picture.

Qt draws a picture as SVG of its own kind, with a group and a transform for every pen. Here it is
read back as a flat list, so that each format is written in one place and needs no painter.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias
from xml.etree import ElementTree

from PySide6.QtCore import QBuffer, QRect, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter, QPainterPath
from PySide6.QtSvg import QSvgGenerator

from gradwire.app.services.theme import font
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.publish import xml_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QFont

    from gradwire.app.canvas.paint.painter import Progress
    from gradwire.app.pictures.page_picture import PagePicture

Step: TypeAlias = tuple[str, tuple[float, ...]]
"""A step of a path: ``M`` or ``L`` with a point, ``C`` with three, or ``Z``."""
_Affine: TypeAlias = tuple[float, float, float, float, float, float]

_STEPS = re.compile(r"([MLCZ])|(-?[\d.]+(?:e-?\d+)?)")
_NUMBER = re.compile(r"-?[\d.]+(?:e-?\d+)?")
_ROUND = 0.5523
"""Distance of the control points of a quarter of a circle, in radii."""
_OVERLAP = 1.5
"""Largest overlap of two lines that are drawn for one curve, px."""
_MOST_PIXELS = 64
"""Pixels along a side of a large image, where they are written as rectangles."""
_LARGE = 4096
"""Pixels of an image from which it is written as a whole where the format can."""
_SEAM = 0.5
"""Largest distance of two labels that are drawn for one text, in two fonts, px."""


@dataclass(frozen=True, slots=True)
class Ink:
    """Colours as ``#rrggbb``, empty for none; lengths in px; ``dash`` as lengths on and off."""

    fill: str = ""
    fill_opacity: float = 1.0
    stroke: str = ""
    stroke_opacity: float = 1.0
    width: float = 1.0
    cap: str = "butt"
    join: str = "miter"
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """A path that is filled by the even-odd rule, and stroked."""

    ink: Ink
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class TextMark:
    """A line of text whose baseline starts at (``x``, ``y``); ``size`` and ``width`` in px."""

    ink: Ink
    x: float
    y: float
    text: str
    size: float
    width: float
    bold: bool = False
    italic: bool = False

    def outline(self) -> Outline:
        """Its letters as shapes."""
        path = QPainterPath()
        letters, pixels = _letters(self.size, bold=self.bold, italic=self.italic)
        path.addText(0.0, 0.0, letters, self.text)
        scale = self.size / pixels
        steps = _moved(_steps_of(path), (scale, 0.0, 0.0, scale, self.x, self.y))
        return Outline(self.ink, tuple(steps))


@dataclass(frozen=True, slots=True)
class Raster:
    """A large image in a rectangle, as the Base64 of a PNG file."""

    ink: Ink
    left: float
    top: float
    width: float
    height: float
    png: str

    def outlines(self) -> Iterator[Outline]:
        """Its pixels as rectangles, at most ``_MOST_PIXELS`` along each side."""
        image = QImage.fromData(base64.b64decode(self.png))
        if max(image.width(), image.height()) > _MOST_PIXELS:
            keep, smooth = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode
            image = image.scaled(_MOST_PIXELS, _MOST_PIXELS, keep, smooth.SmoothTransformation)
        step = (self.width / image.width(), self.height / image.height())
        return _boxes(image, (step[0], 0.0, 0.0, step[1], self.left, self.top))


Mark: TypeAlias = Outline | TextMark | Raster


def marks_of(picture: PagePicture, progress: Progress | None = None) -> list[Mark]:
    """The marks of a picture, from back to front."""
    drawn, size = QBuffer(), picture.size.toSize()
    generator = QSvgGenerator()
    generator.setOutputDevice(drawn)
    generator.setSize(QSize(size))
    generator.setViewBox(QRect(0, 0, size.width(), size.height()))
    with QPainter(generator) as painter:
        picture.paint(painter, progress)
    # Qt also writes characters that XML forbids.
    text = xml_text(bytes(drawn.data().data()).decode(errors="replace"))
    return list(_joined(_read(ElementTree.fromstring(text))))


def _read(root: ElementTree.Element) -> Iterator[Mark]:
    for group in root.iterfind(".//{*}g"):
        transform = _affine(group.get("transform", ""))
        for element in group:
            if not element.tag.endswith("}g"):
                attributes = {**group.attrib, **element.attrib}
                yield from _mark(element, attributes, transform)


def _mark(
    element: ElementTree.Element, given: Mapping[str, str], transform: _Affine
) -> Iterator[Mark]:
    tag = element.tag.rpartition("}")[2]
    ink = _ink(given, transform)
    if tag == "text":
        yield from _label(element.text or "", given, ink, transform)
    elif tag == "image":
        yield from _pixels(given, transform)
    elif tag == "polyline":
        yield Outline(replace(ink, fill=""), tuple(_moved(_polyline(given["points"]), transform)))
    elif (steps := _shape(tag, given)) is not None:
        yield Outline(ink, tuple(_moved(steps, transform)))


def _ink(given: Mapping[str, str], transform: _Affine) -> Ink:
    scale = math.sqrt(abs(transform[0] * transform[3] - transform[1] * transform[2]))
    cosmetic = given.get("vector-effect") == "non-scaling-stroke"
    factor = 1.0 if cosmetic else scale
    return Ink(
        fill=_colour(given.get("fill", "none")),
        fill_opacity=float(given.get("fill-opacity", "1")),
        stroke=_colour(given.get("stroke", "none")),
        stroke_opacity=float(given.get("stroke-opacity", "1")),
        width=float(given.get("stroke-width", "1")) * factor,
        cap=given.get("stroke-linecap", "butt"),
        join=given.get("stroke-linejoin", "miter"),
        dash=tuple(factor * x for x in _numbers(given.get("stroke-dasharray", ""))),
    )


def _label(text: str, given: Mapping[str, str], ink: Ink, transform: _Affine) -> Iterator[TextMark]:
    x, y = _point((float(given["x"]), float(given["y"])), transform)
    size = float(given["font-size"]) * transform[3]
    bold, italic = int(given["font-weight"]) > 500, given["font-style"] == "italic"
    letters, pixels = _letters(size, bold=bold, italic=italic)
    width = QFontMetricsF(letters).horizontalAdvance(text) * size / pixels
    yield TextMark(replace(ink, stroke=""), x, y, text, size, width, bold, italic)


def _letters(size: float, *, bold: bool, italic: bool) -> tuple[QFont, int]:
    """The font of the editor in a whole number of px near ``size``, and that number."""
    pixels = max(round(size), 1)
    return font(pixels, bold=bold, italic=italic), pixels


def _shape(tag: str, given: Mapping[str, str]) -> list[Step] | None:
    """The steps of a path, a rectangle, a circle or an ellipse; None for anything else."""
    number = {name: float(given.get(name, "0")) for name in ("x", "y", "cx", "cy", "r", "rx", "ry")}
    match tag:
        case "path":
            return list(_path(given["d"]))
        case "rect":
            left, top = number["x"], number["y"]
            return _rectangle(left, top, float(given["width"]), float(given["height"]))
        case "circle":
            return _ellipse(number["cx"], number["cy"], number["r"], number["r"])
        case "ellipse":
            return _ellipse(number["cx"], number["cy"], number["rx"], number["ry"])
    return None


def _path(text: str) -> Iterator[Step]:
    """The steps of the attribute ``d``, as Qt writes it: absolute, a letter for every step."""
    letter, numbers = "", list[float]()
    for found in _STEPS.finditer(text):
        if found[1]:
            if letter:
                yield letter, tuple(numbers)
            letter, numbers = found[1], []
        else:
            numbers.append(float(found[2]))
    if letter:
        yield letter, tuple(numbers)


def _polyline(text: str) -> list[Step]:
    numbers = _numbers(text)
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    return [("L" if place else "M", point) for place, point in enumerate(points)]


def _rectangle(left: float, top: float, width: float, height: float) -> list[Step]:
    right, bottom = left + width, top + height
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    return [("L" if place else "M", corner) for place, corner in enumerate(corners)] + [("Z", ())]


def _ellipse(cx: float, cy: float, rx: float, ry: float) -> list[Step]:
    a, b = _ROUND * rx, _ROUND * ry
    return [
        ("M", (cx + rx, cy)),
        ("C", (cx + rx, cy + b, cx + a, cy + ry, cx, cy + ry)),
        ("C", (cx - a, cy + ry, cx - rx, cy + b, cx - rx, cy)),
        ("C", (cx - rx, cy - b, cx - a, cy - ry, cx, cy - ry)),
        ("C", (cx + a, cy - ry, cx + rx, cy - b, cx + rx, cy)),
        ("Z", ()),
    ]


def _pixels(given: Mapping[str, str], transform: _Affine) -> Iterator[Outline | Raster]:
    """The pixels of an image as rectangles; a large one as a whole."""
    name = next(name for name in given if name.endswith("href"))
    png = given[name].partition(",")[2]
    image = QImage.fromData(base64.b64decode(png))
    left, top = float(given["x"]), float(given["y"])
    width, height = float(given["width"]), float(given["height"])
    if image.width() * image.height() >= _LARGE:
        x, y = _point((left, top), transform)
        right, bottom = _point((left + width, top + height), transform)
        yield Raster(Ink(), x, y, right - x, bottom - y, png)
        return
    a, b, c, d, *_ = transform
    wide, high = width / max(image.width(), 1), height / max(image.height(), 1)
    x, y = _point((left, top), transform)
    yield from _boxes(image, (a * wide, b * wide, c * high, d * high, x, y))


def _boxes(image: QImage, transform: _Affine) -> Iterator[Outline]:
    """The pixels of an image as rectangles, one for each run of the same colour in a row; what is
    clear is left out.
    """
    image = image.convertToFormat(QImage.Format.Format_ARGB32)
    for y in range(image.height()):
        start = 0
        for x in range(1, image.width() + 1):
            if x < image.width() and image.pixel(x, y) == image.pixel(start, y):
                continue
            colour = image.pixelColor(start, y)
            if colour.alpha():
                box = _rectangle(start, y, x - start, 1)
                yield Outline(Ink(fill=colour.name()), tuple(_moved(box, transform)))
            start = x


def _joined(marks: Iterator[Mark]) -> Iterator[Mark]:
    """The marks, with the lines that Qt draws for a curve as one, and the parts of a text.

    The parts of a text may be blank, but a text of its own that is blank is none.
    """
    current: Mark | None = None
    for mark in marks:
        longer = _continued(current, mark) or _lengthened(current, mark)
        if current is not None and longer is None and not _is_blank(current):
            yield current
        current = longer or mark
    if current is not None and not _is_blank(current):
        yield current


def _is_blank(mark: Mark) -> bool:
    return isinstance(mark, TextMark) and not mark.text.strip()


def _lengthened(label: Mark | None, mark: Mark) -> TextMark | None:
    """One label for two, if the second starts where the first ends and looks the same."""
    if not isinstance(label, TextMark) or not isinstance(mark, TextMark):
        return None
    start = replace(mark, x=label.x, text=label.text, width=label.width)
    if start != label or abs(label.x + label.width - mark.x) > _SEAM:
        return None
    return replace(label, text=label.text + mark.text, width=mark.x + mark.width - label.x)


def _continued(line: Mark | None, mark: Mark) -> Outline | None:
    """One line for two, if the second starts on the end of the first and goes on the same way."""
    if not isinstance(line, Outline) or not isinstance(mark, Outline):
        return None
    if not _is_line(mark) or not _is_line(line):
        return None
    if replace(mark.ink, join="") != replace(line.ink, join=""):
        return None
    (ax, ay), (bx, by) = (step[1] for step in line.steps[-2:])
    (cx, cy), (dx, dy) = (step[1] for step in mark.steps[:2])
    along = math.hypot(bx - ax, by - ay) or 1.0
    past = ((cx - bx) * (bx - ax) + (cy - by) * (by - ay)) / along
    onward = (dx - cx) * (bx - ax) + (dy - cy) * (by - ay)
    if math.hypot(cx - bx, cy - by) > _OVERLAP or past > 0.05 or onward <= 0.0:
        return None
    middle = ((bx + cx) / 2.0, (by + cy) / 2.0)
    steps = (*line.steps[:-1], ("L", middle), *mark.steps[1:])
    return Outline(replace(line.ink, join="round"), steps)


def _is_line(mark: Outline) -> bool:
    letters = [letter for letter, _ in mark.steps]
    is_open = letters[0] == "M" and set(letters[1:]) == {"L"}
    return is_open and not (mark.ink.fill or mark.ink.dash)


def _steps_of(path: QPainterPath) -> list[Step]:
    """The steps of a path of Qt; a curve is three elements there."""
    found: list[Step] = []
    place = 0
    while place < path.elementCount():
        at = path.elementAt(place)
        if at.isCurveTo():
            points = [path.elementAt(place + i) for i in range(3)]
            numbers = tuple(value for point in points for value in (point.x, point.y))
            found.append(("C", numbers))
            place += 3
            continue
        if at.isMoveTo() and found:
            found.append(("Z", ()))
        found.append(("M" if at.isMoveTo() else "L", (at.x, at.y)))
        place += 1
    return [*found, ("Z", ())] if found else []


def _moved(steps: list[Step], transform: _Affine) -> Iterator[Step]:
    for letter, numbers in steps:
        points = zip(numbers[::2], numbers[1::2], strict=True)
        yield letter, tuple(value for point in points for value in _point(point, transform))


def _point(point: tuple[float, float], transform: _Affine) -> tuple[float, float]:
    a, b, c, d, e, f = transform
    x, y = point
    return a * x + c * y + e, b * x + d * y + f


def _affine(text: str) -> _Affine:
    numbers = _numbers(text)
    if len(numbers) != 6:
        return 1.0, 0.0, 0.0, 1.0, 0.0, 0.0
    a, b, c, d, e, f = numbers
    return a, b, c, d, e, f


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in _NUMBER.findall(text))


def _colour(text: str) -> str:
    return "" if text == "none" else {"black": "#000000"}.get(text, text)
