"""The legend on the canvas: where it stands, and how it is moved and put away."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest

from gradwire.runtime.diagram import MoveBlocks, Point, apply
from tests.app.canvas.pages import LEFT, PLAIN, Shell, move, seed


def covered(canvas, place: QRect) -> int:
    rects = [canvas.block_rect(name) & place for name in canvas.view.scene.names]
    return sum(rect.width() * rect.height() for rect in rects)


@pytest.fixture
def legend(canvas):
    canvas.resize(1400, 700)
    return canvas.legend


def spread(canvas, x: float, y: float) -> None:
    """The seed with its blocks in one heap at (x, y) of the widget."""
    names = seed().main.blocks
    places = {name: Point(x + 12 * i, y + 12 * i) for i, name in enumerate(names)}
    Shell(canvas, apply(seed(), MoveBlocks(places)).after)
    canvas.set_camera(type(canvas.view.camera)())


@pytest.mark.parametrize("heap", [(20, 20), (1000, 20), (20, 500), (1000, 500)])
def test_it_stands_in_a_corner_where_it_covers_nothing(canvas, legend, heap):
    spread(canvas, *heap)
    legend.toggle()
    assert legend.isVisible()
    assert canvas.rect().contains(legend.geometry())
    assert covered(canvas, legend.geometry()) == 0


def test_it_stays_while_the_page_is_moved_and_chooses_anew_when_it_is_fitted(canvas, legend):
    spread(canvas, 1000, 500)
    legend.toggle()
    before = legend.pos()
    canvas.set_camera(canvas.view.camera.panned(-980.0, -480.0))
    canvas.repaint()
    assert legend.pos() == before
    assert covered(canvas, legend.geometry())
    spread(canvas, 20, 20)
    canvas.set_camera(canvas.view.camera.zoomed(0.5, 0.0, 0.0))
    canvas.zoom_to_fit()
    choices = [covered(canvas, QRect(at, legend.size())) for at in legend._corners()]
    assert covered(canvas, legend.geometry()) == min(choices)


def test_it_is_shown_over_the_page(canvas, shell, legend):
    before = canvas.grab().toImage()
    legend.toggle()
    place = legend.geometry().adjusted(4, 4, -4, -4)
    assert canvas.grab().toImage().copy(place) != before.copy(place)


def test_it_is_dragged_and_stays_there(qtbot, canvas, shell, legend):
    legend.toggle()
    start, before = QPoint(30, 30), legend.pos()
    with qtbot.assertNotEmitted(legend.clicked):
        QTest.mousePress(legend, LEFT, PLAIN, start)
        move(legend, start + QPoint(40, 55))
        QTest.mouseRelease(legend, LEFT, PLAIN, start)
    by = legend.pos() - before
    assert np.hypot(by.x(), by.y()) > 30
    there = legend.pos()
    canvas.zoom_to_fit()
    assert legend.pos() == there
    canvas.resize(900, 500)
    assert canvas.rect().contains(legend.geometry())


def test_a_click_asks_for_it_to_be_put_away(qtbot, canvas, shell, legend):
    legend.toggle()
    with qtbot.waitSignal(legend.clicked):
        QTest.mouseClick(legend, Qt.MouseButton.LeftButton)
    legend.toggle()
    assert not legend.isVisible()


def test_it_grows_with_what_it_tells(qtbot, canvas, shell, legend):
    legend.toggle()
    before = legend.width()
    canvas.set_actual_zoom(1.5)
    canvas.repaint()
    qtbot.waitUntil(lambda: legend.width() > 1.3 * before)
