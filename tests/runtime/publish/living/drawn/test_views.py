"""Views on published pages: pictures of the numbers that the file has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import gradwire as gw
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.drawn.picture import shown_views
from gradwire.runtime.publish.living.publishing import publish, still

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram


def small(*, views: bool = True) -> Diagram:
    w = gw.variable("w", [1.0, 2.0])
    loss = gw.loss(gw.sum(w**2), name="loss")
    shown = [gw.histogram(w, name="counts"), gw.plot(loss, name="curve")] if views else []
    return gw.build(loss, *shown)


def blocks(diagram: Diagram) -> dict[str, Any]:
    return {block[0]: block for block in living_data(diagram).data["pages"]["main"]["blocks"]}


def test_a_page_has_what_views_show_and_how_large_they_are() -> None:
    more = blocks(small())["counts"][10]
    assert more["width"] == 240 and more["shows"].startswith("2 values")
    svg = unquote(more["view"].partition(",")[2])
    assert svg.startswith("<svg") and svg.count("<rect") == 31
    assert "view" not in blocks(small())["w"][10] and "width" not in blocks(small())["w"][10]


def test_wires_into_views_are_marked() -> None:
    assert living_data(small()).data["shown"] == ["counts.x", "curve.values.0"]
    assert "role-absent" not in still(small()) and "<image" in still(small())


def test_pictures_are_allowed_and_nothing_else_is_fetched() -> None:
    html = publish(small())
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    assert "img-src data:" in policy and "http" not in policy
    assert publish(small()) == html, "the same diagram gives the same bytes"


def test_without_views_nothing_is_run_for_them() -> None:
    assert shown_views(small(views=False)) == {}
    assert "<image" not in still(small(views=False))
