from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor

from gradwire.app.canvas.paint import notes
from gradwire.app.canvas.paint.blocks.faces import CORNER
from gradwire.app.canvas.paint.notes import note_height, paint_notes
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.tooltips import describe
from gradwire.app.canvas.state.view_state import Selection, ViewState
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import Note, Point
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import observe
from tests.app.canvas.pages import block, diagram
from tests.app.canvas.paint.recording import recorder

NOTE = Note("words", Point(100, 50), 200, 80)
FRAME = Note("title", Point(0, 0), 400, 300, frame=True)
EVERYWHERE = np.array([-1e4, -1e4, 1e4, 1e4])


def view_of(camera=None, **more) -> ViewState:
    shown = diagram({"w": block("Variable", value=1.0)}, notes={"n": NOTE, "f": FRAME})
    scene = Scene(shown, "main")
    camera = camera or Camera(2.0, 10.0, 20.0)
    return ViewState(scene, resolve(scene, None), camera, LIGHT, **more)


def painted(monkeypatch, view, *, frames, area=EVERYWHERE, grips=True):
    painter = recorder(monkeypatch)
    monkeypatch.setattr(
        notes, "draw_rects", lambda painter, rects: painter.calls.append(("drawRects", (rects,)))
    )
    paint_notes(painter, view, np.asarray(area, float), frames=frames, grips=grips)
    return painter


@pytest.fixture(autouse=True)
def application(qapp):
    """Text is measured."""


def test_frames_and_notes_are_painted_apart_each_in_its_place(monkeypatch):
    note = painted(monkeypatch, view_of(), frames=False)
    assert note.of("translate") == [(210.0, 120.0)]
    assert note.of("scale") == [(2.0, 2.0)]
    (box,) = note.drawn("drawRoundedRect")
    assert box.arguments == (QRectF(0, 0, 200, 80), CORNER, CORNER)
    assert box.brush.color() == QColor(LIGHT.note)
    frame = painted(monkeypatch, view_of(), frames=True)
    (box,) = frame.drawn("drawRoundedRect")
    assert box.arguments[0] == QRectF(0, 0, 400, 300)
    assert box.brush.style() == Qt.BrushStyle.NoBrush
    assert frame.calls[0][0] == "save"
    assert frame.calls[-1][0] == "restore"


def test_the_text_keeps_clear_of_the_edges(monkeypatch):
    (words,) = painted(monkeypatch, view_of(), frames=False).drawn("drawText")
    room, flags, text = words.arguments
    assert (room, text) == (QRectF(10, 7, 180, 66), "words")
    assert flags & int(Qt.TextFlag.TextWordWrap)
    assert words.pen.color() == QColor(LIGHT.ink)
    assert not words.font.bold()
    (title,) = painted(monkeypatch, view_of(), frames=True).drawn("drawText")
    assert title.arguments[2] == "title"
    assert title.pen.color() == QColor(LIGHT.ink_soft)
    assert title.font.bold()


def test_a_note_grows_with_its_text_and_a_frame_does_not(monkeypatch):
    long = "many words " * 60
    view = view_of(
        dragged_notes={"n": replace(NOTE, text=long), "f": replace(FRAME, text=long * 9)}
    )
    (note,) = painted(monkeypatch, view, frames=False).drawn("drawRoundedRect")
    assert note.arguments[0].height() == note_height(long, 200) > 80
    (frame,) = painted(monkeypatch, view, frames=True).drawn("drawRoundedRect")
    assert frame.arguments[0].height() == 300
    assert note_height(long, 100) > note_height(long, 200)


def test_a_selected_one_has_a_strong_edge(monkeypatch):
    view = view_of(selection=Selection(notes=frozenset({"n"})))
    (note,) = painted(monkeypatch, view, frames=False).drawn("drawRoundedRect")
    (frame,) = painted(monkeypatch, view, frames=True).drawn("drawRoundedRect")
    assert (note.pen.color(), note.pen.widthF()) == (QColor(LIGHT.accent), 1.5)
    assert (frame.pen.color(), frame.pen.widthF()) == (QColor(LIGHT.hairline), 1.0)


def test_its_corner_has_a_grip(monkeypatch):
    lines = painted(monkeypatch, view_of(), frames=False).drawn("drawLine")
    ends = [tuple(point.toTuple() for point in each.arguments) for each in lines]
    assert ends == [((196, 78), (198, 76)), ((192, 78), (198, 72))]
    assert {each.pen.color().name() for each in lines} == {QColor(LIGHT.ink_faint).name()}


def test_a_picture_has_no_grips(monkeypatch):
    assert not painted(monkeypatch, view_of(), frames=False, grips=False).of("drawLine")


def test_from_afar_the_edge_stays_and_the_text_goes(monkeypatch):
    far = painted(monkeypatch, view_of(Camera(0.2)), frames=False)
    (box,) = far.drawn("drawRects")
    assert box.arguments[0].tolist() == [[20.0, 10.0, 40.0, 16.0]]
    assert box.pen.isCosmetic()
    assert box.brush.color() == QColor(LIGHT.note)
    assert not far.of("drawText")
    assert not far.of("drawLine")
    (near,) = painted(monkeypatch, view_of(Camera(1.0)), frames=False).drawn("drawRoundedRect")
    assert not near.pen.isCosmetic()


@pytest.mark.parametrize(
    ("area", "seen"),
    [
        ((299, 129, 400, 400), True),
        ((0, 0, 101, 51), True),
        ((300, 50, 400, 100), False),
        ((0, 50, 100, 100), False),
        ((100, 0, 200, 50), False),
        ((100, 130, 200, 200), False),
    ],
)
def test_only_what_lies_in_the_area_is_painted(monkeypatch, area, seen):
    assert bool(painted(monkeypatch, view_of(), frames=False, area=area).calls) == seen


def test_lines_come_closer_where_letters_are_larger_than_they_should_be(monkeypatch):
    """From a little further off they stay legible, so that less fits in a line."""
    words = "recon_loss trains encoder and decoder. quantised has the value of code and hands on."
    page = diagram({}, notes={"n": Note(words, Point(0, 0), 250, note_height(words, 220.0))})
    scene = Scene(page, "main")
    view = ViewState(scene, resolve(scene, None), Camera(0.69), LIGHT)
    drawn = painted(monkeypatch, view, frames=False).drawn("drawText")
    assert " ".join(call.arguments[-1] for call in drawn) == words
    tops = [call.arguments[0].top() for call in drawn]
    assert len(tops) > 2
    assert max(np.diff(tops)) <= 1.2 * 14 + 1e-6


LONG = "encoder_bias gets None, not 0, and weight decay leaves it alone, as the manual says. " * 2


def drawn_at(monkeypatch, zoom, *, below=None):
    """A note with just room for its text at 100 %, with a block or a note ``below`` it."""
    height = note_height(LONG, 220.0)
    notes = {"n": Note(LONG, Point(0, 0), 220, height)}
    if below == "note":
        notes["m"] = Note("more", Point(50, height + 4.0), 100, 60)
    blocks = {"w": block("Variable", value=1.0)} if below == "block" else {}
    shown = diagram(blocks, notes=notes, layout={"w": (50, height + 4.0)} if blocks else {})
    scene = Scene(shown, "main")
    view = ViewState(scene, resolve(scene, None), Camera(zoom), LIGHT)
    painter = painted(monkeypatch, view, frames=False)
    words = " ".join(str(call.arguments[-1]) for call in painter.drawn("drawText"))
    boxes = [each.height() for each, *_ in painter.of("drawRoundedRect")]
    boxes += [rects[0, 3] / zoom for (rects,) in painter.of("drawRects")]
    return boxes[0] - height, words


@pytest.mark.parametrize("zoom", [0.63, 0.6])
def test_a_note_is_drawn_higher_where_its_letters_are_larger_than_they_should_be(monkeypatch, zoom):
    grown, words = drawn_at(monkeypatch, zoom)
    assert grown > 0
    assert words == LONG.strip()


@pytest.mark.parametrize("below", ["block", "note"])
def test_a_note_does_not_grow_over_what_is_below_it(monkeypatch, below):
    grown, words = drawn_at(monkeypatch, 0.62, below=below)
    assert grown == 0
    assert "…" in words


def test_a_note_keeps_its_height_from_near_and_from_afar(monkeypatch):
    grown = [drawn_at(monkeypatch, zoom)[0] for zoom in (1.0, 0.7, 0.59, 0.2)]
    assert grown == pytest.approx([0.0] * 4)


def test_a_note_states_the_numbers_of_the_result_and_repaints_with_them(monkeypatch):
    w = variable("w", 3.0)
    made = build(loss(w * w, name="loss"))
    text = 'w gets {grad("w")} of {value("loss")}; {value("nobody")}'
    notes = {"n": replace(NOTE, text=text), "f": replace(FRAME, text="{1 + 1} parts")}
    shown = made.with_page("main", replace(made.main, notes=notes))
    scene, session = Scene(shown, "main"), Session(shown)

    def texts(result):
        view = ViewState(scene, resolve(scene, result), Camera(2.0, 10.0, 20.0), LIGHT)
        found = [painted(monkeypatch, view, frames=frames) for frames in (False, True)]
        return [painter.drawn("drawText")[0].arguments[-1] for painter in found]

    def result():
        return EvaluationResult(shown, flow=observe(session))

    assert texts(None)[0] == "w gets … of …; …"
    assert texts(result()) == [text, "2 parts"], "it asks for what there is not"
    notes["n"] = replace(NOTE, text='w gets {grad("w")} of {value("loss")}; {open("stop")}')
    stopped = build(loss(w * stop_gradient(w, name="stop"), name="loss"))
    shown = stopped.with_page("main", replace(stopped.main, notes=notes))
    scene, session = Scene(shown, "main"), Session(shown)
    assert texts(result())[0] == "w gets 3 of 9; false"
    before = resolve(scene, result())
    session.set("w", -2.0)
    after = resolve(scene, result())
    assert texts(result())[0] == "w gets −2 of 4; false"
    assert before.page.notes != after.page.notes
    assert "w gets −2 of 4; false" in describe(after, Focus(FocusKind.NOTE, "n"))


def test_a_note_says_what_would_be_and_computes_nothing_for_it(monkeypatch):
    """The result has what notes ask about: painting makes no session."""
    w = variable("w", 3.0)
    made = build(loss(w * stop_gradient(w, name="stop"), name="loss"))
    text = '{grad("w")}, open {opened(grad("w"), "stop")}, cut {cut(grad("w"), "loss.x"):.1f}'
    notes = {"n": replace(NOTE, text=text), "f": FRAME}
    shown = made.with_page("main", replace(made.main, notes=notes))
    result = evaluate(shown)
    monkeypatch.setattr(Session, "__init__", None)
    view = ViewState(
        Scene(shown, "main"), resolve(Scene(shown, "main"), result), Camera(2.0, 10.0, 20.0), LIGHT
    )
    painter = painted(monkeypatch, view, frames=False)
    assert painter.drawn("drawText")[0].arguments[-1] == "3, open 6, cut None"
