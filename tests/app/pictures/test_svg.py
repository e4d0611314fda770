"""SVG that every browser shows, whatever a file says."""

from __future__ import annotations

import base64
import re
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from PySide6.QtCore import QByteArray
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from gradwire.app.pictures.options import Lettering
from gradwire.app.pictures.svg import _path, svg
from gradwire.app.services.theme import DARK, LIGHT
from gradwire.runtime.flow import State
from tests.app.pictures.conftest import STRANGE

SVG = "{http://www.w3.org/2000/svg}"
KNOWN = {f"{SVG}{tag}" for tag in ("svg", "title", "g", "path", "text")}


@pytest.mark.parametrize("lettering", [Lettering.SHAPES, Lettering.TEXT])
def test_it_is_xml_without_links_scripts_or_styles(picture, lettering):
    text = svg(picture(lettering=lettering), "a<&\x1b\ufffe")
    root = ElementTree.fromstring(text)
    assert {element.tag for element in root.iter()} <= KNOWN
    names = {name for element in root.iter() for name in element.attrib}
    assert not {name for name in names if "href" in name or name.startswith("on")}
    assert root.findtext(f"{SVG}title") == "a<&␛\ufffd"
    assert "url(" not in text


def test_text_is_text_in_a_family_that_browsers_know(picture):
    root = ElementTree.fromstring(svg(picture(lettering=Lettering.TEXT), ""))
    texts = root.findall(f".//{SVG}text")
    assert STRANGE in {element.text for element in texts}
    # Qt begins another element where it takes another font.
    assert "日本 <script>alert(1)</script> ∇ 10⁻³" in "".join(element.text for element in texts)
    assert {element.get("font-family") for element in texts} == {"sans-serif"}
    for element in texts:
        has_width = float(element.get("textLength", "0")) > 0.0
        assert has_width is (len(element.text) > 1)


@pytest.mark.night
def test_embedded_fonts_have_the_letters_shown_and_no_others(picture):
    root = ElementTree.fromstring(svg(picture(lettering=Lettering.EMBEDDED), ""))
    assert {element.tag for element in root.iter()} <= KNOWN | {f"{SVG}style"}
    texts = root.findall(f".//{SVG}text")
    (families,) = {element.get("font-family") for element in texts}
    sheet = root.findtext(f"{SVG}style")
    faces = re.findall(r"font-family:('[^']+');font-weight:(\d+)[^@]+base64,([^)]+)", sheet)
    held: dict[tuple[bool, bool], set[str]] = {}
    for family, weight, content in faces:
        assert family in families
        letters = map(chr, TTFont(BytesIO(base64.b64decode(content))).getBestCmap())
        held.setdefault((family == "'Noto Sans'", weight == "700"), set()).update(letters)
    shown = {(c, t.get("font-weight") == "700") for t in texts for c in t.text}
    assert set().union(*held.values()) == {c for c, _ in shown} - set("日本")  # which it lacks
    signs = held[False, False]
    assert "∇" in signs
    assert held[True, True] | signs >= {c for c, bold in shown if bold}
    assert families.endswith("sans-serif")


@pytest.mark.night
def test_embedded_fonts_take_less_room_than_shapes(picture):
    shapes, embedded = (
        len(svg(picture(lettering=each), "")) for each in (Lettering.SHAPES, Lettering.EMBEDDED)
    )
    assert embedded < shapes


@pytest.mark.night
def test_without_the_typeface_text_to_embed_becomes_shapes(picture, monkeypatch):
    drawn = picture(lettering=Lettering.EMBEDDED)
    monkeypatch.setattr("gradwire.app.pictures.svg.can_embed", lambda: False)
    assert svg(drawn, "") == svg(picture(lettering=Lettering.SHAPES), "")


def test_shapes_need_no_font(picture):
    root = ElementTree.fromstring(svg(picture(lettering=Lettering.SHAPES), ""))
    assert not root.findall(f".//{SVG}text")


def test_relative_steps_end_where_the_absolute_ones_do():
    line = [("L", (10.004 + i / 3, 20.0 - i / 7)) for i in range(1, 300)]
    curve = ("C", (0.5, 0.5, -0.25, 3.0, 7.0, 8.125))
    steps = [("M", (10.004, 20.0)), *line, curve, ("Z", ()), ("M", (1.0, 1.0)), ("L", (2.0, 2.0))]
    text = _path(tuple(steps))
    x = y = 0.0
    ends = []
    for letter, numbers in re.findall(r"([mlcz])([^mlcz]*)", text):
        if letter == "z":
            x, y = ends[0]
            continue
        values = [float(found) for found in re.findall(r"-?\d*\.?\d+", numbers)]
        x, y = x + values[-2], y + values[-1]
        ends.append((x, y))
    expected = [numbers[-2:] for letter, numbers in steps if letter != "Z"]
    assert len(ends) == len(expected)
    assert np.abs(np.subtract(ends, expected)).max() < 0.0051
    assert len(text) < 0.7 * sum(len(f"L{x:.2f} {y:.2f}") for x, y in expected)


def test_a_width_on_paper_is_in_centimetres(picture):
    root = ElementTree.fromstring(svg(picture(width=12.0), ""))
    _, _, width, height = map(float, root.get("viewBox").split())
    assert root.get("width") == "12cm"
    assert float(root.get("height").removesuffix("cm")) == pytest.approx(
        12.0 * height / width, abs=1e-3
    )
    assert float(ElementTree.fromstring(svg(picture(), "")).get("width")) == width


@pytest.mark.night
@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_it_shows_what_the_canvas_shows(picture, theme):
    drawn = picture(theme=theme.name)
    renderer = QSvgRenderer(QByteArray(svg(drawn, "").encode()))
    assert renderer.isValid()
    image = QImage(drawn.size.toSize(), QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        renderer.render(painter)
    steps = range(image.width()), range(0, image.height(), 2)
    colours = {image.pixelColor(x, y).name() for x in steps[0] for y in steps[1]}
    assert image.pixelColor(2, 2).name() == theme.canvas
    expected = (theme.lane(State.CARRIES), theme.face("arithmetic"), theme.face("losses"))
    assert {colour.name() for colour in expected} <= colours
