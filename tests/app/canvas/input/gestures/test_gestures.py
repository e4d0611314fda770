from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from gradwire.app.canvas.input.gestures.wiring import DrawWire
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.diagram import Batch, Connect, Disconnect, MoveBlocks, Note, Point, PortName
from tests.app.canvas.pages import (
    LEFT,
    MIDDLE,
    PLAIN,
    Shell,
    block,
    click,
    diagram,
    drag,
    move,
    press,
)
from tests.app.canvas.paint.recording import Recorder

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def middle(canvas, name) -> QPoint:
    """A point of the block's header, clear of its ports."""
    rect = canvas.block_rect(name)
    return QPoint(rect.center().x(), rect.top() + 8)


def empty(canvas) -> QPoint:
    return QPoint(canvas.width() - 15, canvas.height() - 15)


def ports(canvas, *pairs):
    return [canvas.port_position(*pair) for pair in pairs]


class TestSelecting:
    def test_a_click_selects_one_block(self, canvas, shell):
        click(canvas, middle(canvas, "mul1"))
        click(canvas, middle(canvas, "a"))
        assert canvas.selection() == {"a"}
        assert [chosen.blocks for chosen in shell.selections] == [{"mul1"}, {"a"}]
        assert not shell.changes

    @pytest.mark.parametrize("modifier", [CTRL, SHIFT])
    def test_a_click_with_a_modifier_adds_and_takes_away(self, canvas, shell, modifier):
        click(canvas, middle(canvas, "mul1"))
        click(canvas, middle(canvas, "a"), modifier)
        assert canvas.selection() == {"mul1", "a"}
        click(canvas, middle(canvas, "mul1"), modifier)
        assert canvas.selection() == {"a"}

    def test_a_click_on_one_of_many_leaves_only_it(self, canvas, shell):
        canvas.select(["mul1", "a"])
        click(canvas, middle(canvas, "a"))
        assert canvas.selection() == {"a"}

    def test_a_click_on_nothing_clears(self, canvas, shell):
        canvas.select(["mul1", "a"])
        click(canvas, empty(canvas))
        assert canvas.selection() == frozenset()

    def test_a_wire_is_clicked(self, canvas, shell):
        canvas.select(["mul1"])
        click(canvas, canvas.wire_position("loss.x"))
        assert canvas.selected_wire() == "loss.x"
        assert canvas.selection() == frozenset()
        click(canvas, empty(canvas))
        assert canvas.selected_wire() is None
        assert [chosen.wire for chosen in shell.selections] == [None, "loss.x", None]

    def test_a_rubber_band_selects_what_it_touches(self, canvas, shell):
        first, last = canvas.block_rect("b"), canvas.block_rect("mul1")
        drag(canvas, first.topLeft() - QPoint(8, 8), last.center())
        assert canvas.selection() == {"b", "mul1"}
        assert not shell.changes

    def test_a_rubber_band_adds_with_shift(self, canvas, shell):
        canvas.select(["loss"])
        rect = canvas.block_rect("b")
        drag(canvas, rect.topLeft() - QPoint(8, 8), rect.center(), modifiers=SHIFT)
        assert canvas.selection() == {"b", "loss"}

    def test_escape_takes_a_rubber_band_back(self, canvas, shell):
        canvas.select(["loss"])
        rect = canvas.block_rect("b")
        drag(canvas, rect.topLeft() - QPoint(8, 8), rect.center(), release=False)
        assert canvas.selection() == {"b"}
        QTest.keyClick(canvas, Qt.Key.Key_Escape)
        assert canvas.selection() == {"loss"}


class TestMoving:
    def test_a_drag_moves_a_block_on_the_grid_in_one_change(self, canvas, shell):
        start = middle(canvas, "mul1")
        drag(canvas, start, start + QPoint(53, 38))
        assert len(shell.changes) == 1
        (change,) = shell.changes
        assert isinstance(change, MoveBlocks)
        x, y = shell.main.layout["mul1"]
        assert (x % 10, y % 10) == (0, 0)
        assert canvas.selection() == {"mul1"}
        moved = canvas.scene_position(start + QPoint(53, 38))
        before = canvas.scene_position(start)
        assert abs(x - 240 - (moved.x - before.x)) <= 5
        assert abs(y - (moved.y - before.y)) <= 5

    def test_a_drag_moves_the_selection_together(self, canvas, shell):
        canvas.select(["mul1", "stop1"])
        start = middle(canvas, "mul1")
        drag(canvas, start, start + QPoint(0, 60))
        (change,) = shell.changes
        assert set(change.places) == {"mul1", "stop1"}
        assert change.places["stop1"].y == change.places["mul1"].y > 0

    def test_the_wheel_may_turn_while_dragging(self, canvas, shell):
        start = middle(canvas, "mul1")
        drag(canvas, start, start + QPoint(30, 0), release=False)
        canvas.set_zoom(canvas.zoom() * 0.5)
        at = QPoint(300, 400)
        move(canvas, at)
        under = canvas.scene_position(at)
        QTest.mouseRelease(canvas, LEFT, PLAIN, at)
        x, y = shell.main.layout["mul1"]
        assert x <= under.x <= x + 160
        assert y - 10 <= under.y <= y + 30

    def test_wires_follow_while_dragging(self, canvas, shell):
        start, before = middle(canvas, "loss"), canvas.wire_position("loss.x")
        drag(canvas, start, start + QPoint(0, 80), release=False)
        assert canvas.wire_position("loss.x").y() > before.y() + 20
        assert not shell.changes

    def test_escape_puts_it_back(self, canvas, shell):
        start, rect = middle(canvas, "mul1"), canvas.block_rect("mul1")
        drag(canvas, start, start + QPoint(0, 80), release=False)
        assert canvas.block_rect("mul1") != rect
        QTest.keyClick(canvas, Qt.Key.Key_Escape)
        assert canvas.block_rect("mul1") == rect
        QTest.mouseRelease(canvas, LEFT, PLAIN, start)
        assert not shell.changes

    def test_a_press_while_a_button_is_down_takes_its_place(self, canvas, shell):
        at = middle(canvas, "mul1")
        press(canvas, at)
        QTest.mousePress(canvas, LEFT, CTRL, at)
        assert not canvas.selection()
        move(canvas, at + QPoint(60, 60))
        QTest.mouseRelease(canvas, LEFT, PLAIN, at + QPoint(60, 60))
        assert not shell.changes

    def test_a_refused_move_puts_it_back(self, canvas):
        canvas.set_diagram(diagram({"m": block("Mul")}, layout={"m": (0, 0)}))
        rect, start = canvas.block_rect("m"), middle(canvas, "m")
        drag(canvas, start, start + QPoint(90, 90))
        assert canvas.block_rect("m") == rect

    def test_a_trembling_click_moves_nothing(self, canvas, shell):
        start = middle(canvas, "mul1")
        drag(canvas, start, start + QPoint(2, 1))
        assert not shell.changes

    def test_a_note_moves(self, canvas):
        note = Note("hello", Point(0, 0), 200, 60)
        shell = Shell(
            canvas, diagram({"m": block("Mul")}, layout={"m": (0, 200)}, notes={"n": note})
        )
        left, top = canvas.block_rect("m").left(), canvas.block_rect("m").top()
        start = QPoint(left + 50, round(top - 200 * canvas.zoom()) + 20)
        drag(canvas, start, start + QPoint(100, 0))
        (change,) = shell.changes
        assert change.notes.keys() == {"n"}
        assert shell.main.notes["n"].at == Point(round(100 / canvas.zoom() / 10) * 10, 0)
        assert shell.main.notes["n"].text == "hello"


class TestPanning:
    @pytest.mark.parametrize("space", [False, True])
    def test_the_middle_button_or_space_pans(self, canvas, shell, space):
        before, zoom = canvas.block_rect("mul1"), canvas.zoom()
        start = middle(canvas, "mul1")
        if space:
            QTest.keyPress(canvas, Qt.Key.Key_Space)
        drag(canvas, start, start + QPoint(40, 25), LEFT if space else MIDDLE)
        if space:
            QTest.keyRelease(canvas, Qt.Key.Key_Space)
        assert canvas.block_rect("mul1") == before.translated(40, 25)
        assert canvas.zoom() == zoom
        assert not shell.changes
        assert canvas.selection() == frozenset()

    def test_escape_takes_the_pan_back(self, canvas, shell):
        before = canvas.block_rect("mul1")
        drag(canvas, QPoint(20, 20), QPoint(60, 80), MIDDLE, release=False)
        QTest.keyClick(canvas, Qt.Key.Key_Escape)
        assert canvas.block_rect("mul1") == before


@pytest.fixture
def loose(canvas) -> Shell:
    """Two sources, a product that waits for them, and what reads it."""
    return Shell(
        canvas,
        diagram(
            {
                "a": block("Variable", value=1.0),
                "b": block("Variable", value=2.0),
                "mul1": block("Mul"),
                "tanh1": block("Tanh"),
            },
            {"tanh1.x": "mul1.out"},
            {"a": (0, 0), "b": (0, 150), "mul1": (300, 60), "tanh1": (560, 60)},
        ),
    )


class TestWiring:
    def test_from_output_to_input(self, canvas, loose):
        drag(canvas, *ports(canvas, ("a", "out"), ("mul1", "a")))
        assert loose.changes == [Connect(PortName("a", "out"), PortName("mul1", "a"))]
        assert loose.main.wires[PortName("mul1", "a")] == PortName("a", "out")

    def test_from_input_to_output(self, canvas, loose):
        drag(canvas, *ports(canvas, ("mul1", "b"), ("b", "out")))
        assert loose.changes == [Connect(PortName("b", "out"), PortName("mul1", "b"))]

    def test_the_loose_end_follows_the_pointer_from_the_start(self, canvas, loose):
        """A hand rests on the port before it presses, which marks that port."""
        start = canvas.port_position("a", "out")
        press(canvas, start)
        for way in (QPoint(8, 0), QPoint(40, 20), QPoint(90, 40)):
            end = QRect(start + way - QPoint(4, 4), QSize(5, 8))
            before = canvas.grab(end).toImage()
            move(canvas, start + way)
            assert canvas.view.near_port is None
            assert canvas.grab(end).toImage() != before

    @pytest.mark.parametrize("way", [QPoint(-9, -9), QPoint(-19, 0), QPoint(0, -14)])
    def test_the_loose_end_snaps(self, canvas, loose, way):
        start, end = ports(canvas, ("a", "out"), ("mul1", "a"))
        drag(canvas, start, end + way)
        assert PortName("mul1", "a") in loose.main.wires

    def test_a_drop_on_a_block_takes_its_first_free_input(self, canvas, loose):
        for source, target in (("a", "a"), ("b", "b")):
            end = middle(canvas, "mul1")
            drag(canvas, canvas.port_position(source, "out"), end, release=False)
            view = canvas.view
            assert view.scene.port_name(view.near_port) == PortName("mul1", target)
            QTest.mouseRelease(canvas, LEFT, PLAIN, end)
            assert loose.main.wires[PortName("mul1", target)] == PortName(source, "out")

    def test_a_drop_on_a_block_without_a_free_input_says_so(self, canvas, loose):
        drag(canvas, canvas.port_position("a", "out"), middle(canvas, "tanh1"))
        assert loose.messages[-1] == (
            "All inputs of tanh1 are wired. Drop on one of them to replace its wire."
        )
        drag(canvas, canvas.port_position("a", "out"), middle(canvas, "b"))
        assert loose.messages[-1] == "b has no input."
        assert not loose.changes

    def test_a_drop_on_a_block_that_no_input_fits_says_why(self, canvas, loose):
        drag(canvas, canvas.port_position("tanh1", "out"), middle(canvas, "mul1"))
        assert "cycle" in loose.messages[-1]
        assert not loose.changes

    def test_a_wire_from_an_input_takes_the_output_of_a_block(self, canvas, loose):
        drag(canvas, canvas.port_position("mul1", "b"), middle(canvas, "b"))
        assert loose.main.wires[PortName("mul1", "b")] == PortName("b", "out")

    def test_a_wire_dropped_on_its_own_block_stays_where_it_was(self, canvas, loose):
        drag(canvas, canvas.port_position("a", "out"), middle(canvas, "a"))
        drag(canvas, canvas.port_position("tanh1", "x"), middle(canvas, "tanh1"))
        assert not loose.changes

    def test_a_drop_beside_a_port_or_a_block_opens_no_menu(self, canvas, loose, monkeypatch):
        asked = []
        monkeypatch.setattr(canvas.context.edits, "quick_add", lambda *place: asked.append(place))
        rect, start = canvas.block_rect("b"), canvas.port_position("a", "out")
        drag(canvas, start, QPoint(rect.left() - 15, rect.center().y()))
        drag(canvas, start, start + QPoint(15, 0))
        assert not asked
        drag(canvas, start, empty(canvas))
        assert len(asked) == 1

    def test_ports_that_fit_light_up(self, qtbot, canvas, loose):
        start, end = ports(canvas, ("a", "out"), ("mul1", "a"))
        drag(canvas, start, (start + end) / 2, release=False)

        def lit():
            view = canvas.view
            return {str(view.scene.port_name(port)) for port in view.fitting_ports}

        qtbot.waitUntil(lambda: lit() == {"mul1.a", "mul1.b", "tanh1.x"})
        QTest.mouseRelease(canvas, LEFT, PLAIN, start)
        assert not canvas.view.fitting_ports

    def test_a_cycle_is_refused_with_its_reason(self, canvas, loose):
        start, end = ports(canvas, ("tanh1", "out"), ("mul1", "a"))
        drag(canvas, start, end, release=False)
        assert "cycle" in loose.messages[-1]
        QTest.mouseRelease(canvas, LEFT, PLAIN, end)
        assert not loose.changes

    def test_two_outputs_are_refused_with_the_reason(self, canvas, loose):
        start, end = ports(canvas, ("a", "out"), ("b", "out"))
        drag(canvas, start, end)
        assert "output" in loose.messages[-1]
        assert not loose.changes

    def test_ending_nowhere_does_nothing(self, canvas, loose):
        drag(canvas, canvas.port_position("a", "out"), empty(canvas))
        assert not loose.changes

    def test_a_wired_input_is_wired_anew(self, canvas, loose):
        drag(canvas, *ports(canvas, ("b", "out"), ("tanh1", "x")))
        assert loose.main.wires[PortName("tanh1", "x")] == PortName("b", "out")

    def test_an_end_dragged_off_is_detached(self, canvas, loose):
        drag(canvas, canvas.port_position("tanh1", "x"), empty(canvas))
        assert loose.changes == [Disconnect(PortName("tanh1", "x"))]
        assert not loose.main.wires

    def test_an_end_dragged_to_another_input_moves_there(self, canvas, loose):
        drag(canvas, *ports(canvas, ("a", "out"), ("mul1", "a")))
        drag(canvas, *ports(canvas, ("mul1", "a"), ("mul1", "b")))
        assert isinstance(loose.changes[-1], Batch)
        assert PortName("mul1", "a") not in loose.main.wires
        assert loose.main.wires[PortName("mul1", "b")] == PortName("a", "out")

    def test_an_end_put_back_stays(self, canvas, loose):
        start = canvas.port_position("tanh1", "x")
        drag(canvas, start, start + QPoint(60, 60), release=False)
        move(canvas, start)
        QTest.mouseRelease(canvas, LEFT, PLAIN, start)
        assert not loose.changes
        assert canvas.view.hidden_wire is None

    def test_the_start_of_the_selected_wire_is_moved(self, canvas, loose):
        click(canvas, canvas.wire_position("tanh1.x"))
        drag(canvas, *ports(canvas, ("mul1", "out"), ("b", "out")))
        assert loose.changes == [Connect(PortName("b", "out"), PortName("tanh1", "x"))]

    def test_the_start_of_the_selected_wire_put_back_stays(self, canvas, loose):
        click(canvas, canvas.wire_position("tanh1.x"))
        start = canvas.port_position("mul1", "out")
        drag(canvas, start, start + QPoint(40, 60), release=False)
        assert canvas.view.hidden_wire == "tanh1.x"
        move(canvas, start)
        QTest.mouseRelease(canvas, LEFT, PLAIN, start)
        assert not loose.changes

    def test_the_start_of_the_selected_wire_dropped_nowhere_is_detached(self, canvas, loose):
        click(canvas, canvas.wire_position("tanh1.x"))
        drag(canvas, canvas.port_position("mul1", "out"), empty(canvas))
        assert loose.changes == [Disconnect(PortName("tanh1", "x"))]

    def test_an_output_of_another_wire_begins_a_new_one(self, canvas, loose):
        drag(canvas, *ports(canvas, ("mul1", "out"), ("b", "out")))
        assert not loose.changes
        click(canvas, canvas.wire_position("tanh1.x"))
        drag(canvas, *ports(canvas, ("a", "out"), ("mul1", "a")))
        assert loose.changes == [Connect(PortName("a", "out"), PortName("mul1", "a"))]

    def test_escape_lets_go(self, canvas, loose):
        start, end = ports(canvas, ("tanh1", "x"), ("mul1", "b"))
        drag(canvas, start, end, release=False)
        assert canvas.view.hidden_wire == "tanh1.x"
        QTest.keyClick(canvas, Qt.Key.Key_Escape)
        assert canvas.view.hidden_wire is None
        QTest.mouseRelease(canvas, LEFT, PLAIN, end)
        assert not loose.changes

    def test_a_repeating_port_takes_one_more(self, canvas):
        shell = Shell(
            canvas,
            diagram(
                {"a": block("Variable", value=[1.0]), "cat": block("Concat")},
                layout={"a": (0, 0), "cat": (300, 0)},
            ),
        )
        free = canvas.view.scene.slots[1].inputs[0]
        drag(canvas, *ports(canvas, ("a", "out"), ("cat", free)))
        assert len(canvas.view.scene.slots[1].inputs) == 2
        drag(canvas, *ports(canvas, ("a", "out"), ("cat", canvas.view.scene.slots[1].inputs[1])))
        assert len(shell.main.wires) == 2

    def test_the_refusal_is_whole_at_the_edge(self, canvas, loose):
        painter, scene = Recorder(), canvas.view.scene
        room, (end,) = painter.window(), ports(canvas, ("mul1", "a"))
        canvas.set_camera(canvas.view.camera.panned(*(room.bottomRight() - end).toTuple()))
        wire = DrawWire(canvas.context, QPointF(), scene.port("tanh1", "out", is_input=False), None)
        wire.move(QPointF(room.bottomRight()))
        wire.paint(painter)
        wire.cancel()
        assert "cycle" in painter.of("drawText")[0][-1]
        assert QRectF(room).contains(painter.of("drawRoundedRect")[0][0])

    def test_the_refusal_stands_beside_the_pointer(self, canvas, loose):
        start, end = ports(canvas, ("tanh1", "out"), ("mul1", "a"))
        below = QRect(end + QPoint(17, 17), end + QPoint(60, 45))
        before = canvas.grab(below).toImage()
        drag(canvas, start, end, release=False)
        after = canvas.grab(below).toImage()
        shown = {after.pixel(x, y) for x in range(after.width()) for y in range(after.height())}
        assert after != before
        assert QColor(LIGHT.field).rgb() in shown
        QTest.keyClick(canvas, Qt.Key.Key_Escape)
        assert canvas.grab(below).toImage() == before
