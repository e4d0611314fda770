"""Numbers on faces: dragged, stepped by keys and wheel, typed; by real events."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from gradwire.app.canvas.paint.blocks.numbers import number_box, number_boxes
from gradwire.app.document.numbers import NumberCell
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.runtime.diagram import MoveBlocks, SetParameters
from tests.app.canvas.pages import (
    LEFT,
    PLAIN,
    Shell,
    block,
    click,
    diagram,
    double_click,
    drag,
    hover,
    move,
    press,
)

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
Key = Qt.Key
W, SCALAR, COUNT, SWITCH = (
    NumberCell("w", "value", (0, 1)), NumberCell("s", "value"), NumberCell("n", "value"),
    NumberCell("on", "value"),
)  # fmt: skip
LITERAL = NumberCell("mul1", "a")


@pytest.fixture
def shell(canvas) -> Shell:
    made = Shell(
        canvas,
        diagram(
            {
                "w": block("Variable", value=[[1, 2, 3], [4, 5, 6]]),
                "s": block("Constant", value=0.5),
                "n": block("Input", value=7, dtype="int64"),
                "on": block("Constant", value=False),
                "mul1": block("Mul", a=3.0),
                "drawn": block("Variable", shape=(2,)),
                "large": block("Variable", shape=(20, 20)),
            },
            {"mul1.b": "w.out"},
            {
                "w": (0, 0), "s": (220, 0), "n": (440, 0), "on": (660, 0), "mul1": (0, 140),
                "drawn": (220, 140), "large": (440, 140),
            },
        ),
    )  # fmt: skip
    canvas.previewRequested.connect(lambda change: show_result(canvas))
    show_result(canvas)
    canvas.set_zoom(1.0)
    return made


def show_result(canvas) -> None:
    """Evaluate at once what the editor evaluates on a thread."""
    canvas.set_result(evaluate(canvas.view.scene.diagram))
    QApplication.processEvents()


def place(canvas, number: NumberCell) -> QPoint:
    box = number_box(canvas.view, number)
    assert box is not None, number
    return box.center().toPoint()


def value(shell, number: NumberCell):
    given = shell.main.blocks[number.block]
    array = given.literals[number.key].array if number.key != "value" else given.value.array
    return array[number.cell].item()


def pull(canvas, number, pixels, modifiers=PLAIN, *, release=True):
    start = place(canvas, number)
    drag(canvas, start, start + QPoint(pixels, 0), modifiers=modifiers, release=release)


def turn(canvas, at: QPoint, notches: float, modifiers=PLAIN):
    event = QWheelEvent(
        QPointF(at), QPointF(canvas.mapToGlobal(at)), QPoint(), QPoint(0, round(120 * notches)),
        Qt.MouseButton.NoButton, modifiers, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(canvas, event)


class TestDragging:
    @pytest.mark.parametrize(
        ("number", "pixels", "after"),
        [(W, 40, 3.0), (W, -40, 1.0), (SCALAR, 40, 0.6), (COUNT, -12, 4), (LITERAL, 40, 4.0)],
    )
    def test_a_drag_sideways_changes_the_number_by_its_step(
        self, canvas, shell, number, pixels, after
    ):
        pull(canvas, number, pixels)
        assert value(shell, number) == pytest.approx(after)
        assert len(shell.changes) == 1

    def test_only_one_cell_of_a_matrix_changes(self, canvas, shell):
        pull(canvas, W, 40)
        assert shell.main.blocks["w"].value.array.tolist() == [[1, 3, 3], [4, 5, 6]]

    def test_a_boolean_is_toggled(self, canvas, shell):
        pull(canvas, SWITCH, 12)
        assert value(shell, SWITCH) is True

    def test_a_number_that_was_drawn_is_given(self, canvas, shell):
        assert shell.main.blocks["drawn"].value is None
        number = NumberCell("drawn", "value", (1,))
        pull(canvas, number, 40)
        assert shell.main.blocks["drawn"].value.shape == (2,)

    @pytest.mark.parametrize(("held", "after"), [(SHIFT, 2.1), (CTRL, 12.0)])
    def test_shift_is_fine_and_ctrl_is_coarse(self, canvas, shell, held, after):
        pull(canvas, W, 40, held)
        assert value(shell, W) == pytest.approx(after)

    def test_a_key_may_be_pressed_on_the_way(self, canvas, shell):
        start = place(canvas, W)
        press(canvas, start)
        move(canvas, start + QPoint(40, 0))
        move(canvas, start + QPoint(80, 0), modifiers=SHIFT)
        QTest.mouseRelease(canvas, LEFT, SHIFT, start + QPoint(80, 0))
        assert value(shell, W) == pytest.approx(3.1)

    def test_the_diagram_follows_while_the_hand_moves(self, canvas, shell):
        pull(canvas, W, 40, release=False)
        shown = [change.values["value"].array[W.cell].item() for change in shell.previews]
        assert shown == pytest.approx([2.3, 2.7, 3.0])
        assert not shell.changes
        assert canvas.view.scene.page.blocks["w"].value.array[W.cell] == 3

    def test_the_hint_says_what_it_is_on_the_way(self, canvas, shell):
        pull(canvas, W, 40, release=False)
        assert shell.messages[-1].startswith("w[0, 1] = 3. Shift is fine")

    def test_escape_takes_it_back(self, canvas, shell):
        before = canvas.view.scene.page.blocks["w"]
        pull(canvas, W, 40, release=False)
        QTest.keyClick(canvas, Key.Key_Escape)
        assert canvas.view.scene.page.blocks["w"] == before
        move(canvas, place(canvas, W) + QPoint(80, 0))
        QTest.mouseRelease(canvas, LEFT, PLAIN, place(canvas, W))
        assert not shell.changes

    def test_back_at_the_start_nothing_has_changed(self, canvas, shell):
        start = place(canvas, W)
        press(canvas, start)
        for x in (40, 0):
            move(canvas, start + QPoint(x, 0))
        QTest.mouseRelease(canvas, LEFT, PLAIN, start)
        assert not shell.changes
        assert shell.previews[-1] is None

    def test_beside_the_number_the_block_is_dragged(self, canvas, shell):
        start = QPoint(canvas.block_rect("w").center().x(), canvas.block_rect("w").top() + 8)
        drag(canvas, start, start + QPoint(60, 0))
        (change,) = shell.changes
        assert isinstance(change, MoveBlocks)

    def test_from_afar_where_numbers_are_not_shown_the_block_is_dragged(self, canvas, shell):
        start = place(canvas, SCALAR)
        canvas.set_zoom(0.5)
        middle = canvas.block_rect("s").center()
        drag(canvas, middle, middle + QPoint(60, 0))
        assert isinstance(shell.changes[0], MoveBlocks)
        assert start != middle

    def test_the_numbers_of_a_large_array_cannot_be_dragged(self, canvas, shell):
        i = canvas.view.scene.index["large"]
        assert not number_boxes(canvas.view.annotations, i, 1.0)

    def test_the_computed_numbers_of_other_blocks_cannot_be_dragged(self, canvas, shell):
        boxes = number_boxes(canvas.view.annotations, canvas.view.scene.index["mul1"], 1.0)
        assert set(boxes) == {LITERAL}

    def test_another_edit_ends_the_drag(self, canvas, shell):
        pull(canvas, W, 40, release=False)
        shell._apply(SetParameters("s", {"value": 9.0}))
        move(canvas, place(canvas, W) + QPoint(120, 0))
        QTest.mouseRelease(canvas, LEFT, PLAIN, place(canvas, W))
        assert [change.name for change in shell.changes] == ["s"]


class TestClicking:
    def test_a_press_that_does_not_move_selects_the_block(self, canvas, shell):
        click(canvas, place(canvas, W))
        assert canvas.selection() == {"w"}
        assert canvas.view.number == W
        assert not shell.changes

    @pytest.mark.parametrize("modifier", [CTRL, SHIFT])
    def test_with_a_modifier_a_click_adds_to_the_selection(self, canvas, shell, modifier):
        click(canvas, place(canvas, W))
        click(canvas, place(canvas, SCALAR), modifier)
        assert canvas.selection() == {"w", "s"}
        assert canvas.view.number is None

    def test_a_cursor_and_a_hint_show_that_it_can_be_dragged(self, canvas, shell):
        hover(canvas, place(canvas, W))
        assert canvas.cursor().shape() == Qt.CursorShape.SizeHorCursor
        assert canvas.view.near_number == W
        assert shell.messages[-1].startswith("w[0, 1] = 2: drag to change")
        hover(canvas, place(canvas, W) - QPoint(0, 22))
        assert canvas.cursor().shape() == Qt.CursorShape.ArrowCursor
        assert canvas.view.near_number is None
        assert shell.messages[-1] == ""

    def test_what_is_marked_looks_different(self, canvas, shell):
        hover(canvas, QPoint(1190, 490))
        plain = canvas.grab().toImage()
        hover(canvas, place(canvas, W))
        near = canvas.grab().toImage()
        click(canvas, place(canvas, W))
        hover(canvas, QPoint(1190, 490))
        active = canvas.grab().toImage()
        at = place(canvas, W) - QPoint(0, 7)
        assert len({image.pixelColor(at).name() for image in (plain, near, active)}) >= 2
        assert plain != near != active

    def test_a_click_elsewhere_takes_the_keys_away(self, canvas, shell):
        click(canvas, place(canvas, W))
        click(canvas, QPoint(1190, 490))
        assert canvas.view.number is None


class TestStepping:
    @pytest.mark.parametrize(
        ("key", "held", "after"),
        [
            (Key.Key_Up, PLAIN, 2.1), (Key.Key_Down, PLAIN, 1.9), (Key.Key_Up, SHIFT, 2.01),
            (Key.Key_Down, CTRL, 1.0),
        ],
    )  # fmt: skip
    def test_arrows_step_the_number(self, canvas, shell, key, held, after):
        click(canvas, place(canvas, W))
        QTest.keyClick(canvas, key, held)
        assert value(shell, W) == pytest.approx(after)
        assert not any(isinstance(change, MoveBlocks) for change in shell.changes)

    def test_steps_keep_their_size_and_pass_zero(self, canvas, shell):
        click(canvas, place(canvas, SCALAR))
        for _ in range(6):
            QTest.keyClick(canvas, Key.Key_Down, CTRL)
        assert value(shell, SCALAR) == pytest.approx(-0.1)

    def test_left_and_right_go_to_the_next_number(self, canvas, shell):
        click(canvas, place(canvas, W))
        QTest.keyClick(canvas, Key.Key_Right)
        assert canvas.view.number == NumberCell("w", "value", (0, 2))
        QTest.keyClick(canvas, Key.Key_Left)
        QTest.keyClick(canvas, Key.Key_Left)
        QTest.keyClick(canvas, Key.Key_Left)
        assert canvas.view.number == NumberCell("w", "value", (1, 2))

    def test_escape_gives_the_arrows_back_to_the_block(self, canvas, shell):
        click(canvas, place(canvas, W))
        QTest.keyClick(canvas, Key.Key_Escape)
        assert canvas.selection() == {"w"}
        QTest.keyClick(canvas, Key.Key_Up)
        assert isinstance(shell.changes[0], MoveBlocks)

    def test_the_wheel_changes_the_number_that_was_clicked(self, canvas, shell):
        click(canvas, place(canvas, COUNT))
        zoom = canvas.zoom()
        turn(canvas, place(canvas, COUNT), 2)
        turn(canvas, place(canvas, COUNT), -0.5)
        turn(canvas, place(canvas, COUNT), -0.5)
        assert value(shell, COUNT) == 8
        assert canvas.zoom() == zoom

    @pytest.mark.parametrize("clicked", [True, False])
    def test_elsewhere_and_unasked_the_wheel_zooms(self, canvas, shell, clicked):
        if clicked:
            click(canvas, place(canvas, COUNT))
        zoom = canvas.zoom()
        turn(canvas, place(canvas, SCALAR), 1)
        assert canvas.zoom() > zoom
        assert not shell.changes

    def test_a_number_is_reached_without_a_mouse(self, canvas, shell):
        canvas.select(["w"])
        QTest.keyClick(canvas, Key.Key_V)
        QTest.keyClick(canvas, Key.Key_V)
        assert canvas.view.number == W
        QTest.keyClick(canvas, Key.Key_V, SHIFT)
        assert canvas.view.number == NumberCell("w", "value", (0, 0))

    def test_a_block_without_numbers_says_so(self, canvas, shell):
        canvas.select(["large"])
        QTest.keyClick(canvas, Key.Key_V)
        assert canvas.view.number is None
        assert "large has no number" in shell.messages[-1]


class TestTyping:
    def field(self, canvas) -> QLineEdit:
        (found,) = [line for line in canvas.findChildren(QLineEdit) if line.isVisible()]
        return found

    def test_a_double_click_types_it(self, canvas, shell):
        double_click(canvas, place(canvas, W))
        line = self.field(canvas)
        assert (line.text(), line.selectedText()) == ("2.0", "2.0")
        assert line.accessibleName() == "Number of block w"
        QTest.keyClicks(line, "-0.25")
        QTest.keyClick(line, Key.Key_Return)
        assert value(shell, W) == -0.25

    def test_the_keys_that_were_pressed_are_typed(self, canvas, shell):
        click(canvas, place(canvas, W))
        QTest.keyClick(canvas, Key.Key_7)
        line = self.field(canvas)
        QTest.keyClicks(line, ".5")
        QTest.keyClick(line, Key.Key_Return)
        assert value(shell, W) == 7.5

    def test_enter_types_the_number_that_has_the_keys(self, canvas, shell):
        click(canvas, place(canvas, COUNT))
        QTest.keyClick(canvas, Key.Key_Return)
        QTest.keyClicks(self.field(canvas), "12")
        QTest.keyClick(self.field(canvas), Key.Key_Return)
        assert value(shell, COUNT) == 12

    def test_what_is_no_number_stays_in_the_field(self, canvas, shell):
        double_click(canvas, place(canvas, COUNT))
        line = self.field(canvas)
        QTest.keyClicks(line, "1.5")
        QTest.keyClick(line, Key.Key_Return)
        assert line.isVisible()
        assert shell.messages[-1] == "1.5 is not a number that fits here."
        QTest.keyClick(line, Key.Key_Escape)
        assert not shell.changes

    def test_what_was_not_changed_keeps_all_its_digits(self, canvas, shell):
        shell._apply(SetParameters("s", {"value": 0.1234567890123, "dtype": "float64"}))
        canvas.set_result(evaluate(shell.diagram))
        double_click(canvas, place(canvas, SCALAR))
        assert self.field(canvas).text() == "0.1234567890123"
        QTest.keyClick(self.field(canvas), Key.Key_Return)
        assert len(shell.changes) == 1

    def test_a_double_click_below_the_name_types_the_only_number(self, canvas, shell):
        """A click that misses a small number changes it all the same, and renames nothing."""
        rect, number = canvas.block_rect("s"), number_box(canvas.view, SCALAR)
        beside = QPoint(rect.left() + 30, round(number.center().y()))
        assert not number.contains(QPointF(beside)) and rect.contains(beside)
        double_click(canvas, beside)
        field = canvas.findChild(QLineEdit)
        assert field.text() == "0.5"
        QTest.keyClicks(field, "6")
        QTest.keyClick(field, Key.Key_Return)
        (change,) = shell.changes
        assert (change.name, float(change.values["value"].array)) == ("s", 6.0)

    @pytest.mark.parametrize("name", ["w", "mul1", "large"])
    def test_a_double_click_below_the_name_edits_the_name_where_numbers_are_many_or_none(
        self, canvas, shell, name
    ):
        rect = canvas.block_rect(name)
        double_click(canvas, QPoint(rect.left() + 30, rect.bottom() - 4))
        assert canvas.findChild(QLineEdit).text() == name

    def test_a_double_click_on_the_name_edits_the_name(self, canvas, shell):
        rect = canvas.block_rect("w")
        double_click(canvas, QPoint(rect.left() + 40, rect.top() + 12))
        assert self.field(canvas).text() == "w"


def test_a_stale_result_of_another_shape_offers_no_cell_that_is_gone(canvas, shell):
    shell._apply(SetParameters("w", {"value": [1.0]}))
    i = canvas.view.scene.index["w"]
    boxes = number_boxes(canvas.view.annotations, i, 1.0)
    assert set(boxes) == {NumberCell("w", "value", (0,))}


def test_a_vector_has_a_row_of_numbers(canvas):
    shell = Shell(canvas, diagram({"v": block("Variable", value=[1, 2])}, {}, {"v": (0, 0)}))
    canvas.set_result(EvaluationResult(shell.diagram, {"v.out": np.array([1.0, 2.0], np.float32)}))
    boxes = number_boxes(canvas.view.annotations, 0, 1.0)
    assert list(boxes) == [NumberCell("v", "value", (0,)), NumberCell("v", "value", (1,))]


@pytest.mark.parametrize("zoom", [0.62, 0.68, 0.8, 1.0, 1.5])
def test_a_short_number_beside_a_port_is_dragged_and_the_port_draws_a_wire(shell, canvas, zoom):
    """On a small face its one digit lies within reach of the port."""
    canvas.set_zoom(zoom)
    at = number_box(canvas.view, COUNT).center().toPoint()
    hover(canvas, at)
    assert canvas.view.near_number == COUNT and canvas.view.near_port is None
    drag(canvas, at, at + QPoint(40, 0))
    assert value(shell, COUNT) != 7 and len(shell.main.wires) == 1
    scene = canvas.view.scene
    port = canvas.view.camera.to_widget(scene.port_points([scene.port("n", "out", is_input=False)]))
    hover(canvas, QPoint(*np.rint(port[0]).astype(int).tolist()))
    assert canvas.view.near_port is not None and canvas.view.near_number is None
