from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QByteArray, QEvent, QMimeData, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QImage,
    QNativeGestureEvent,
    QPainter,
    QPointingDevice,
    QWheelEvent,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QToolTip

from gradwire.app.canvas.input.dropping import BLOCK_MIME
from gradwire.app.canvas.state.view_state import Selection
from gradwire.app.canvas.view import CanvasView
from gradwire.app.services.theme import DARK, LIGHT
from gradwire.runtime.diagram import (
    AddBlock,
    Diagram,
    Disconnect,
    MoveBlocks,
    Note,
    Point,
    PortName,
    RemoveBlocks,
    RenameBlock,
    SetNote,
    SetParameters,
    apply,
)
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow import Cutter, State, Verdict
from tests.app.canvas.pages import (
    PLAIN,
    EvaluationResult,
    Shell,
    block,
    click,
    diagram,
    double_click,
    page,
    seed,
    seed_result,
    unhurried,
)
from tests.app.mouse import drag_over, drop

NO_PIXELS = QPoint(0, 0)


def wheel(canvas, at: QPoint, turned: int = 0, pixels: QPoint = NO_PIXELS, modifiers=PLAIN):
    event = QWheelEvent(
        QPointF(at),
        QPointF(canvas.mapToGlobal(at)),
        pixels,
        QPoint(0, turned),
        Qt.MouseButton.NoButton,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(canvas, event)


class TestLooking:
    def test_the_first_diagram_is_fitted(self, canvas, shell):
        bounds = QRect()
        for name in shell.main.blocks:
            bounds = bounds.united(canvas.block_rect(name))
        assert canvas.rect().contains(bounds)
        assert abs(bounds.center().x() - canvas.rect().center().x()) <= 2

    @pytest.mark.parametrize("modifiers", [PLAIN, Qt.KeyboardModifier.ControlModifier])
    def test_the_wheel_zooms_at_the_pointer(self, qtbot, canvas, shell, modifiers):
        at = canvas.port_position("loss", "x")
        with qtbot.waitSignal(canvas.zoomChanged) as signal:
            wheel(canvas, at, 120, modifiers=modifiers)
        assert signal.args == [canvas.zoom()]
        moved = canvas.port_position("loss", "x") - at
        assert moved.manhattanLength() <= 1

    def test_turning_back_comes_back(self, canvas, shell):
        zoom, rect = canvas.zoom(), canvas.block_rect("a")
        for turned in (120, 240, -360):
            wheel(canvas, QPoint(300, 200), turned)
        assert canvas.zoom() == pytest.approx(zoom)
        assert canvas.block_rect("a") == rect

    def test_two_fingers_pan(self, canvas, shell):
        zoom, rect = canvas.zoom(), canvas.block_rect("a")
        wheel(canvas, QPoint(300, 200), -120, pixels=QPoint(-15, -30))
        assert canvas.zoom() == zoom
        assert canvas.block_rect("a") == rect.translated(-15, -30)

    def test_a_pinch_zooms_where_it_is(self, canvas, shell):
        at, zoom = canvas.port_position("loss", "x"), canvas.zoom()
        where = QPointF(at)
        event = QNativeGestureEvent(
            Qt.NativeGestureType.ZoomNativeGesture,
            QPointingDevice.primaryPointingDevice(),
            2,
            where,
            where,
            QPointF(canvas.mapToGlobal(at)),
            0.25,
            QPointF(),
        )
        QApplication.sendEvent(canvas, event)
        assert canvas.zoom() == pytest.approx(1.25 * zoom)
        assert (canvas.port_position("loss", "x") - at).manhattanLength() <= 1

    def test_two_fingers_zoom_with_ctrl(self, canvas, shell):
        zoom = canvas.zoom()
        control = Qt.KeyboardModifier.ControlModifier
        wheel(canvas, QPoint(300, 200), 120, QPoint(0, 30), control)
        assert canvas.zoom() > zoom

    def test_zoom_has_limits(self, canvas, shell):
        canvas.set_zoom(1e9)
        assert canvas.zoom() <= 16
        canvas.set_zoom(1e-9)
        assert canvas.zoom() > 0

    def test_zoom_to_selection_shows_it_large(self, canvas, shell):
        canvas.set_zoom(0.1)
        canvas.select(["mul1"])
        canvas.zoom_to_selection()
        assert canvas.zoom() == 2.0
        centre = canvas.block_rect("mul1").center() - canvas.rect().center()
        assert centre.manhattanLength() <= 3

    def test_scene_position_is_the_inverse(self, canvas, shell):
        rect = canvas.block_rect("mul1")
        at = canvas.scene_position(rect.topLeft())
        assert at == pytest.approx((240, 0), abs=1 / canvas.zoom())

    def test_what_is_not_there_has_no_place(self, canvas, shell):
        with pytest.raises(KeyError):
            canvas.block_rect("nobody")
        with pytest.raises(KeyError, match=r"mul1\.c"):
            canvas.port_position("mul1", "c")
        with pytest.raises(KeyError):
            canvas.wire_position("mul1.a")

    def test_an_edit_keeps_the_view(self, canvas, shell):
        wheel(canvas, QPoint(300, 200), 120)
        rect = canvas.block_rect("a")
        edit = apply(shell.diagram, AddBlock("far", block("Tanh"), Point(5000, 5000)))
        canvas.set_diagram(edit.after)
        assert canvas.block_rect("a") == rect

    def test_each_page_has_its_own_view(self, canvas):
        inner = page({"w": block("Variable", value=1.0)}, layout={"w": (400, 300)})
        both = Diagram({"main": page({"m": block("Mul")}, layout={"m": (0, 0)}), "inner": inner})
        canvas.set_diagram(both)
        wheel(canvas, QPoint(300, 200), 240)
        rect = canvas.block_rect("m")
        canvas.set_diagram(both, "inner")
        assert canvas.rect().contains(canvas.block_rect("w"))
        canvas.set_diagram(both)
        assert canvas.block_rect("m") == rect

    def test_an_empty_page_can_be_shown(self, canvas):
        canvas.set_diagram(Diagram())
        canvas.zoom_to_fit()
        canvas.repaint()
        assert canvas.zoom() == 1.0


class TestSelection:
    def test_it_stays_for_what_still_exists(self, canvas, shell):
        canvas.select(["mul1", "stop1"])
        canvas.select_wire("loss.x")
        canvas.set_diagram(apply(shell.diagram, RemoveBlocks(["stop1", "add1"])).after)
        assert canvas.selection() == {"mul1"}
        assert canvas.selected_wire() is None
        assert shell.selections[-1] == Selection(frozenset({"mul1"}))

    def test_names_that_are_not_there_are_left_out(self, canvas, shell):
        canvas.select(["mul1", "nobody"])
        canvas.select_wire("nobody.x")
        assert canvas.selection() == {"mul1"}
        assert canvas.selected_wire() is None

    def test_nothing_is_said_when_nothing_changes(self, canvas, shell):
        canvas.select(["mul1"])
        canvas.select(["mul1"])
        assert len(shell.selections) == 1


class TestKeys:
    @pytest.mark.parametrize("key", [Qt.Key.Key_Delete, Qt.Key.Key_Backspace])
    def test_delete_removes_the_selected_blocks(self, canvas, shell, key):
        canvas.select(["stop1", "mul1"])
        QTest.keyClick(canvas, key)
        assert shell.changes == [RemoveBlocks(("mul1", "stop1"))]
        assert canvas.selection() == frozenset()

    def test_delete_removes_the_selected_wire(self, canvas, shell):
        click(canvas, canvas.wire_position("loss.x"))
        QTest.keyClick(canvas, Qt.Key.Key_Delete)
        assert shell.changes == [Disconnect(PortName("loss", "x"))]
        assert canvas.selected_wire() is None

    def test_delete_removes_the_selected_note(self, canvas):
        note = Note("hello", Point(0, 0), 200, 60)
        shell = Shell(canvas, diagram({}, notes={"n": note}))
        click(canvas, QPoint(canvas.width() // 2, canvas.height() // 2))
        QTest.keyClick(canvas, Qt.Key.Key_Delete)
        assert shell.changes == [SetNote("n", None)]

    def test_delete_without_a_selection_does_nothing(self, canvas, shell):
        QTest.keyClick(canvas, Qt.Key.Key_Delete)
        assert not shell.changes

    @pytest.mark.parametrize(
        ("key", "modifiers", "place"),
        [
            (Qt.Key.Key_Left, PLAIN, (230, 0)),
            (Qt.Key.Key_Right, PLAIN, (250, 0)),
            (Qt.Key.Key_Up, PLAIN, (240, -10)),
            (Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier, (240, 1)),
        ],
    )
    def test_arrows_nudge(self, canvas, shell, key, modifiers, place):
        canvas.select(["mul1"])
        QTest.keyClick(canvas, key, modifiers)
        assert shell.changes == [MoveBlocks({"mul1": Point(*place)})]

    def test_ctrl_a_selects_all_and_escape_none(self, canvas, shell):
        QTest.keyClick(canvas, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        assert canvas.selection() == shell.main.blocks.keys()
        QTest.keyClick(canvas, Qt.Key.Key_Escape)
        assert canvas.selection() == frozenset()


def open_field(canvas, kind):
    return next(field for field in canvas.findChildren(kind) if field.isVisible())


class TestNames:
    def test_f2_renames_in_place(self, canvas, shell):
        canvas.select(["mul1"])
        QTest.keyClick(canvas, Qt.Key.Key_F2)
        field = open_field(canvas, QLineEdit)
        assert field.text() == "mul1"
        assert canvas.block_rect("mul1").intersects(field.geometry())
        QTest.keyClicks(field, "scaled")
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert shell.changes == [RenameBlock("mul1", "scaled")]
        assert canvas.selection() == {"scaled"}
        assert not field.isVisible()

    def test_a_double_click_renames_too(self, canvas, shell):
        rect = canvas.block_rect("mul1")
        double_click(canvas, QPoint(rect.center().x(), rect.top() + 8))
        assert open_field(canvas, QLineEdit).text() == "mul1"

    def test_a_double_click_on_the_symbol_asks_for_the_derivative(self, canvas, shell):
        asked = []
        canvas.derivativeRequested.connect(asked.append)
        corner = canvas.block_rect("mul1").topLeft()
        double_click(canvas, corner + QPoint(16, 10))
        assert asked == ["mul1"]
        assert not canvas.findChildren(QLineEdit)
        canvas.set_zoom(0.45)  # the symbol is below the name
        rect = canvas.block_rect("mul1")
        double_click(canvas, rect.topLeft() + QPoint(20, 4))
        assert asked == ["mul1"]
        assert open_field(canvas, QLineEdit).text() == "mul1"
        double_click(canvas, rect.bottomLeft() + QPoint(14, -3))
        assert asked == ["mul1", "mul1"]
        canvas.set_zoom(0.2)  # the symbol is all there is
        double_click(canvas, canvas.block_rect("mul1").center())
        assert asked == ["mul1"] * 3

    def test_a_name_that_is_taken_is_refused_and_the_field_stays(self, canvas, shell):
        canvas.inline_editor.edit_name("mul1")
        field = open_field(canvas, QLineEdit)
        QTest.keyClicks(field, "add1")
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert "add1" in shell.messages[-1]
        assert field.isVisible()
        assert not shell.changes

    def test_escape_leaves_the_name(self, canvas, shell):
        canvas.inline_editor.edit_name("mul1")
        field = open_field(canvas, QLineEdit)
        QTest.keyClicks(field, "other")
        QTest.keyClick(field, Qt.Key.Key_Escape)
        assert not field.isVisible()
        assert not shell.changes

    def test_a_click_elsewhere_takes_the_name(self, canvas, shell):
        canvas.inline_editor.edit_name("mul1")
        field = open_field(canvas, QLineEdit)
        QTest.keyClicks(field, "scaled")
        canvas.setFocus()
        assert shell.changes == [RenameBlock("mul1", "scaled")]

    def test_the_same_name_changes_nothing(self, canvas, shell):
        canvas.inline_editor.edit_name("mul1")
        QTest.keyClick(open_field(canvas, QLineEdit), Qt.Key.Key_Return)
        assert not shell.changes

    def test_a_name_that_is_not_there_opens_nothing(self, canvas, shell):
        canvas.inline_editor.edit_name("nobody")
        assert not canvas.findChildren(QLineEdit)


class TestNotes:
    @pytest.fixture
    def noted(self, canvas) -> Shell:
        return Shell(canvas, diagram({}, notes={"n": Note("hello", Point(0, 0), 200, 60)}))

    def test_a_double_click_opens_the_text(self, canvas, noted):
        centre = canvas.rect().center()
        double_click(canvas, centre)
        field = open_field(canvas, QPlainTextEdit)
        field.setPlainText("good day")
        QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        assert noted.changes == [SetNote("n", Note("good day", Point(0, 0), 200, 60))]

    def test_a_longer_text_makes_the_note_taller(self, canvas, noted):
        canvas.inline_editor.edit_note("n")
        open_field(canvas, QPlainTextEdit).setPlainText("many words " * 40)
        canvas.setFocus()
        assert noted.main.notes["n"].height > 200
        assert noted.main.notes["n"].width == 200

    def test_escape_keeps_what_was_typed(self, canvas, noted):
        canvas.inline_editor.edit_note("n")
        field = open_field(canvas, QPlainTextEdit)
        field.setPlainText("good day")
        QTest.keyClick(field, Qt.Key.Key_Escape)
        assert noted.changes == [SetNote("n", Note("good day", Point(0, 0), 200, 60))]
        assert not field.isVisible()

    def test_leaving_the_field_takes_the_text(self, canvas, noted):
        canvas.inline_editor.edit_note("n")
        open_field(canvas, QPlainTextEdit).setPlainText("good day")
        canvas.setFocus()
        assert noted.main.notes["n"].text == "good day"


def dropped(canvas, text: str, at: QPoint) -> None:
    data = QMimeData()
    data.setData(BLOCK_MIME, QByteArray(text.encode()))
    drop(canvas, data, at)


class TestDropping:
    def test_a_block_lands_on_the_grid_under_a_fresh_name(self, canvas, shell):
        at = QPoint(123, 77)
        wanted = canvas.scene_position(at)
        dropped(canvas, "Mul", at)
        (change,) = shell.changes
        assert isinstance(change, AddBlock)
        assert change.name == "mul2"
        assert change.at == (round(wanted.x / 10) * 10, round(wanted.y / 10) * 10)
        assert canvas.selection() == {"mul2"}

    def test_an_unknown_type_is_told(self, canvas, shell):
        dropped(canvas, "Mull", QPoint(100, 100))
        assert "Mul" in shell.messages[-1]
        assert not shell.changes

    def test_other_things_are_not_taken(self, canvas, shell):
        data = QMimeData()
        data.setText("hello")
        assert not drag_over(canvas, data, QPoint(9, 9))


class TestPages:
    def test_a_double_click_enters_a_page(self, canvas):
        inner = page({"x": block("PageInput"), "y": block("PageOutput")}, {"y.x": "x.out"})
        outer = page({"enc": block("Page", page="inner")}, layout={"enc": (0, 0)})
        shell = Shell(canvas, Diagram({"main": outer, "inner": inner}))
        double_click(canvas, canvas.block_rect("enc").center())
        assert shell.pages == ["enc"]
        assert canvas.port_position("enc", "x").x() < canvas.port_position("enc", "y").x()


class TestResults:
    def test_values_of_an_older_diagram_are_dimmed(self, qtbot, canvas, shell):
        canvas.set_result(seed_result(shell.diagram))
        fresh = ink(canvas, "mul1")
        edit = apply(shell.diagram, SetParameters("mul1", {"a": 4.0}))
        canvas.set_diagram(edit.after)
        assert ink(canvas, "mul1") == fresh, "not at once: a new result is on its way"
        qtbot.waitUntil(lambda: ink(canvas, "mul1") > fresh + 10)
        canvas.set_result(seed_result(edit.after))
        assert ink(canvas, "mul1") == fresh

    def test_a_move_leaves_them_as_they_are(self, qtbot, canvas, shell):
        canvas.set_result(seed_result(shell.diagram))
        canvas.set_diagram(apply(shell.diagram, MoveBlocks({"a": Point(480, 200)})).after)
        qtbot.wait(200)
        assert not canvas.view.annotations.page.stale

    def test_a_face_grows_with_its_value(self, canvas):
        shown = diagram({"m": block("Mul", a=1, b=2)}, layout={"m": (0, 0)})
        canvas.set_diagram(shown)
        small = canvas.block_rect("m").height()
        at = canvas.port_position("m", "out")
        canvas.set_result(EvaluationResult(shown, {"m.out": np.ones((3, 2), np.float32)}))
        assert canvas.block_rect("m").height() > small
        assert canvas.port_position("m", "out") == at

    def test_without_a_result_there_are_no_values(self, canvas, shell):
        canvas.set_result(seed_result(shell.diagram))
        canvas.set_result(None)
        assert not canvas.view.annotations.look(0).sections

    def test_tooltips_tell_of_ports_and_blocks(self, canvas, shell):
        canvas.set_result(seed_result(shell.diagram))

        def tip(at: QPoint) -> str:
            event = QHelpEvent(QEvent.Type.ToolTip, at, canvas.mapToGlobal(at))
            QApplication.sendEvent(canvas, event)
            return QToolTip.text()

        told = tip(canvas.port_position("mul1", "out"))
        assert "mul1.out" in told
        assert "1 × 2 float32" in told
        assert "[[0. 3.]]" in told
        assert "3" in tip(canvas.port_position("mul1", "a"))
        rect = canvas.block_rect("stop1")
        assert "StopGradient" in tip(QPoint(rect.center().x(), rect.top() + 8))
        QToolTip.hideText()


def ink(canvas: CanvasView, name: str) -> int:
    """Darkness of the darkest pixel where the block's numbers are."""
    rect = canvas.block_rect(name)
    half = rect.width() // 2
    numbers = QRect(rect.left() + half, rect.top() + rect.height() // 2 - 2, half - 8, 16)
    image = canvas.grab(numbers).toImage()
    return min(
        image.pixelColor(x, y).lightness()
        for x in range(image.width())
        for y in range(image.height())
    )


class TestPictures:
    def test_the_page_is_fitted_into_an_image(self, canvas, shell):
        canvas.set_result(seed_result(shell.diagram))
        image = QImage(800, 300, QImage.Format.Format_RGB32)
        canvas.select(["mul1"])
        canvas.render_to(image)
        colours = {image.pixel(x, y) for x in range(0, 800, 2) for y in range(0, 300, 2)}
        assert LIGHT.lane(State.CARRIES).rgb() in colours
        assert image.pixelColor(1, 1) == canvas.view.theme.canvas

    def test_in_another_theme(self, canvas, shell):
        image = QImage(1200, 400, QImage.Format.Format_RGB32)
        canvas.render_to(image, theme=DARK)
        assert image.pixelColor(1, 1) == DARK.canvas
        assert canvas.view.theme is LIGHT

    def test_at_twice_the_pixels(self, canvas, shell):
        image = QImage(1600, 600, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(2.0)
        canvas.render_to(image)
        assert image.pixelColor(1590, 590) == LIGHT.canvas

    def test_on_a_painter(self, canvas, shell):
        image = QImage(900, 400, QImage.Format.Format_RGB32)
        with QPainter(image) as painter:
            canvas.render_to(painter)
        assert image.pixelColor(1, 1) == LIGHT.canvas

    def test_faces_of_another_zoom_stand_in_for_a_while(self, qtbot, canvas, shell):
        canvas.set_result(seed_result(shell.diagram))
        canvas.set_zoom(0.9)
        faces = canvas.context.painter.faces
        faces.budget = 0.0
        canvas.grab()
        assert faces.behind, "with no time, some faces are still to be drawn"
        qtbot.waitUntil(lambda: canvas.grab() is not None and not faces.behind)
        canvas.set_zoom(1.1)
        hurried = canvas.grab().toImage()
        assert faces.behind
        centre = canvas.block_rect("loss").center()  # the last one of them
        assert hurried.pixelColor(centre) == LIGHT.face("losses")
        qtbot.waitUntil(lambda: canvas.grab() is not None and not faces.behind)
        assert canvas.grab().toImage() != hurried

    def test_signs_stand_on_the_lanes(self, canvas, shell):
        states = seed_result(shell.diagram).states
        states |= {"add1.a": State.OFF_ROUTE, "loss.x": State.ZERO, "add1.b": State.EXPLODING}

        def verdict(wire):
            return Verdict(
                wire, None, State.STOPPED, "", cutters=(Cutter(InstancePath("stop1"), "x", "stop"),)
            )

        plain = replace(seed_result(shell.diagram), states=states)
        unhurried(canvas)  # all signs in one painting
        canvas.set_result(plain)
        without = canvas.grab().toImage()
        canvas.set_result(replace(plain, verdict=verdict))
        cut = canvas.grab().toImage()
        end, near = canvas.port_position("stop1", "x"), QRect(0, 0, 24, 24)
        near.moveCenter(end + QPoint(-9, 6))
        assert cut.copy(near) != without.copy(near)
        far = QRect(0, 0, 24, 24)
        far.moveCenter(canvas.port_position("mul1", "b") + QPoint(-9, 6))
        assert cut.copy(far) == without.copy(far), "only where the gradient is cut"
        image = QImage(1200, 500, QImage.Format.Format_RGB32)
        canvas.render_to(image)
        colours = {image.pixel(x, y) for x in range(1200) for y in range(500)}
        assert LIGHT.lane(State.EXPLODING).rgb() in colours

    def test_from_afar_blocks_are_rectangles(self, canvas, shell):
        canvas.set_zoom(0.2)
        image = canvas.grab().toImage()
        rect = canvas.block_rect("mul1")
        for corner in (rect.topLeft() + QPoint(2, 2), rect.bottomRight() - QPoint(2, 2)):
            assert image.pixelColor(corner) == LIGHT.border("arithmetic")

    def test_from_afar_the_selection_shows(self, canvas, shell):
        canvas.set_zoom(0.2)
        rect = canvas.block_rect("mul1")
        wire = canvas.wire_position("loss.x")
        canvas.select(["mul1"])
        canvas.select_wire("loss.x")
        image = canvas.grab().toImage()
        row = [image.pixelColor(x, rect.center().y()) for x in range(rect.left() - 6, rect.left())]
        assert QColor(LIGHT.accent) in row
        column = [image.pixelColor(wire.x(), y) for y in range(wire.y() - 2, wire.y() + 3)]
        assert QColor(LIGHT.ink) in column


def test_no_event_leaves_a_trace_without_a_diagram(canvas):
    assert isinstance(canvas, CanvasView)
    click(canvas, QPoint(50, 50))
    QTest.keyClick(canvas, Qt.Key.Key_Delete)
    wheel(canvas, QPoint(50, 50), 120)
    assert canvas.selection() == frozenset()
    assert seed().main.blocks


class TestFlowing:
    def test_chevrons_of_the_selected_wire_move(self, qtbot, canvas, shell):
        canvas.set_result(seed_result(shell.diagram))
        canvas.select_wire("loss.x")
        qtbot.waitUntil(lambda: canvas.view.phase > 0)
        canvas.select_wire(None)
        assert canvas.view.phase == 0

    def test_nothing_moves_where_no_gradient_flows(self, qtbot, canvas, shell):
        canvas.set_result(seed_result(shell.diagram))
        canvas.select_wire("stop1.x")
        qtbot.wait(150)
        assert canvas.view.phase == 0

    def test_nothing_moves_unseen(self, qtbot, canvas, shell):
        canvas.set_result(seed_result(shell.diagram))
        canvas.select_wire("loss.x")
        canvas.hide()
        qtbot.wait(150)
        assert canvas.view.phase == 0
        canvas.show()
        qtbot.waitUntil(lambda: canvas.view.phase > 0)

    def test_it_stops_when_the_wire_goes(self, qtbot, canvas, shell):
        canvas.set_result(seed_result(shell.diagram))
        canvas.select_wire("loss.x")
        canvas.set_diagram(apply(shell.diagram, Disconnect(PortName("loss", "x"))).after)
        qtbot.wait(120)
        assert canvas.view.phase == 0
