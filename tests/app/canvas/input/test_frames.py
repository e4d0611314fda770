from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit

from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.runtime.diagram import MoveBlocks, Note, Point, SetNote, apply
from tests.app.canvas.pages import Shell, click, drag, hover, seed


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
    assert isinstance(change, MoveBlocks)
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
    canvas.context.mouse.cancel()
    assert canvas.block_rect("mul1") == before
    assert not framed.changes


def test_a_note_that_is_no_frame_moves_alone(canvas, framed):
    start = title(canvas, framed.main.notes["n"])
    drag(canvas, start, start + QPoint(0, 60))
    (change,) = framed.changes
    assert (change.places.keys(), change.notes.keys()) == (set(), {"n"})
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


SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
ALT = Qt.KeyboardModifier.AltModifier
Key = Qt.Key


class TestSelected:
    def test_a_click_with_shift_adds_a_note_to_the_blocks(self, canvas, framed):
        canvas.select(["a"])
        at = title(canvas, framed.main.notes["f"])
        click(canvas, at, SHIFT)
        assert canvas.view.selection[:2] == ({"a"}, {"f"})
        click(canvas, at, SHIFT)
        assert canvas.view.selection[:2] == ({"a"}, set())

    def test_all_are_selected_with_the_blocks_and_dropped_by_escape(self, canvas, framed):
        QTest.keyClick(canvas, Key.Key_A, CONTROL)
        assert canvas.view.selection[:2] == (framed.main.blocks.keys(), {"f", "n"})
        QTest.keyClick(canvas, Key.Key_Escape)
        assert canvas.view.selection[:2] == (set(), set())

    def test_escape_while_resizing_shows_the_note_as_it_was(self, canvas, framed, monkeypatch):
        at = corner(canvas, framed.main.notes["f"])
        drag(canvas, at, at + QPoint(40, 40), release=False)
        assert canvas.view.dragged_notes
        painted = []
        monkeypatch.setattr(
            canvas.context.painter, "update", lambda area=None: painted.append(area)
        )
        QTest.keyClick(canvas, Key.Key_Escape)
        assert not canvas.view.dragged_notes
        assert None in painted, "all of it is painted again"

    def test_a_rubber_band_touches_notes_and_must_enclose_frames(self, canvas, framed):
        inside = title(canvas, framed.main.notes["f"]) + QPoint(0, 22)
        drag(canvas, inside, canvas.block_rect("mul1").center() + QPoint(0, 60))
        assert canvas.view.selection[:2] == ({"mul1"}, {"n"})
        outside = title(canvas, framed.main.notes["f"]) - QPoint(90, 40)
        drag(canvas, outside, corner(canvas, framed.main.notes["f"]) + QPoint(5, 5))
        assert canvas.view.selection.notes == {"f", "n"}

    def test_a_lasso_takes_notes_by_their_middle_and_frames_whole(self, canvas, framed):
        note = canvas.view.scene.page.notes["n"]
        low = corner(canvas, note) + QPoint(4, 4)
        drag(canvas, low, low - QPoint(140, 0), modifiers=ALT, release=False)
        for at in (low - QPoint(140, 60), low - QPoint(0, 60)):
            hover(canvas, at)
        assert canvas.view.selection.notes <= {"n"}
        QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, ALT, low)
        assert canvas.view.selection.notes == {"n"}

    def test_they_are_dragged_together_with_blocks_as_one_change(self, canvas, framed):
        canvas.select(["a"], ["n"])
        start = canvas.block_rect("a").center()
        drag(canvas, start, start + QPoint(0, 60))
        assert len(framed.changes) == 1
        dy = framed.main.layout["a"].y - 120
        assert dy > 0
        assert framed.main.notes["n"].at == Point(240, 90 + dy)
        assert framed.main.notes["f"].at == Point(220, -40)

    def test_delete_takes_blocks_and_notes_at_once(self, canvas, framed):
        canvas.select(["a"], ["n", "f"])
        QTest.keyClick(canvas, Key.Key_Delete)
        assert len(framed.changes) == 1
        assert not framed.main.notes
        assert "a" not in framed.main.blocks
        assert "mul1" in framed.main.blocks

    def test_a_note_is_aligned_with_blocks_and_a_frame_leads_what_it_holds(self, canvas, framed):
        canvas.select(["a"], ["f"])
        canvas.align("left")
        assert framed.main.layout["a"].x == 220
        assert framed.main.layout["mul1"] == Point(240, 0)
        canvas.align("bottom")
        dy = framed.main.notes["f"].at.y + 40
        assert dy > 0
        assert framed.main.layout["mul1"] == Point(240, dy)
        assert framed.main.notes["n"].at == Point(240, 90 + dy)


class TestKeyboard:
    def test_arrows_move_a_frame_and_what_it_holds(self, canvas, framed):
        click(canvas, title(canvas, framed.main.notes["f"]))
        QTest.keyClick(canvas, Key.Key_Right)
        QTest.keyClick(canvas, Key.Key_Down, SHIFT)
        assert framed.main.notes["f"].at == Point(230, -39)
        assert framed.main.layout["mul1"] == Point(250, 1)

    def test_ctrl_shift_arrows_resize_the_one_with_the_focus(self, canvas, framed):
        canvas.keyboard_focus.focus_on(Focus(FocusKind.NOTE, "n"))
        QTest.keyClick(canvas, Key.Key_Right, CONTROL | SHIFT)
        QTest.keyClick(canvas, Key.Key_Down, CONTROL | SHIFT)
        assert framed.main.notes["n"] == Note("times 3", Point(240, 90), 130, 50)
        for _ in range(9):
            QTest.keyClick(canvas, Key.Key_Left, CONTROL | SHIFT)
        assert framed.main.notes["n"].width == 60

    def test_delete_removes_the_one_with_the_focus(self, canvas, framed):
        canvas.keyboard_focus.focus_on(Focus(FocusKind.NOTE, "n"))
        QTest.keyClick(canvas, Key.Key_Delete)
        assert framed.main.notes.keys() == {"f"}
        assert canvas.view.focus is None
