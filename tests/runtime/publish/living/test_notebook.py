"""Diagrams and sessions show themselves in notebooks."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np

import gradwire as gw
from gradwire.runtime.publish.living import notebook
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.writing.html import page
from tests.runtime.publish.living.test_loops import layer
from tests.runtime.publish.living.writing.test_html import NASTY, small

if TYPE_CHECKING:
    import pytest


def shown(subject: gw.Diagram | gw.Session) -> str:
    """The document in the frame."""
    html = subject._repr_html_()
    assert html.startswith('<iframe sandbox="allow-scripts allow-downloads"')
    (document,) = re.findall(r'srcdoc="([^"]*)"', html)
    return unescape(document)


def test_a_diagram_is_its_page() -> None:
    assert shown(small()) == page(living_data(small(), notebook.MOST_SETTINGS).data, "")


def test_a_session_has_the_values_that_it_has_now(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(notebook, "page", lambda data, fallback: seen.append(data) or "")
    session = gw.Session(small())
    session.set("w", np.float32(7.5))
    assert session._repr_html_() and json.dumps(seen[0]["leaves"]["w"]["data"]) == "[7.5]"


def test_what_is_too_large_for_a_cell_is_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "MOST_BLOCKS", 1)
    document = shown(small())
    assert "This page is a picture" in document and "<svg" in document


def test_a_loop_that_is_too_long_for_a_cell_is_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "MOST_RUN", 60)
    document = shown(layer("rnn", 12))
    assert re.search(r"All steps have \d{3} blocks; notebooks show 60 alive", document)


def test_a_diagram_with_errors_is_a_picture() -> None:
    broken = gw.build(gw.loss(gw.block("MatMul", gw.variable("w", 1.0), gw.variable("v", 2.0))))
    assert "This page is a picture" in shown(broken)


def test_titles_stay_in_their_attribute() -> None:
    html = small(title=NASTY)._repr_html_()
    assert html.count("<") == 2 and html.endswith("></iframe>")


def test_publish_is_public() -> None:
    assert gw.publish(small()).startswith("<!doctype html>")
