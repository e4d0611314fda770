"""Pictures as SVG on any ground, light or dark, for pages and documents."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

import numpy as np

from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.views.colours import (
    CLASSES,
    FIRST,
    LAST,
    NOT_FINITE,
    classes,
    grey,
    sequential,
)
from gradwire.runtime.views.pictures import (
    FieldPicture,
    HistogramPicture,
    ImagePicture,
    NoPicture,
    Picture,
    PlotPicture,
    ScatterPicture,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.runtime.views.axes import Axis, Floats
    from gradwire.runtime.views.pictures import PointMarks, Scale

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, width and height, px."""

_INK = "#7b838c"
"""Legible on light and dark grounds."""
_RIM = "#ffffff"
_BAD = (179, 16, 143)
_PLAIN = "".join(map(chr, range(32, 127)))
"""What an address has as it is, besides what ``data_uri`` replaces."""
_SIZE = 10
_LETTER = 5.6
_STEP = 6.0
"""Of the 255 levels of a field."""
_PALETTE = 256
"""Colours that a palette of a PNG has room for."""
_LEFT, _BELOW = 34.0, 14.0


def drawing(picture: Picture, width: float, height: float) -> str:
    """An SVG document of a picture, ``width`` × ``height`` px, on a clear ground."""
    box = (1.0, 3.0, width - 2.0, height - 4.0)
    if picture.notes:
        box = (box[0], box[1], box[2], box[3] - 13.0)
    parts = [*_content(picture, box)]
    if picture.notes:
        parts.append(_text(2.0, height - 3.0, "⚠ " + " · ".join(picture.notes), int(width)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" font-size="{_SIZE}">'
        f"<title>{escape(picture.summary)}</title>{''.join(parts)}</svg>"
    )


def data_uri(svg: str) -> str:
    """A document as an address that an image can have; as text, which packs better than base64."""
    plain = svg.replace("%", "%25").replace("#", "%23").replace("'", "%27").replace('"', "'")
    return "data:image/svg+xml," + quote(plain, safe=_PLAIN)


def _content(picture: Picture, box: Box) -> Iterator[str]:
    left, top, width, height = box
    match picture:
        case NoPicture():
            yield _text(left + width / 2, top + height / 2, picture.summary, int(width), "middle")
        case ImagePicture():
            rows, columns = picture.pixels.shape[:2]
            scale = min(width / columns, height / rows)
            wide, high = columns * scale, rows * scale
            place = (left + (width - wide) / 2, top + (height - high) / 2, wide, high)
            yield _image(_coloured(picture.pixels, picture.scale, picture.gaps), place, sharp=True)
        case FieldPicture():
            inner = _inner(box)
            yield _image(_coloured(_stepped(picture.levels), picture.scale), inner, sharp=False)
            yield from _pieces(picture.lines, picture.x, picture.y, inner)
            yield from _marks(picture.marks, picture.x, picture.y, inner, field=True)
            yield from _axes(picture.x, picture.y, inner)
        case ScatterPicture():
            inner = _inner(box)
            yield from _axes(picture.x, picture.y, inner)
            yield from _marks(picture.marks, picture.x, picture.y, inner)
        case HistogramPicture():
            inner = _inner(box)
            yield from _axes(picture.x, picture.y, inner)
            yield from _bars(picture, inner)
        case PlotPicture():
            inner = _inner(box)
            yield from _axes(picture.x, picture.y, inner)
            yield from _lines(picture, inner)


def _inner(box: Box) -> Box:
    left, top, width, height = box
    return left + _LEFT, top + 4.0, width - _LEFT - 6.0, height - _BELOW - 4.0


def _axes(x: Axis, y: Axis, box: Box) -> Iterator[str]:
    """A border, with round numbers beside it."""
    left, top, width, height = box
    yield (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="none" stroke="{_INK}" stroke-opacity=".6"/>'
    )
    for tick in x.ticks(max(2, int(width / 55))):
        at = left + width * float(x.shares(tick))
        yield _text(at, top + height + 11.0, number(tick, 3), 99, "middle")
    for tick in y.ticks(max(2, int(height / 28))):
        at = top + height * (1.0 - float(y.shares(tick)))
        yield _text(left - 4.0, at + 3.5, number(tick, 3), 99, "end")


def _text(x: float, y: float, text: str, room: int, anchor: str = "start") -> str:
    most = max(3, int(room / _LETTER))
    shown = text if len(text) <= most else text[: most - 1] + "…"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_INK}">{escape(shown)}</text>'
    )


def _places(points: Floats, x: Axis, y: Axis, box: Box) -> Floats:
    """Points (n, 2) in the box; NaN for those beyond the axes."""
    shares = np.column_stack([x.shares(points[:, 0]), y.shares(points[:, 1])])
    with np.errstate(invalid="ignore"):
        beyond = ~((shares >= 0.0) & (shares <= 1.0)).all(axis=1)
    shares[beyond] = np.nan
    left, top, width, height = box
    return np.column_stack([left + width * shares[:, 0], top + height * (1.0 - shares[:, 1])])


def _marks(
    marks: Sequence[PointMarks], x: Axis, y: Axis, box: Box, *, field: bool = False
) -> Iterator[str]:
    """Discs and crosses; those over a field have a rim, which sets them off from its colours.

    One path for those that look alike: a disc is a line without length, with round ends.
    """
    paths: dict[tuple[str, bool], list[str]] = {}
    for each in marks:
        places = _places(each.points, x, y, box)
        colours = _mark_colours(each)
        for (across, down), colour in zip(places.tolist(), colours, strict=True):
            if across == across:
                drawn = (
                    f"M{_tenths(across - 2.5)} {_tenths(down - 2.5)}l5 5m-5 0l5-5"
                    if each.crosses
                    else f"M{_tenths(across)} {_tenths(down)}h0"
                )
                key = (_INK if each.crosses else colour, each.crosses)
                paths.setdefault(key, []).append(drawn)
    for (colour, is_cross), parts in paths.items():
        path = f'd="{"".join(parts)}" stroke-linecap="round"'
        if field and not is_cross:
            name = f"m{colour[1:]}"
            yield f'<defs><path id="{name}" {path}/></defs>'
            for stroke, width in ((_RIM, 5.6), (colour, 4)):
                yield f'<use href="#{name}" stroke="{stroke}" stroke-width="{width}"/>'
        else:
            yield f'<path {path} stroke="{colour}" stroke-width="{1.4 if is_cross else 4.8}"/>'


def _tenths(length: float) -> str:
    return f"{length:.1f}".removesuffix(".0")


def _mark_colours(marks: PointMarks) -> list[str]:
    if marks.levels is None:
        return [_hex(CLASSES[0])] * len(marks.points)
    if marks.scale == "classes":
        return [_hex(CLASSES[(level - FIRST) % len(CLASSES)]) for level in marks.levels.tolist()]
    table = sequential(_BAD)
    return [_hex(tuple(table[level].tolist())) for level in marks.levels.tolist()]


def _pieces(lines: Floats, x: Axis, y: Axis, box: Box) -> Iterator[str]:
    if len(lines):
        ends = _places(lines.reshape(-1, 2), x, y, box).reshape(-1, 4).tolist()
        path = "".join(
            f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends if a == a and c == c
        )
        yield f'<path d="{path}" fill="none" stroke="{_INK}" stroke-width="1.4"/>'


def _bars(picture: HistogramPicture, box: Box) -> Iterator[str]:
    left, top, width, height = box
    tops = np.nan_to_num(np.clip(picture.y.shares(picture.counts), 0.0, 1.0)).tolist()
    edges = (left + width * picture.x.shares(picture.edges)).tolist()
    for begin, end, share in zip(edges, edges[1:], tops, strict=False):
        yield (
            f'<rect x="{begin:.1f}" y="{top + height * (1 - share):.1f}" '
            f'width="{0.92 * (end - begin):.1f}" height="{height * share:.1f}" '
            f'fill="{_hex(CLASSES[0])}"/>'
        )


def _lines(picture: PlotPicture, box: Box) -> Iterator[str]:
    left, top, width, _ = box
    for i, line in enumerate(picture.lines):
        colour = _hex(CLASSES[i % len(CLASSES)])
        places = _places(np.column_stack([line.steps, line.values]), picture.x, picture.y, box)
        path, pen = "", "M"
        for across, down in places.tolist():
            path, pen = (
                (path, "M") if across != across else (f"{path}{pen}{across:.1f} {down:.1f}", "L")
            )
        yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
        if len(line.values) == 1 and path:
            across, down = places[0].tolist()
            yield f'<circle cx="{across:.1f}" cy="{down:.1f}" r="2.6" fill="{colour}"/>'
        said = f"{line.name} {number(line.values[-1])}"
        yield _text(left + width - 4.0, top + 12.0 * (i + 1), said, int(width), "end")


def _coloured(
    pixels: NDArray[np.uint8], scale: Scale, gaps: NDArray[np.bool_] | None = None
) -> NDArray[np.uint8]:
    """Red, green, blue and opacity (h, w, 4); the middle of a diverging scale is clear."""
    if pixels.ndim == 3:
        colours = pixels
        opacity = np.full(pixels.shape[:2], 255.0)
    elif scale == "diverging":
        away = (pixels.astype(float) - (FIRST + LAST) / 2) / ((LAST - FIRST) / 2)
        colours = np.where(away[..., None] < 0, CLASSES[0], CLASSES[1])
        bad = pixels == NOT_FINITE
        colours[bad] = _BAD
        opacity = np.where(bad, 255.0, 185.0 * np.abs(away))
    else:
        tables = {"sequential": sequential(_BAD), "grey": grey(_BAD)}
        table = tables[scale] if scale in tables else classes((255, 255, 255), 1.0, _BAD)
        colours = table[pixels]
        opacity = np.where((scale == "classes") & (pixels != NOT_FINITE), 120.0, 255.0)
    if gaps is not None:
        opacity = np.where(gaps, 0.0, opacity)
    return np.dstack([colours, np.broadcast_to(opacity, pixels.shape[:2])]).astype(np.uint8)


def _stepped(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The levels of a smooth picture in steps too small to be seen, which packs better."""
    middle = (FIRST + LAST) / 2
    steps = middle + _STEP * np.rint((levels - middle) / _STEP)
    return np.where(levels == NOT_FINITE, levels, steps.clip(FIRST, LAST)).astype(np.uint8)


def _image(colours: NDArray[np.uint8], place: Box, *, sharp: bool) -> str:
    left, top, width, height = place
    address = base64.b64encode(_png(colours)).decode()
    style = ' style="image-rendering:pixelated"' if sharp else ""
    return (
        f'<image x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'preserveAspectRatio="none" href="data:image/png;base64,{address}"{style}/>'
    )


def _png(colours: NDArray[np.uint8]) -> bytes:
    """A PNG file of red, green, blue and opacity (h, w, 4). Source: RFC 2083.

    With a palette where no more than 256 colours are different.
    """
    height, width = colours.shape[:2]
    known, places = np.unique(colours.reshape(-1, 4), axis=0, return_inverse=True)
    has_palette = len(known) <= _PALETTE
    pixels = places.astype(np.uint8) if has_palette else colours
    pixels = pixels.reshape(height, -1)
    rows = np.zeros((height, 1 + pixels.shape[1]), np.uint8)  # each begins with its filter, none
    rows[:, 1:] = pixels

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", width, height, 8, 3 if has_palette else 6, 0, 0, 0)
    body = chunk(b"IHDR", head)
    if has_palette:
        body += chunk(b"PLTE", known[:, :3].tobytes())
        if np.any(known[:, 3] < 255):
            body += chunk(b"tRNS", known[:, 3].tobytes())
    body += chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


def _hex(colour: Sequence[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)
