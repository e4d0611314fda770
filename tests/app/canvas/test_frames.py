from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit

from runtime.diagram import Batch, Note, Point, SetNote, apply
from tests.app.canvas.pages import Shell, drag, seed


@pytest.fixture
def framed(canvas) -> Shell:
    """The seed with a frame around ``mul1`` and a note inside it."""
    shown = seed()
    for name, note in {
        "f": Note("Scale", Point(220, -40), 200, 200, frame=True),
        "n": Note("times 3", Point(240, 90), 120, 40),
    }.items():
        shown = apply(shown, SetNote(name, note)).after
    made = Shell(canvas, shown)
    canvas.zoom_to_fit()
    return made


def corner(canvas, note: Note) -> QPoint:
    x, y = note.at.x + note.width, note.at.y + note.height
    camera = canvas.view.camera
    return QPoint(round(x * camera.zoom + camera.x), round(y * camera.zoom + camera.y))


def title(canvas, note: Note) -> QPoint:
    camera = canvas.view.camera
    return QPoint(
        round((note.at.x + 60) * camera.zoom + camera.x),
        round((note.at.y + 10) * camera.zoom + camera.y),
    )


def test_a_frame_takes_along_what_it_holds_in_one_change(canvas, framed):
    before = framed.main
    start = title(canvas, before.notes["f"])
    drag(canvas, start, start + QPoint(0, 60))
    (change,) = framed.changes
    assert isinstance(change, Batch)
    dy = framed.main.notes["f"].at.y + 40
    assert dy > 0
    assert framed.main.layout["mul1"] == Point(240, dy)
    assert framed.main.notes["n"].at == Point(240, 90 + dy)
    assert framed.main.layout["stop1"] == before.layout["stop1"]


def test_a_drag_that_is_cancelled_puts_all_back(canvas, framed):
    before = canvas.block_rect("mul1")
    start = title(canvas, framed.main.notes["f"])
    drag(canvas, start, start + QPoint(0, 60), release=False)
    assert canvas.block_rect("mul1") != before
    canvas.grab()
    canvas._hand.cancel()
    assert canvas.block_rect("mul1") == before
    assert not framed.changes


def test_a_note_that_is_no_frame_moves_alone(canvas, framed):
    start = title(canvas, framed.main.notes["n"])
    drag(canvas, start, start + QPoint(0, 60))
    assert isinstance(framed.changes[0], SetNote)
    assert framed.main.layout["mul1"] == Point(240, 0)


@pytest.mark.parametrize("name", ["f", "n"])
def test_the_corner_resizes_it(canvas, framed, name):
    note = framed.main.notes[name]
    start = corner(canvas, note) - QPoint(3, 3)
    drag(canvas, start, start + QPoint(40, 30))
    resized = framed.main.notes[name]
    assert resized.width > note.width
    assert resized.height > note.height
    assert resized.at == note.at


def test_it_never_gets_too_small_to_be_grasped(canvas, framed):
    start = corner(canvas, framed.main.notes["n"]) - QPoint(3, 3)
    drag(canvas, start, start - QPoint(900, 300))
    assert (framed.main.notes["n"].width, framed.main.notes["n"].height) == (60.0, 30.0)


def test_a_frame_goes_around_the_selected_blocks_and_is_written_at_once(canvas, shell):
    canvas.select(["stop1", "a"])
    canvas.add_note(frame=True)
    (field,) = canvas.findChildren(QPlainTextEdit)
    QTest.keyClicks(field, "Branch")
    field.close_field(take=True)
    (note,) = shell.main.notes.values()
    assert note.frame
    assert note.text == "Branch"
    left = canvas.view.scene.bounds()[0]
    assert left <= note.at.x <= 480 - 20
    assert note.at.y <= -40
    assert note.at.x + note.width >= 480 + 160 + 20
    assert note.at.y + note.height >= 120 + 52


def test_a_note_is_added_where_no_block_is(canvas, shell):
    canvas.add_note()
    (note,) = shell.main.notes.values()
    assert not note.frame
    rects = [canvas.view.scene.rects[i].tolist() for i in range(6)]
    assert not any(
        x < note.at.x + note.width and x + w > note.at.x
        and y < note.at.y + note.height and y + h > note.at.y
        for x, y, w, h in rects
    )  # fmt: skip
