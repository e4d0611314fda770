from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas.corners import MAP_SIZE, MiniMap
from gradwire.app.services.theme import DARK
from gradwire.runtime.diagram import AddBlock, MoveBlocks, Point, RemoveBlocks
from tests.app import mouse
from tests.app.canvas.pages import LEFT, PLAIN, Shell, block, diagram


def settle(canvas) -> None:
    canvas.repaint()
    QApplication.processEvents()


def test_it_shows_only_while_something_is_out_of_view(canvas, shell):
    canvas.zoom_to_fit()
    settle(canvas)
    assert not canvas.minimap.isVisible()
    canvas.set_zoom(4.0)
    settle(canvas)
    assert canvas.minimap.isVisible()
    assert canvas.rect().contains(canvas.minimap.geometry())
    canvas.zoom_to_fit()
    settle(canvas)
    assert not canvas.minimap.isVisible()


def test_a_press_goes_there_and_a_drag_further(canvas, shell):
    canvas.set_zoom(4.0)
    settle(canvas)
    QTest.mousePress(canvas.minimap, LEFT, PLAIN, QPoint(10, MAP_SIZE[1] // 2))
    assert canvas.rect().contains(canvas.block_rect("b").center())
    QTest.mouseMove(canvas.minimap, QPoint(90, MAP_SIZE[1] // 2))
    QTest.mouseRelease(canvas.minimap, LEFT, PLAIN, QPoint(170, MAP_SIZE[1] // 2))
    QTest.mouseClick(canvas.minimap, LEFT, PLAIN, QPoint(170, MAP_SIZE[1] // 2))
    assert canvas.rect().contains(canvas.block_rect("loss").center())
    mouse.double_click(canvas.minimap, QPoint(90, 60))
    assert not shell.changes


def test_it_is_drawn_again_for_other_pages_and_colours(canvas, shell):
    canvas.set_zoom(4.0)
    settle(canvas)
    before = canvas.minimap.grab().toImage()
    assert canvas.minimap.grab().toImage() == before
    canvas.set_theme(DARK)
    assert canvas.minimap.grab().toImage() != before


def test_a_moved_block_is_drawn_as_in_a_map_of_its_own(canvas, shell):
    canvas.set_zoom(4.0)
    settle(canvas)
    before = canvas.minimap.grab().toImage()
    inner = canvas.view.scene.names[len(canvas.view.scene.names) // 2]
    for step in (30.0, -50.0, 8.0):
        at = canvas.view.scene.page.layout[inner]
        canvas.request(MoveBlocks({inner: Point(at.x + step, at.y + step)}))
        settle(canvas)
        moved = canvas.minimap.grab().toImage()
        other = MiniMap(canvas.context)
        assert other.grab().toImage() == moved != before
        before = moved
        other.setParent(None)


def test_blocks_that_come_and_go_are_drawn_as_in_a_map_of_its_own(canvas, shell):
    """Those of the edges stay, so that only what comes and goes is drawn."""
    canvas.set_zoom(4.0)
    layout = canvas.view.scene.page.layout
    at = Point((layout["a"].x + layout["loss"].x) / 2.0, layout["a"].y)
    edits = [
        AddBlock("new", block("Add"), at),
        RemoveBlocks(("mul1",)),
        AddBlock("other", block("Variable"), Point(at.x + 30.0, layout["b"].y)),
        MoveBlocks({"new": layout["stop1"]}),
        AddBlock("odd", block("Softmax"), at),
        RemoveBlocks(("new", "stop1")),
    ]
    settle(canvas)
    before = canvas.minimap.grab().toImage()
    for edit in edits:
        canvas.request(edit)
        settle(canvas)
        changed = canvas.minimap.grab().toImage()
        other = MiniMap(canvas.context)
        assert other.grab().toImage() == changed != before
        before = changed
        other.setParent(None)


def test_a_block_that_was_dragged_over_the_map_is_shown_on_all_of_it(canvas, shell, qtbot):
    """What is painted while it is dragged is only the part of the map that it passes."""
    canvas.set_zoom(4.0)
    qtbot.waitUntil(lambda: not canvas.context.painter.is_travelling, timeout=60_000)
    settle(canvas)
    scene, screen = canvas.view.scene, canvas.screen()
    number = scene.index["a"]
    corner = scene.rects[number, :2].copy()
    scene.place(np.array([number]), corner[None] + 40.0)
    canvas.update(canvas.minimap.geometry().adjusted(0, 0, -MAP_SIZE[0] + 5, 0))
    for _ in range(3):
        QApplication.processEvents()
    shown = screen.grabWindow(canvas.winId()).copy(canvas.minimap.geometry()).toImage()
    canvas.update()
    QApplication.processEvents()
    assert screen.grabWindow(canvas.winId()).copy(canvas.minimap.geometry()).toImage() == shown


def test_it_appears_with_a_block_that_is_added_out_of_view(canvas, shell, qtbot):
    canvas.zoom_to_fit()
    settle(canvas)
    assert not canvas.minimap.isVisible()
    canvas.request(AddBlock("far", block("Tanh"), Point(1e4, 1e4)))
    qtbot.waitUntil(canvas.minimap.isVisible)


def test_it_can_be_turned_off(canvas, shell):
    canvas.set_zoom(4.0)
    canvas.minimap.toggle()
    settle(canvas)
    assert not canvas.minimap.wanted
    assert not canvas.minimap.isVisible()
    canvas.minimap.toggle()
    settle(canvas)
    assert canvas.minimap.isVisible()


def test_an_empty_page_has_none(canvas):
    Shell(canvas, diagram({}))
    canvas.set_zoom(4.0)
    settle(canvas)
    assert not canvas.minimap.isVisible()
    assert canvas.minimap.cursor().shape() == Qt.CursorShape.PointingHandCursor
