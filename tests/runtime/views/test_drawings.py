"""Pictures as SVG: they are XML, have what is shown, and run nothing."""

from __future__ import annotations

import base64
import re
from io import BytesIO
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image as Pillow

import gradwire as gw
from gradwire.runtime.engine import Session
from gradwire.runtime.views.colours import CLASSES
from gradwire.runtime.views.drawings import data_uri, drawing
from gradwire.runtime.views.pictures import NoPicture
from gradwire.runtime.views.views import Views


def drawn(view: Any) -> str:
    session = Session(gw.build(view.named("view")), partial=True)
    values = session.run().values
    shown = Views().pictures(session.diagram, session.program, values)["view"]
    return drawing(shown, 220.0, 160.0)


def pixels(svg: str) -> Any:
    (data,) = re.findall(r'href="data:image/png;base64,([^"]*)"', svg)
    return np.asarray(Pillow.open(BytesIO(base64.b64decode(data))).convert("RGBA"))


def constant(value: Any, name: str = "x") -> Any:
    return gw.constant(name, value)


def test_an_image_has_its_pixels() -> None:
    found = pixels(drawn(gw.image(constant([[0.0, 1.0], [np.nan, 0.5]]))))
    assert found.shape == (2, 2, 4)
    assert found[0, 0].tolist() == [0, 0, 0, 255] and found[0, 1].tolist() == [255, 255, 255, 255]
    assert found[1, 0].tolist() == [179, 16, 143, 255]


def test_what_lies_between_images_is_clear() -> None:
    found = pixels(drawn(gw.image(constant(np.ones((2, 4, 4))), columns=2)))
    assert found.shape == (4, 9, 4)
    assert found[:, 4, 3].max() == 0 and found[:, :4, 3].min() == 255


def test_a_field_is_clear_at_its_centre() -> None:
    @gw.page
    def line(p: Any) -> Any:
        return p[:, 0]

    points = constant([[-1.0, -1.0], [1.0, 1.0]])
    used = gw.loss(gw.sum(line(points)))
    field = gw.field(points, name="view", page="line", resolution=5)
    session = Session(gw.build(used, field))
    values = session.run().values
    shown = Views().pictures(session.diagram, session.program, values)["view"]
    svg = drawing(shown, 220.0, 160.0)
    found = pixels(svg)
    assert found[0, 2, 3] == 0 and found[0, 0, 3] == found[0, 4, 3] > 100
    assert tuple(found[0, 0, :3]) == CLASSES[0] and tuple(found[0, 4, :3]) == CLASSES[1]
    (name,) = re.findall(r'<path id="(\w+)" d="M[^"]*?h0M[^"]*?h0"', svg)
    assert svg.count(f'<use href="#{name}"') == 2 and svg.count('stroke="#ffffff"') == 1
    assert re.search(r'<path d="M[\d. L]+', svg)


def test_points_lines_and_bars_are_there() -> None:
    scatter = drawn(gw.scatter(constant([[0.0, 0.0], [1.0, 9.0], [1.0, 1.0]]), y_max=2.0))
    assert scatter.count("h0") == 2 and "1 beyond the axes" in scatter
    assert drawn(gw.histogram(constant([0.0, 1.0]), bins=7)).count("<rect") == 8
    assert "x 3" in drawn(gw.plot(constant(3.0)))


def test_texts_are_never_markup() -> None:
    svg = drawing(NoPicture(summary='<script>&"'), 200.0, 100.0)
    root = ElementTree.fromstring(svg)
    assert not list(root.iter("script")) and "<script>" not in svg


@pytest.mark.parametrize("view", ["Plot", "Scatter", "Image", "Histogram", "Field"])
def test_every_view_is_xml_even_unwired(view: str) -> None:
    svg = drawn(gw.block(view))
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    address = data_uri(svg)
    assert unquote(address.partition(",")[2]).replace("'", '"') == svg.replace("'", '"')
    assert not set('"#') & set(address)


def test_a_picture_of_few_colours_has_a_palette_and_one_of_many_none() -> None:
    few = constant(np.tile([[0.0, 1.0]], (40, 40)))
    assert pixels(drawn(gw.image(few))).shape == (40, 80, 4)
    many = np.random.default_rng(0).random((40, 40, 3))
    found = pixels(drawn(gw.image(constant(many))))
    assert np.abs(found[..., :3] / 255 - many).max() < 0.01
    assert len(drawn(gw.image(few))) < 2_000 < len(drawn(gw.image(constant(many))))
