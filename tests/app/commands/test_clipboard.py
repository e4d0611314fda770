"""Copy, cut, paste and duplicate by keys: within a page, between windows, from a text editor."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from gradwire.blocks.library.arithmetic import Mul
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import Note, Point, PortName, SetNote, group, loads
from gradwire.runtime.diagram.files.migrations import FIELD, VERSION
from tests.app.mouse import click_block

CTRL = Qt.KeyboardModifier.ControlModifier
HEAD = f'"{FIELD}": {VERSION}'


def seed():
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    return build(loss(stop_gradient(3 * b, name="stop") + a), title="Seed")


@pytest.fixture
def window(qtbot, window):
    QGuiApplication.clipboard().clear()
    window.document._begin(seed(), None)
    qtbot.waitUntil(window.isActiveWindow)
    return window


def press(qtbot, window, key, modifiers=CTRL):
    window.canvas.setFocus()
    qtbot.keyClick(window.canvas, key, modifiers)


def names(window):
    return list(window.document.diagram.main.blocks)


def clipboard():
    return QGuiApplication.clipboard().text()


def test_what_is_copied_is_pasted_with_its_wires_as_one_undo(window, qtbot):
    before = window.document.diagram
    click_block(qtbot, window, "b")
    window.canvas.select({"b", "mul1"})
    press(qtbot, window, Qt.Key.Key_C)
    assert list(loads(clipboard()).main.blocks) == ["b", "mul1"]
    press(qtbot, window, Qt.Key.Key_V)
    assert window.canvas.selection() == {"b2", "mul2"}
    wires = window.document.diagram.main.wires
    assert wires[PortName("mul2", "b")] == PortName("b2", "out")
    press(qtbot, window, Qt.Key.Key_Z)
    assert window.document.diagram is before


@pytest.mark.night
def test_pasting_again_does_not_cover_what_was_pasted(window, qtbot):
    window.canvas.select({"b"})
    press(qtbot, window, Qt.Key.Key_C)
    for _ in range(3):
        press(qtbot, window, Qt.Key.Key_V)
    layout = window.document.diagram.main.layout
    assert len({layout[name] for name in ("b", "b2", "b3", "b4")}) == 4


def test_what_is_pasted_out_of_view_is_scrolled_into_it(window, qtbot, monkeypatch):
    canvas = window.canvas
    canvas.select(["stop"])
    press(qtbot, window, Qt.Key.Key_C)
    canvas.show_at(Point(9000.0, 9000.0), canvas.actual_zoom())
    monkeypatch.setattr(canvas, "underMouse", lambda: False)  # else it is pasted at the pointer
    press(qtbot, window, Qt.Key.Key_V)
    (name,) = canvas.selection()
    assert name != "stop"
    assert canvas.rect().contains(canvas.block_rect(name))


@pytest.mark.night
def test_what_is_cut_keeps_its_name_in_another_window(window, qtbot):
    window.canvas.select({"b", "mul1"})
    press(qtbot, window, Qt.Key.Key_X)
    assert not {"b", "mul1"} & set(names(window))
    other = window.windows.new()
    qtbot.waitUntil(other.isActiveWindow)
    press(qtbot, other, Qt.Key.Key_V)
    assert names(other) == ["b", "mul1"]
    assert PortName("mul1", "b") in other.document.diagram.main.wires
    window.actions_by_name["undo"].trigger()
    assert "mul1" in names(window)


def test_a_text_from_an_editor_is_pasted(window, qtbot):
    QGuiApplication.clipboard().setText('  "twice": {"type": "Mul", "b": 2},\n')
    press(qtbot, window, Qt.Key.Key_V)
    assert window.document.diagram.main.blocks["twice"] == Mul(b=2)


def test_a_text_that_is_no_diagram_is_told_and_changes_nothing(window, qtbot):
    before = window.document.diagram
    QGuiApplication.clipboard().setText("Dear diary")
    press(qtbot, window, Qt.Key.Key_V)
    assert window.document.diagram is before
    assert "Nothing was pasted" in window.notice.text()
    assert "not part of a diagram" in window.notice.text()


def test_keys_of_the_clipboard_in_a_field_mean_its_text(window, qtbot):
    click_block(qtbot, window, "a")
    QGuiApplication.clipboard().setText("theta")
    line = window.inspector.form.name_line
    line.setFocus()
    line.selectAll()
    qtbot.keyClick(line, Qt.Key.Key_V, CTRL)
    assert line.text() == "theta"
    assert len(names(window)) == 6


def test_duplicates_leave_the_clipboard_alone(window, qtbot):
    QGuiApplication.clipboard().setText("kept")
    window.canvas.select({"a"})
    press(qtbot, window, Qt.Key.Key_D)
    assert window.canvas.selection() == {"a2"}
    assert clipboard() == "kept"


def test_without_a_selection_there_is_nothing_to_copy(window):
    window.canvas.select(())
    for name in ("cut", "copy", "duplicate"):
        assert not window.actions_by_name[name].isEnabled()


def test_notes_and_frames_are_copied_with_blocks_and_selected_after(window, qtbot):
    change = window.edit.change
    change(SetNote("f", Note("Scale", Point(0, -60), 400, 300, frame=True)))
    change(SetNote("n", Note("why", Point(10, 200))))
    window.canvas.select({"mul1"}, {"f"})
    press(qtbot, window, Qt.Key.Key_C)
    press(qtbot, window, Qt.Key.Key_V)
    assert window.canvas.view.selection[:2] == ({"b2", "mul2"}, {"f2"})
    assert window.document.diagram.main.notes["f2"].frame
    window.canvas.select((), {"n"})
    press(qtbot, window, Qt.Key.Key_D)
    assert window.canvas.view.selection[:2] == (set(), {"n2"})
    press(qtbot, window, Qt.Key.Key_X)
    assert window.document.diagram.main.notes.keys() == {"f", "f2", "n"}


def test_nudges_of_notes_with_blocks_are_one_undo(window, qtbot):
    window.edit.change(SetNote("n", Note("why", Point(10, 200))))
    before = window.document.diagram
    window.canvas.select({"mul1"}, {"n"})
    for _ in range(3):
        press(qtbot, window, Qt.Key.Key_Right, Qt.KeyboardModifier.NoModifier)
    assert window.document.diagram.main.notes["n"].at == Point(40, 200)
    press(qtbot, window, Qt.Key.Key_Z)
    assert window.document.diagram is before


class TestFrames:
    """A frame is copied with what it holds, and removed without."""

    @pytest.fixture
    def framed(self, window):
        at = window.document.diagram.main.layout["mul1"]
        for name, note in {
            "f": Note("Scale", Point(at.x - 20, at.y - 40), 200, 240, frame=True),
            "n": Note("times 3", Point(at.x, at.y + 120), 120, 40),
            "far": Note("elsewhere", Point(at.x + 5000, at.y)),
        }.items():
            window.edit.change(SetNote(name, note))
        window.canvas.select((), {"f"})
        return window

    def test_a_copy_has_the_blocks_and_notes_inside(self, framed, qtbot):
        press(qtbot, framed, Qt.Key.Key_C)
        copied = loads(clipboard()).main
        assert (copied.blocks.keys(), copied.notes.keys()) == ({"mul1"}, {"f", "n"})

    def test_a_duplicate_is_selected_with_what_it_holds_as_one_undo(self, framed, qtbot):
        before = framed.document.diagram
        press(qtbot, framed, Qt.Key.Key_D)
        assert framed.canvas.view.selection[:2] == ({"mul2"}, {"f2", "n2"})
        press(qtbot, framed, Qt.Key.Key_Z)
        assert framed.document.diagram is before

    def test_what_is_cut_goes_whole_and_comes_back_whole(self, framed, qtbot):
        before = framed.document.diagram
        press(qtbot, framed, Qt.Key.Key_X)
        main = framed.document.diagram.main
        assert "mul1" not in main.blocks
        assert main.notes.keys() == {"far"}
        press(qtbot, framed, Qt.Key.Key_V)
        main = framed.document.diagram.main
        assert "mul1" in main.blocks
        assert main.notes.keys() == {"far", "f", "n"}
        press(qtbot, framed, Qt.Key.Key_Z)
        press(qtbot, framed, Qt.Key.Key_Z)
        assert framed.document.diagram is before

    def test_delete_removes_the_frame_alone(self, framed, qtbot):
        press(qtbot, framed, Qt.Key.Key_Delete, Qt.KeyboardModifier.NoModifier)
        main = framed.document.diagram.main
        assert "mul1" in main.blocks
        assert main.notes.keys() == {"far", "n"}

    def test_delete_removes_both_where_both_are_selected(self, framed, qtbot):
        framed.canvas.zoom_to_selection()
        qtbot.mouseClick(
            framed.canvas,
            Qt.MouseButton.LeftButton,
            CTRL,
            framed.canvas.block_rect("mul1").center(),
        )
        press(qtbot, framed, Qt.Key.Key_Delete, Qt.KeyboardModifier.NoModifier)
        main = framed.document.diagram.main
        assert "mul1" not in main.blocks
        assert main.notes.keys() == {"far", "n"}


class TestPages:
    """What would never end is refused before it is there."""

    @pytest.fixture
    def nested(self, window):
        window.edit.change(group(window.document.diagram, "main", ["mul1"]))
        window.canvas.select({"group1"})
        return window

    @pytest.mark.night
    def test_a_use_is_not_pasted_on_its_own_page(self, nested, qtbot):
        press(qtbot, nested, Qt.Key.Key_C)
        nested.navigation.enter("group1")
        before = nested.document.diagram
        press(qtbot, nested, Qt.Key.Key_V)
        assert nested.document.diagram is before
        assert "Nothing was pasted" in nested.notice.text()
        assert "can't be used on itself" in nested.notice.text()

    def test_nor_is_one_that_stands_on_it(self, nested, qtbot):
        nested.edit.change(group(nested.document.diagram, "main", ["group1"]))
        (outer,) = set(nested.document.diagram.pages) - {"main", "group1"}
        nested.canvas.select({outer})
        press(qtbot, nested, Qt.Key.Key_C)
        nested.navigation.go((outer, "group1"))
        assert nested.navigation.page == "group1"
        before = nested.document.diagram
        press(qtbot, nested, Qt.Key.Key_V)
        assert nested.document.diagram is before
        assert "uses page 'group1' itself" in nested.notice.text()

    def test_a_new_page_that_leads_back_here_is_not_pasted(self, nested, qtbot):
        text = """{"gradwire": 3, "pages": {
            "main": {"blocks": {"u": {"type": "Page", "page": "other"}}},
            "other": {"blocks": {"v": {"type": "Page", "page": "group1"}}}}}"""
        QGuiApplication.clipboard().setText(text.replace('"gradwire": 3', HEAD))
        nested.navigation.enter("group1")
        before = nested.document.diagram
        press(qtbot, nested, Qt.Key.Key_V)
        assert nested.document.diagram is before
        assert "uses page 'group1' itself" in nested.notice.text()

    def test_elsewhere_a_use_is_pasted(self, nested, qtbot):
        press(qtbot, nested, Qt.Key.Key_C)
        press(qtbot, nested, Qt.Key.Key_V)
        (use,) = nested.canvas.selection()
        assert nested.document.diagram.main.blocks[use].page == "group1"


def test_a_formula_is_pasted_as_one_undo(window, qtbot):
    before = window.document.diagram
    QGuiApplication.clipboard().setText("q = mean((x @ W - t)**2)\n")
    press(qtbot, window, Qt.Key.Key_V)
    assert {"x", "W", "t", "q"} <= set(names(window))
    assert window.canvas.selection() == set(names(window)) - set(before.main.blocks)
    press(qtbot, window, Qt.Key.Key_Z)
    assert window.document.diagram is before


def test_a_formula_with_a_mistake_is_not_pasted(window, qtbot):
    problems = []
    window.document.problem.connect(problems.append)
    before = window.document.diagram
    QGuiApplication.clipboard().setText("q = foo(x)")
    press(qtbot, window, Qt.Key.Key_V)
    assert window.document.diagram is before
    assert problems == ["Nothing was pasted. There is no block 'foo'. Did you mean floor?"]


def test_the_selection_or_the_page_is_copied_as_formula_and_as_python(window, qtbot):
    window.actions_by_name["copy_formula"].trigger()
    assert clipboard() == "stop = stop_gradient(3 * b)\nloss = stop + a"
    window.canvas.select({"b", "mul1"})
    window.actions_by_name["copy_formula"].trigger()
    assert clipboard() == "mul1 = 3 * b"
    window.actions_by_name["copy_python"].trigger()
    assert "b = gw.variable('b', value=[[0, 1]])" in clipboard()
    window.document.new()
    QGuiApplication.clipboard().setText("kept")
    window.actions_by_name["copy_python"].trigger()
    assert clipboard() == "kept"
