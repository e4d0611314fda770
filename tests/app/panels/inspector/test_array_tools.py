"""Large arrays in the inspector: loaded, generated, changed in part, saved; each one undo."""

from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QFileDialog, QInputDialog

from gradwire.app.document import arrays
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import Diagram, Page
from tests.app.mouse import LEFT
from tests.app.services.test_background import Gate, cancel, meanwhile


@pytest.fixture
def window(qtbot, window):
    value = np.arange(3000, dtype=np.float32).reshape(50, 60)
    window.document._begin(Diagram({"main": Page({"w": Variable(value=value)})}), None)
    window.canvas.select({"w"})
    return window


def tools(window):
    return window.inspector.form.fields["value"].tools


def value(window):
    return window.document.diagram.main.blocks["w"].value.array


def choose(window, number):
    """Open the menu of the button and choose its entry ``number`` by keyboard."""

    pressed = []

    def press():
        menu = tools(window).menu()
        for _ in range(number):
            QTest.keyClick(menu, Qt.Key.Key_Down)
        QTest.keyClick(menu, Qt.Key.Key_Return)
        pressed.append(True)

    QTimer.singleShot(0, press)
    QTest.mouseClick(tools(window), LEFT)
    while not pressed:  # from Qt 6.12 on, a click does not wait for the menu
        QApplication.processEvents()


def in_dialog(act):
    """Do this with the dialog that is about to open."""

    def look():
        dialog = QApplication.activeModalWidget()
        act(dialog) if dialog is not None else QTimer.singleShot(10, look)

    QTimer.singleShot(0, look)


def ok(dialog):
    return dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)


def retype(line, text):
    line.setFocus()
    line.selectAll()
    QTest.keyClicks(line, text)


LOAD, GENERATE, PART, SAVE = 1, 2, 3, 4


class TestLoading:
    def load(self, window, monkeypatch, path):
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(path), ""))
        choose(window, LOAD)
        QApplication.processEvents()

    def test_a_file_takes_the_place_of_the_value_as_one_undo(self, window, monkeypatch, tmp_path):
        np.save(tmp_path / "a.npy", np.full((40, 50), 7.0, np.float32))
        before = window.document.diagram
        self.load(window, monkeypatch, tmp_path / "a.npy")
        assert value(window).shape == (40, 50)
        assert window.inspector.form.fields["value"].about.text() == "40 × 50 · float32"
        window.document.undo_stack.undo()
        assert window.document.diagram is before

    def test_of_several_arrays_one_is_chosen(self, window, monkeypatch, tmp_path):
        np.savez(tmp_path / "a.npz", one=np.ones(2), two=np.full((3, 3), 2.0))
        offered = []

        def choice(parent, title, label, items, *rest):
            offered.extend(items)
            return items[1], True

        monkeypatch.setattr(QInputDialog, "getItem", choice)
        self.load(window, monkeypatch, tmp_path / "a.npz")
        assert offered == ["one   (2)", "two   3 × 3"]
        assert value(window).tolist() == [[2.0] * 3] * 3

    def test_what_can_not_be_read_is_told_under_the_field(self, window, monkeypatch, tmp_path):
        (tmp_path / "a.npy").write_text("junk")
        before = window.document.diagram
        self.load(window, monkeypatch, tmp_path / "a.npy")
        complaint = window.inspector.form.errors["value"]
        assert complaint.isVisible()
        assert "a.npy" in complaint.text()
        assert window.document.diagram is before

    def test_a_dtype_that_no_block_has_is_told(self, window, monkeypatch, tmp_path):
        np.save(tmp_path / "a.npy", np.ones(3, np.complex128))
        self.load(window, monkeypatch, tmp_path / "a.npy")
        assert "complex128" in window.inspector.form.errors["value"].text()

    def test_the_window_lives_on_while_a_large_file_is_read(self, window, monkeypatch, tmp_path):
        np.save(tmp_path / "a.npy", np.ones((40, 50), np.float32))
        gate, seen = Gate(monkeypatch, arrays, "read"), []
        meanwhile(window, lambda: seen.append(window.progress.text()), gate.open)
        self.load(window, monkeypatch, tmp_path / "a.npy")
        assert seen == ["Reading a.npy …"]
        assert value(window).shape == (40, 50)

    @pytest.mark.parametrize("leave", ["cancel", "select"])
    def test_what_nobody_waits_for_any_more_changes_nothing(
        self, window, monkeypatch, tmp_path, qtbot, leave
    ):
        np.save(tmp_path / "a.npy", np.ones((40, 50), np.float32))
        gate, before = Gate(monkeypatch, arrays, "read"), window.document.diagram
        select = partial(window.canvas.select, ())
        meanwhile(window, cancel(window, qtbot) if leave == "cancel" else select, gate.open)
        self.load(window, monkeypatch, tmp_path / "a.npy")
        gate.open()
        assert window.document.diagram is before
        assert not window.background.busy


class TestGenerating:
    def test_a_rule_and_a_shape(self, window):
        def fill(dialog):
            dialog.kind.setFocus()
            QTest.keyClick(dialog.kind, Qt.Key.Key_Home)
            for _ in range(3):
                QTest.keyClick(dialog.kind, Qt.Key.Key_Down)
            retype(dialog.shape_line, "100, 20")
            retype(dialog.numbers["mean"], "10")
            assert dialog.numbers["seed"].isVisible()
            assert not dialog.numbers["minimum"].isVisible()
            assert dialog.about.text() == "100 × 20 · float32"
            QTest.mouseClick(ok(dialog), LEFT)

        in_dialog(fill)
        choose(window, GENERATE)
        assert value(window).shape == (100, 20)
        assert value(window).dtype == np.float32
        assert value(window).mean() == pytest.approx(10, abs=0.2)

    def test_what_can_not_be_made_is_told_while_it_is_typed(self, window):
        told = []

        def fill(dialog):
            retype(dialog.shape_line, "2, x3")
            retype(dialog.shape_line, "two")
            told.append((dialog.about.text(), ok(dialog).isEnabled()))
            QTest.keyClick(dialog, Qt.Key.Key_Escape)

        before = window.document.diagram
        in_dialog(fill)
        choose(window, GENERATE)
        assert told == [("A shape consists of whole numbers, such as 2, 3.", False)]
        assert window.document.diagram is before


class TestPart:
    def test_a_part_is_filled(self, window):
        def fill(dialog):
            retype(dialog.line, "0:2, 10:")
            retype(dialog.fill, "-1.5")
            QTest.mouseClick(ok(dialog), LEFT)

        in_dialog(fill)
        choose(window, PART)
        assert (value(window)[:2, 10:] == -1.5).all()
        assert value(window)[0, 9] == 9.0
        assert value(window)[2, 10] == 130.0

    def test_a_part_is_edited_cell_by_cell(self, window):
        def fill(dialog):
            retype(dialog.line, "49, 58:")
            assert dialog.about.text() == "(2) · float32"
            index = dialog.grid.table.index(0, 1)
            dialog.grid.table.setData(index, "0.25")
            assert dialog.grid.table.index(0, 1).data() == "0.25"
            QTest.mouseClick(ok(dialog), LEFT)

        in_dialog(fill)
        choose(window, PART)
        assert value(window)[49, 58:].tolist() == [2998.0, 0.25]

    def test_what_is_no_part_is_told(self, window):
        told = []

        def fill(dialog):
            for line, text in ((dialog.line, "50"), (dialog.line, "0"), (dialog.fill, "abc")):
                retype(line, text)
                told.append((dialog.about.text(), ok(dialog).isEnabled()))
            QTest.keyClick(dialog, Qt.Key.Key_Escape)

        in_dialog(fill)
        choose(window, PART)
        assert told[0] == ("50 is out of range: the axis has length 50.", False)
        assert told[1][1]
        assert told[2] == ("'abc' is not a number.", False)


class TestSaving:
    @pytest.mark.parametrize("name", ["x.npy", "x.csv", "x"])
    def test_it_is_written(self, window, monkeypatch, tmp_path, name):
        monkeypatch.setattr(
            QFileDialog, "getSaveFileName", lambda *a, **k: (str(tmp_path / name), "")
        )
        choose(window, SAVE)
        path = next(tmp_path.glob("x*"))
        read = np.load(path) if path.suffix == ".npy" else np.loadtxt(path, delimiter=",")
        np.testing.assert_array_equal(read, value(window))
        assert window.document.is_clean


def test_without_a_value_there_is_nothing_to_save_or_change(window):
    window.document._begin(Diagram({"main": Page({"w": Variable(shape=(3,))})}), None)
    window.canvas.select({"w"})
    enabled = [action.isEnabled() for action in tools(window).menu().actions()]
    assert enabled == [True, True, False, False]
