"""Blocks with problems are marked, the culprit at any zoom."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor

from gradwire.app.canvas.paint import painter
from gradwire.app.canvas.paint.highlights import RADIUS, paint_problems
from gradwire.app.canvas.paint.painter import paint
from gradwire.app.canvas.paint.wires import lanes
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.view_state import ViewState
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.app.services.theme import LIGHT
from gradwire.blocks.errors import Location
from gradwire.runtime.diagram import Diagnostic
from gradwire.runtime.diagram.layout.measures import WIDTH
from gradwire.runtime.diagram.paths import InstancePath
from tests.app.canvas.pages import block, diagram, seed
from tests.app.canvas.paint.recording import recorder, texts

AREA = QRectF(0.0, 0.0, 1600.0, 800.0)
ZOOMS = (1.0, 0.59, 0.29, 0.15, 0.02)


def view_of(shown, camera, **severities) -> ViewState:
    found = tuple(
        Diagnostic(severity, Location("main", name, None), "wrong")
        for name, severity in severities.items()
    )
    scene = Scene(shown, "main")
    return ViewState(
        scene, resolve(scene, EvaluationResult(shown, diagnostics=found)), camera, LIGHT
    )


def marks(monkeypatch, view):
    """The discs of the marks on a page: colour, centre and radius in the widget."""
    found = recorder(monkeypatch, lanes, painter)
    monkeypatch.setattr(painter, "draw_rects", lambda *_: None)
    paint(found, view, AREA, None)
    signs = [text for text in texts(found) if text.words in ("!", "i")]
    discs = [call for call in found.drawn("drawEllipse") if call.arguments[1] == RADIUS]
    return list(zip(discs, signs, strict=True))


@pytest.mark.parametrize("zoom", ZOOMS)
def test_the_culprit_is_marked_at_any_zoom_at_the_same_size(qapp, monkeypatch, zoom):
    view = view_of(seed(), Camera(zoom, 50.0, 60.0), mul1="error", a="warning", b="info")
    culprit = next(pair for pair in marks(monkeypatch, view) if pair[1].words == "!")
    disc, sign = max(marks(monkeypatch, view), key=lambda p: p[0].brush.color() == LIGHT.error)
    assert disc.brush.color() == QColor(LIGHT.error)
    assert (sign.pixels, culprit[1].pixels) == (11.0, 11.0)
    x = 50.0 + zoom * (240.0 + WIDTH - 3.0)
    assert sign.ink.center().x() == pytest.approx(x, abs=1.5)
    assert sign.ink.center().y() == pytest.approx(60.0 + zoom * 3.0, abs=2.5)


def test_near_all_problems_are_marked_and_from_afar_the_worst_alone(qapp, monkeypatch):
    kinds = {"mul1": "warning", "a": "info", "b": "warning"}
    near = marks(monkeypatch, view_of(seed(), Camera(1.0, 50.0, 50.0), **kinds))
    colours = sorted(disc.brush.color().name() for disc, _ in near)
    expected = [LIGHT.warning, LIGHT.warning, LIGHT.ink_soft]
    assert colours == sorted(QColor(colour).name() for colour in expected)
    assert sorted(sign.words for _, sign in near) == ["!", "!", "i"]
    far = marks(monkeypatch, view_of(seed(), Camera(0.4, 50.0, 50.0), **kinds))
    assert [sign.words for _, sign in far] == ["!", "!"]


def test_the_mark_lies_over_the_veil_of_a_traced_wire(qapp, monkeypatch):
    view = replace(view_of(seed(), Camera(1.0, 50.0, 50.0), mul1="error"), traced="add1.b")
    found = recorder(monkeypatch, lanes, painter)
    paint(found, view, AREA, None)
    names = [name for name, _ in found.calls]
    veil = len(names) - 1 - names[::-1].index("fillRect")
    assert any(
        name == "drawEllipse" and arguments == (QPointF(0.0, 0.0), RADIUS, RADIUS)
        for name, arguments in found.calls[veil:]
    )


def test_marks_that_would_lie_on_each_other_are_one(qapp, monkeypatch):
    names = [f"n{i}" for i in range(300)]
    layout = {name: (float(i), 0.0) for i, name in enumerate(names)}
    shown = diagram({name: block("Tanh") for name in names}, {}, layout)
    view = view_of(shown, Camera(0.1, 50.0, 50.0), **dict.fromkeys(names, "error"))
    assert 1 <= len(marks(monkeypatch, view)) <= 4


def test_on_the_screen_a_mark_is_a_picture_of_its_size(qapp, monkeypatch):
    view = view_of(seed(), Camera(0.1, 50.0, 50.0), mul1="error")
    found = recorder(monkeypatch)
    everywhere = view.camera.area(0.0, 0.0, 1600.0, 800.0)
    paint_problems(found, view, everywhere, ratio=2.0, vector=False)
    ((corner, picture),) = found.of("drawPixmap")
    assert picture.deviceIndependentSize().width() == 2 * RADIUS + 2.0
    assert corner.x() == pytest.approx(50.0 + 0.1 * (240.0 + WIDTH - 3.0) - RADIUS - 1.0)
    elsewhere = view.camera.area(900.0, 0.0, 100.0, 100.0)
    found = recorder(monkeypatch)
    paint_problems(found, view, elsewhere, ratio=2.0, vector=False)
    assert not found.calls


@pytest.mark.parametrize("zoom", ZOOMS)
def test_culprits_of_the_doctor_are_marked_at_any_zoom(qapp, monkeypatch, zoom):
    view = view_of(seed(), Camera(zoom, 50.0, 60.0), add1="error")
    culprits = {InstancePath("mul1"): "warning", InstancePath("elsewhere"): "error"}
    shown = marks(monkeypatch, replace(view, culprits=culprits))
    expected = [QColor(LIGHT.error).name(), QColor(LIGHT.warning).name()]
    if zoom > 0.02:  # there the two marks would lie on each other
        assert [disc.brush.color().name() for disc, _ in reversed(shown)] == expected
    assert {sign.pixels for _, sign in shown} == {11.0}
