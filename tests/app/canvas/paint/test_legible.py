"""Text is drawn at a size that can be read, or not at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QRectF

from gradwire.app.canvas.paint import painter
from gradwire.app.canvas.paint.blocks.faces import draw_face
from gradwire.app.canvas.paint.drawing import LEAST
from gradwire.app.canvas.paint.painter import paint
from gradwire.app.canvas.paint.wires import lanes
from gradwire.app.canvas.scene.camera import NUMBERS, PLAIN, Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.formatting import one_number
from gradwire.app.canvas.state.looks import row_counts, summary_of
from gradwire.app.canvas.state.marks import Route
from gradwire.app.canvas.state.view_state import ViewState
from gradwire.app.evaluation.concealment import concealed
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.services.theme import LIGHT
from gradwire.blocks.library.sources import Constant
from gradwire.runtime.diagram import Note, Point
from gradwire.runtime.diagram.layout.measures import WIDTH
from tests.app.canvas.pages import block, diagram, page
from tests.app.canvas.paint.recording import Recorder, recorder, texts
from tests.app.gallery import states

ZOOMS = (1.0, 0.7, 0.59, 0.45, 0.29, 0.15)
NOTES = {
    "n": Note("Some words that need several lines of their note.", Point(0.0, -200.0), 200, 60),
    "f": Note("A title", Point(-20.0, -60.0), 600, 300, frame=True),
}


@pytest.fixture(scope="module")
def result():
    shown = states()
    blocks = {**shown.main.blocks, "wide": Constant(value=np.full((3, 4), -1.234e-38))}
    blocks["many"] = Constant(value=np.arange(90.0).reshape(9, 10))
    layout = {**shown.main.layout, "wide": Point(0.0, 1500.0), "many": Point(300.0, 1500.0)}
    full = replace(shown.main, blocks=blocks, layout=layout, notes=NOTES)
    return evaluate(shown.with_page("main", full))


@pytest.fixture
def view(qapp, result) -> ViewState:
    scene = Scene(result.diagram, "main")
    annotations = resolve(scene, result)
    scene.set_rows(row_counts(annotations.page))
    return ViewState(scene, annotations, Camera(), LIGHT)


def seen(monkeypatch, view: ViewState, zoom: float) -> Recorder:
    """The page painted at a zoom, all of it within the area."""
    found = recorder(monkeypatch, lanes, painter)
    monkeypatch.setattr(painter, "draw_rects", lambda *_: None)
    view = replace(view, camera=Camera(zoom, 2000.0, 2000.0))
    paint(found, view, QRectF(0.0, 0.0, 9000.0, 9000.0), None)
    return found


def look_at(view: ViewState, number: int, zoom: float):
    annotations = view.annotations
    return annotations.look(number) if zoom >= NUMBERS else annotations.plain_look(number)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("zoom", ZOOMS)
def test_no_text_is_smaller_than_can_be_read(monkeypatch, view, zoom):
    route = Route("off.x", {"c": "1"}) if zoom < NUMBERS else None
    for shown in (view, replace(view, route=route)):
        words = texts(seen(monkeypatch, shown, zoom))
        assert {text.words: text.pixels for text in words if text.pixels < LEAST - 1e-6} == {}
        assert words


@pytest.mark.parametrize("zoom", [zoom for zoom in ZOOMS if zoom >= PLAIN])
def test_what_is_on_a_face_stays_within_its_block(view, zoom):
    for number in range(len(view.scene.names)):
        look = replace(look_at(view, number, zoom), badges=(), inside=None)
        found = Recorder()
        found.scale(zoom, zoom)
        draw_face(found, look, LIGHT, zoom)
        block_box = QRectF(0.0, 0.0, WIDTH * zoom, look.height * zoom).adjusted(-1, -1, 1, 1)
        outside = [text.words for text in texts(found) if not block_box.contains(text.ink)]
        assert outside == []


@pytest.mark.parametrize("zoom", [0.59, 0.45, 0.3])
def test_below_the_zoom_of_numbers_a_name_and_one_number_remain(view, zoom):
    for name, number in (
        ("a", "∇ 0.7864"),
        ("tanh", "0.4621"),
        ("many", "rms 51.53"),
        ("c", "∇ 0"),
    ):
        look = look_at(view, view.scene.index[name], zoom)
        assert look.summary[0] == number
        found = Recorder()
        found.scale(zoom, zoom)
        draw_face(found, look, LIGHT, zoom)
        words = [text.words for text in texts(found)]
        assert len(words) == 2
        assert any(word[0] == name[0] for word in words)
        assert any(word in look.summary for word in words)


def test_a_variable_whose_gradient_is_to_be_predicted_shows_its_value(result):
    scene = Scene(result.diagram, "main")
    hidden = resolve(scene, concealed(result, frozenset({"gradients"}))).page
    number = summary_of(hidden, scene.index["a"])
    assert number == one_number(result.values["a.out"])
    assert summary_of(resolve(scene, result).page, scene.index["a"]) != number


def test_what_remains_grows_in_relation_to_its_block(view):
    def size(zoom: float) -> float:
        found = Recorder()
        draw_face(found, look_at(view, view.scene.index["tanh"], zoom), LIGHT, zoom)
        return texts(found)[0].pixels

    assert size(1.0) < size(0.59) < size(0.3)


def test_from_afar_symbols_and_the_names_of_frames_and_pages_remain(monkeypatch, qapp):
    inner = page({"y": block("PageOutput")})
    shown = diagram({"enc": block("Page", page="inner"), "w": block("Tanh")}, notes=NOTES)
    scene = Scene(replace(shown, pages={**shown.pages, "inner": inner}), "main")
    view = ViewState(scene, resolve(scene, None), Camera(), LIGHT)
    found = seen(monkeypatch, view, 0.29)
    assert {text.words for text in texts(found)} == {"A title", "inner"}
    assert len(found.of("fillPath")) == 1
    far = seen(monkeypatch, view, 0.1)
    assert {text.words for text in texts(far)} == {"A title"}
    assert not far.of("fillPath")


@pytest.mark.parametrize("zoom", ZOOMS)
def test_titles_and_notes_stay_within_their_width(monkeypatch, view, zoom):
    long = {name: replace(note, text=note.text * 9) for name, note in NOTES.items()}
    shown = replace(view, dragged_notes=long)
    words = [t for t in texts(seen(monkeypatch, shown, zoom)) if t.words[:4] in ("A ti", "Some")]
    assert words
    for text in words:
        note = NOTES["f" if text.words.startswith("A ti") else "n"]
        left = 2000.0 + zoom * note.at.x
        assert left <= text.ink.left()
        assert text.ink.right() <= left + zoom * note.width + 1.0
