"""Bends on the canvas by mouse and keys, each with its undo, and how the wire runs through them."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QColor, QImage
from PySide6.QtTest import QTest

from gradwire.app.canvas.input.entry.candidates import type_candidate
from gradwire.app.canvas.input.entry.quick_add import QuickAdd
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.scene.geometry import Bend, Scene
from gradwire.app.canvas.scene.hits import nearest_section
from gradwire.runtime.diagram import (
    AddBlock,
    Batch,
    BendWire,
    Disconnect,
    MoveBlocks,
    Note,
    Point,
    PortName,
    SetNote,
    apply,
)
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

Key = Qt.Key
SHIFT = Qt.KeyboardModifier.ShiftModifier
RIGHT = Qt.MouseButton.RightButton
X = PortName("m", "x")


def row() -> Shell:
    """a → m → loss in a row; the wire to m is led under a stop without wires."""
    return diagram(
        {
            "a": block("Variable", value=1.0),
            "stop": block("StopGradient"),
            "m": block("Tanh"),
            "loss": block("Loss"),
        },
        {"m.x": "a.out", "loss.x": "m.out"},
        {"a": (0, 0), "stop": (300, 40), "m": (600, 0), "loss": (900, 0)},
        bends={"m.x": [(240, 200), (480, 200)]},
    )


@pytest.fixture
def bent(canvas) -> Shell:
    shell = Shell(canvas, row())
    canvas.set_camera(Camera(1.0, 40.0, 40.0))
    return shell


def bends(shell: Shell, key: str = "m.x") -> tuple[Point, ...]:
    return shell.main.bends.get(PortName.parse(key), ())


def at(canvas, x: float, y: float) -> QPoint:
    """Where a scene point is in the widget."""
    return QPoint(*(round(c) for c in canvas.view.camera.to_widget(np.array([x, y])).tolist()))


def key(canvas, *keys: Qt.Key, modifiers: Qt.KeyboardModifier = PLAIN) -> None:
    for one in keys:
        QTest.keyClick(canvas, one, modifiers)


class TestAdding:
    def test_a_double_click_on_a_wire_bends_it_there(self, canvas, bent):
        where = canvas.wire_position("loss.x")
        double_click(canvas, where)
        assert isinstance(bent.changes[-1], BendWire)
        (point,) = bends(bent, "loss.x")
        assert point == Point(*(round(c / 10) * 10 for c in canvas.scene_position(where)))
        assert canvas.view.selection.bends == {Bend("loss.x", 0)}
        assert not canvas.findChildren(QuickAdd)

    def test_it_is_in_the_hand_at_once(self, canvas, bent):
        where = canvas.wire_position("loss.x")
        double_click(canvas, where)
        drag(canvas, where, where + QPoint(0, 80))
        (point,) = bends(bent, "loss.x")
        assert abs(point.y - canvas.scene_position(where + QPoint(0, 80)).y) <= 5

    def test_a_new_bend_stands_in_order_along_the_wire(self, canvas, bent):
        double_click(canvas, at(canvas, 360, 200))
        assert [point.x for point in bends(bent)] == [240, 360, 480]
        assert canvas.view.selection.bends == {Bend("m.x", 1)}

    def test_the_background_beside_the_course_still_takes_a_block(self, canvas, bent):
        double_click(canvas, at(canvas, 240, 60))
        assert canvas.findChildren(QuickAdd)
        assert not bent.changes

    def test_a_double_click_on_a_bend_adds_none(self, canvas, bent):
        double_click(canvas, at(canvas, 240, 200))
        assert not bent.changes
        assert canvas.view.selection.bends == {Bend("m.x", 0)}

    def test_the_key_bends_the_selected_wire_where_it_was_clicked(self, canvas, bent):
        click(canvas, at(canvas, 360, 200))
        key(canvas, Key.Key_B)
        assert [point.x for point in bends(bent)] == [240, 360, 480]

    def test_without_a_click_on_it_half_way(self, canvas, shell):
        canvas.select_wire("loss.x")
        key(canvas, Key.Key_B)
        (point,) = bends(shell, "loss.x")
        x0, _, x1, _ = canvas.view.scene.wire_ends[canvas.view.scene.wire_index["loss.x"]]
        assert abs(point.x - (x0 + x1) / 2) <= 5

    def test_without_a_wire_it_says_what_to_do(self, canvas, bent):
        key(canvas, Key.Key_B)
        assert not bent.changes
        assert "Select a wire" in bent.messages[-1]


class TestMoving:
    def test_a_drag_moves_a_bend_on_the_grid_as_one_change(self, canvas, bent):
        drag(canvas, at(canvas, 240, 200), at(canvas, 263, 258))
        assert bends(bent) == (Point(260, 260), Point(480, 200))
        (change,) = bent.changes
        assert isinstance(change, MoveBlocks)
        assert not change.places

    def test_escape_puts_it_back(self, canvas, bent):
        before = canvas.view.scene.course_of("m.x").waypoints.copy()
        drag(canvas, at(canvas, 240, 200), at(canvas, 300, 300), release=False)
        assert not np.array_equal(canvas.view.scene.course_of("m.x").waypoints, before)
        key(canvas, Key.Key_Escape)
        QTest.mouseRelease(canvas, LEFT, PLAIN, at(canvas, 300, 300))
        assert np.array_equal(canvas.view.scene.course_of("m.x").waypoints, before)
        assert not bent.changes

    def test_several_are_taken_with_the_selection(self, canvas, bent):
        click(canvas, at(canvas, 240, 200))
        click(canvas, at(canvas, 480, 200), SHIFT)
        click(canvas, canvas.block_rect("stop").center() - QPoint(0, 8), SHIFT)
        drag(canvas, at(canvas, 480, 200), at(canvas, 500, 230))
        assert bends(bent) == (Point(260, 230), Point(500, 230))
        assert bent.main.layout["stop"] == Point(320, 70)

    def test_a_rubber_band_and_a_lasso_take_what_they_enclose(self, canvas, bent):
        drag(canvas, at(canvas, 200, 290), at(canvas, 280, 160))
        assert canvas.view.selection.bends == {Bend("m.x", 0)}
        alt = Qt.KeyboardModifier.AltModifier
        press(canvas, at(canvas, 440, 160), alt)
        for corner in ((520, 160), (520, 260), (440, 260)):
            move(canvas, at(canvas, *corner), LEFT, alt)
        QTest.mouseRelease(canvas, LEFT, alt, at(canvas, 440, 260))
        assert canvas.view.selection.bends == {Bend("m.x", 1)}

    def test_bends_between_blocks_that_move_come_along(self, canvas, bent):
        canvas.select({"a", "m"})
        drag(canvas, canvas.block_rect("m").center() - QPoint(0, 8), at(canvas, 700, 100))
        dx, dy = (b - a for a, b in zip((600, 0), bent.main.layout["m"], strict=True))
        assert bends(bent) == (Point(240 + dx, 200 + dy), Point(480 + dx, 200 + dy))

    def test_those_of_wires_to_what_stays_do_not(self, canvas, bent):
        drag(canvas, canvas.block_rect("m").center() - QPoint(0, 8), at(canvas, 700, 100))
        assert bends(bent) == (Point(240, 200), Point(480, 200))

    def test_a_frame_takes_them_along_with_its_blocks(self, canvas, bent):
        bent._apply(SetNote("f", Note("", Point(-40, -40), 900, 300, frame=True)))
        drag(canvas, at(canvas, 100, -30), at(canvas, 150, -10))
        assert bends(bent) == (Point(290, 220), Point(530, 220))

    def test_arrows_move_the_selected_bend_by_the_grid_or_one_px(self, canvas, bent):
        click(canvas, at(canvas, 240, 200))
        key(canvas, Key.Key_Right)
        key(canvas, Key.Key_Up, modifiers=SHIFT)
        assert bends(bent)[0] == Point(250, 199)

    def test_only_the_area_of_the_wire_is_painted_anew(self, canvas, bent, monkeypatch):
        areas = []
        monkeypatch.setattr(canvas.context, "redraw", lambda area=None: areas.append(area))
        drag(canvas, at(canvas, 240, 200), at(canvas, 240, 280), release=False)
        area = areas[-1]
        assert area.contains(QPointF(at(canvas, 240, 280)))
        assert area.contains(QPointF(canvas.port_position("m", "x")))
        assert not area.contains(QPointF(canvas.block_rect("loss").center()))


class TestRemoving:
    def test_delete_takes_the_selected_bend_and_keeps_the_wire(self, canvas, bent):
        click(canvas, at(canvas, 240, 200))
        key(canvas, Key.Key_Delete)
        assert bends(bent) == (Point(480, 200),)
        assert X in bent.main.wires
        assert not canvas.view.selection.bends

    def test_blocks_and_bends_go_as_one(self, canvas, bent):
        click(canvas, at(canvas, 240, 200))
        click(canvas, canvas.block_rect("a").center() - QPoint(0, 8), SHIFT)
        key(canvas, Key.Key_Delete)
        (change,) = bent.changes
        assert isinstance(change, Batch)
        assert "a" not in bent.main.blocks
        assert not bent.main.bends

    def test_the_wire_takes_its_bends_away(self, canvas, bent):
        click(canvas, at(canvas, 360, 200))
        key(canvas, Key.Key_Delete)
        assert X not in bent.main.wires
        assert not bent.main.bends

    def test_a_line_across_the_course_cuts_the_wire(self, canvas, bent):
        drag(canvas, at(canvas, 360, 160), at(canvas, 360, 240), RIGHT)
        assert X not in bent.main.wires

    def test_a_line_where_a_straight_wire_would_be_does_not(self, canvas, bent):
        drag(canvas, at(canvas, 280, -60), at(canvas, 280, 120), RIGHT)
        assert not bent.changes

    def test_a_selected_bend_is_let_go_when_others_come_or_go(self, canvas, bent):
        click(canvas, at(canvas, 480, 200))
        bent._apply(BendWire(X, (Point(0, 300), *bends(bent))))
        assert not canvas.view.selection.bends
        click(canvas, at(canvas, 480, 200))
        bent._apply(Disconnect(X))
        assert not canvas.view.selection.bends


class TestInserting:
    def test_a_block_dropped_on_the_course_parts_the_bends(self, canvas, bent):
        start = canvas.block_rect("stop").center() - QPoint(0, 8)
        drag(canvas, start, at(canvas, 360, 192))
        assert bent.main.wires[X] == PortName("stop", "out")
        assert bends(bent, "stop.x") == (Point(240, 200),)
        assert bends(bent) == (Point(480, 200),)

    def test_where_the_wire_does_not_run_it_is_only_moved(self, canvas, bent):
        start = canvas.block_rect("stop").center() - QPoint(0, 8)
        drag(canvas, start, at(canvas, 420, 60))
        assert bent.main.wires[X] == PortName("a", "out")

    def test_a_new_block_put_there_too(self, canvas, bent):
        canvas.add(type_candidate("Relu"), Point(300, 180))
        assert bent.main.wires[X] == PortName("relu1", "out")
        assert bends(bent, "relu1.x") == (Point(240, 200),)
        assert bends(bent) == (Point(480, 200),)


class TestKeys:
    def passed(self, canvas, step: Qt.Key, count: int) -> list[tuple[FocusKind, str, int]]:
        found = []
        for _ in range(count):
            key(canvas, step)
            focus = canvas.view.focus
            found.append((focus.kind, focus.name, focus.number))
        return found

    def test_the_focus_walks_along_the_wire_over_its_bends_and_back(self, canvas, bent):
        canvas.keyboard_focus.focus_on(Focus(FocusKind.OUTPUT, "a.out"))
        there = self.passed(canvas, Key.Key_Right, 4)
        assert there == [
            (FocusKind.WIRE, "m.x", 0),
            (FocusKind.BEND, "m.x", 0),
            (FocusKind.BEND, "m.x", 1),
            (FocusKind.INPUT, "m.x", 0),
        ]
        back = self.passed(canvas, Key.Key_Left, 4)
        assert back == [*reversed(there[:-1]), (FocusKind.OUTPUT, "a.out", 0)]
        canvas.keyboard_focus.focus_on(Focus(FocusKind.BEND, "m.x", 0))
        assert self.passed(canvas, Key.Key_Up, 1) == [(FocusKind.BEND, "m.x", 0)]
        canvas.grab()

    def test_enter_takes_the_bend_arrows_move_it_escape_lets_it_go(self, canvas, bent):
        canvas.keyboard_focus.focus_on(Focus(FocusKind.BEND, "m.x", 1))
        key(canvas, Key.Key_Return, Key.Key_Down)
        assert bends(bent)[1] == Point(480, 210)
        key(canvas, Key.Key_Escape, Key.Key_Left)
        assert canvas.view.focus == Focus(FocusKind.BEND, "m.x", 0)
        assert len(bent.changes) == 1

    def test_delete_takes_the_bend_with_the_focus_and_goes_on(self, canvas, bent):
        canvas.keyboard_focus.focus_on(Focus(FocusKind.BEND, "m.x", 1))
        key(canvas, Key.Key_Delete)
        assert bends(bent) == (Point(240, 200),)
        assert canvas.view.focus == Focus(FocusKind.WIRE, "m.x")

    def test_a_bend_made_by_key_has_the_focus_and_is_taken(self, canvas, bent):
        canvas.keyboard_focus.focus_on(Focus(FocusKind.WIRE, "loss.x"))
        key(canvas, Key.Key_B, Key.Key_Down, Key.Key_Down)
        assert canvas.view.focus == Focus(FocusKind.BEND, "loss.x", 0)
        (point,) = bends(bent, "loss.x")
        straight = canvas.view.scene.wire_ends[canvas.view.scene.wire_index["loss.x"]]
        assert point.y - straight[1] >= 15

    def test_space_on_a_bend_begins_a_wire_at_its_source(self, canvas, bent):
        canvas.keyboard_focus.focus_on(Focus(FocusKind.BEND, "m.x", 1))
        key(canvas, Key.Key_Space)
        scene = canvas.view.scene
        assert scene.port_name(canvas.keyboard_focus.wire) == PortName("a", "out")


class TestReach:
    def test_a_screen_reader_hears_which_bend_it_is(self, canvas, bent):
        canvas.keyboard_focus.focus_on(Focus(FocusKind.BEND, "m.x", 1))
        assert bent.messages[-1].startswith("bend 2 of 2, wire a to m.x")
        tree = QAccessible.queryAccessibleInterface(canvas)
        names = [tree.child(i).text(QAccessible.Text.Name) for i in range(tree.childCount())]
        assert sum(name.startswith("bend ") for name in names) == 2
        for i in range(tree.childCount()):
            assert tree.indexOfChild(tree.child(i)) == i
        place = canvas.mapToGlobal(at(canvas, 240, 200))
        hit = tree.childAt(place.x(), place.y())
        assert hit.text(QAccessible.Text.Name).startswith("bend 1 of 2")
        assert hit.rect().contains(place)
        assert hit.role() == QAccessible.Role.Grip
        assert not hit.state().selected
        click(canvas, at(canvas, 240, 200))
        assert hit.state().selected

    def test_the_pointer_shows_what_can_be_moved(self, canvas, bent):
        hover(canvas, at(canvas, 240, 200))
        assert canvas.cursor().shape() == Qt.CursorShape.SizeAllCursor

    def test_hovering_the_course_traces_the_wire(self, canvas, bent):
        hover(canvas, at(canvas, 360, 201))
        assert canvas.context.explaining.hovered == "m.x"

    def test_a_right_click_on_a_bend_selects_it_for_the_menu(self, qtbot, canvas, bent):
        with qtbot.waitSignal(canvas.menuRequested):
            click(canvas, at(canvas, 240, 200), button=RIGHT)
        assert canvas.view.selection.bends == {Bend("m.x", 0)}

    def test_from_afar_no_bend_is_in_the_way(self, canvas, bent):
        canvas.set_camera(Camera(0.2, 40.0, 40.0))
        click(canvas, at(canvas, 240, 200))
        assert not canvas.view.selection.bends


class TestLooks:
    def ink(self, canvas, x: float, y: float, spread: int = 2) -> bool:
        """Whether anything but the background is painted around a scene point."""
        image = canvas.grab().toImage()
        middle = at(canvas, x, y)
        plain = QColor(canvas.view.theme.canvas)
        around = range(-spread, spread + 1)
        return any(image.pixelColor(middle + QPoint(i, j)) != plain for i in around for j in around)

    @pytest.mark.parametrize("zoom", [1.0, 0.45, 0.2])
    def test_the_wire_is_painted_where_it_is_led(self, canvas, bent, zoom):
        canvas.set_camera(Camera(zoom, 40.0, 40.0))
        assert self.ink(canvas, 360, 200)
        assert not self.ink(canvas, 280, 300)

    @pytest.mark.parametrize("suffix", ["picked", "focus"])
    def test_what_is_picked_stands_out(self, canvas, bent, suffix):
        image = canvas.grab().toImage()
        if suffix == "picked":
            canvas.select((), (), {Bend("m.x", 0)})
        else:
            canvas.keyboard_focus.focus_on(Focus(FocusKind.BEND, "m.x", 0))
        assert canvas.grab().toImage() != image

    def test_pictures_show_the_course_and_no_handles(self, canvas, bent):
        """The middle of a bend is as thin as the wire there."""
        image = QImage(1200, 500, QImage.Format.Format_RGB32)
        canvas.render_to(image)
        camera = Camera.fitting(canvas.view.scene.bounds(), 1200, 500, margin=24.0, most=4.0)
        x, y = camera.to_widget(np.array([240.0, 200.0])).round().astype(int).tolist()
        plain = QColor(canvas.view.theme.canvas)
        column = [image.pixelColor(x, y + d) != plain for d in range(-12, 13)]
        assert any(column)
        wide = [image.pixelColor(x - 5, y + d) != plain for d in range(-12, 13)]
        assert sum(column) <= sum(wide) + 6

    def test_the_wire_in_the_hand_takes_its_dots_with_it(self, canvas, bent):
        drag(canvas, canvas.port_position("m", "x"), at(canvas, 560, 300), release=False)
        assert canvas.view.hidden_wire == "m.x"
        assert not self.ink(canvas, 240, 200)
        key(canvas, Key.Key_Escape)

    def test_a_page_with_bends_far_out_is_fitted_to_them(self, canvas, bent):
        bent._apply(BendWire(X, (Point(300, 2000),)))
        canvas.zoom_to_fit()
        assert canvas.rect().contains(at(canvas, 300, 2000))


def test_the_leg_of_a_wire_that_is_nearest():
    scene = Scene(row(), "main")
    places = [(170, 60), (360, 210), (560, 60)]
    assert [nearest_section(scene, "m.x", np.array(place, float)) for place in places] == [0, 1, 2]


def test_undo_of_each_step_is_exact(canvas, bent):
    steps = [bent.diagram]
    double_click(canvas, canvas.wire_position("loss.x"))
    key(canvas, Key.Key_Down, Key.Key_Delete)
    for change in bent.changes:
        steps.append(apply(steps[-1], change).after)
    assert steps[-1] == bent.diagram == steps[0]
    assert len(steps) == 4
    bent._apply(AddBlock("new", block("Tanh")))
    assert bends(bent) == bends(Shell(canvas, row()))
