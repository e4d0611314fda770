from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.canvas.minimap import SIZE, MiniMap
from app.services.theme import DARK
from runtime.diagram import MoveBlocks, Point
from tests.app import mouse
from tests.app.canvas.pages import LEFT, PLAIN, Shell, diagram


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
    QTest.mousePress(canvas.minimap, LEFT, PLAIN, QPoint(10, SIZE[1] // 2))
    assert canvas.rect().contains(canvas.block_rect("b").center())
    QTest.mouseMove(canvas.minimap, QPoint(90, SIZE[1] // 2))
    QTest.mouseRelease(canvas.minimap, LEFT, PLAIN, QPoint(170, SIZE[1] // 2))
    QTest.mouseClick(canvas.minimap, LEFT, PLAIN, QPoint(170, SIZE[1] // 2))
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
        other = MiniMap(canvas)
        assert other.grab().toImage() == moved != before
        before = moved
        other.setParent(None)


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
