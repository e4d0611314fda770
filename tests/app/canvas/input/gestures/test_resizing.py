"""Views are pulled by their corner: they grow on the grid, in one undo."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt

from gradwire.runtime.diagram import Point
from gradwire.runtime.diagram.edits.changes import Batch
from gradwire.runtime.diagram.layout.measures import VIEW_SIZE
from gradwire.runtime.diagram.model import LEAST_SIZE, PLAIN, Size
from tests.app.canvas.pages import Shell, block, diagram, drag, hover


@pytest.fixture
def shown(canvas) -> Shell:
    made = Shell(
        canvas,
        diagram(
            {"w": block("Variable", value=[1.0, 2.0]), "view": block("Histogram")},
            {"view.x": "w.out"},
            {"w": (0, 0), "view": (300, 0)},
        ),
    )
    canvas.zoom_to_fit()
    return made


def corner(canvas, name: str = "view") -> QPoint:
    return canvas.block_rect(name).bottomRight() - QPoint(3, 3)


def size(shell: Shell) -> Size | None:
    return shell.main.styles.get("view", PLAIN).size


def test_a_view_has_its_usual_size(canvas, shown):
    scene = canvas.view.scene
    width, height = scene.rects[scene.index["view"], 2:].tolist()
    assert (width, height) == VIEW_SIZE


def test_the_corner_shows_that_it_can_be_pulled(canvas, shown):
    hover(canvas, corner(canvas))
    assert canvas.cursor().shape() == Qt.CursorShape.SizeFDiagCursor
    hover(canvas, corner(canvas) - QPoint(60, 60))
    assert canvas.cursor().shape() != Qt.CursorShape.SizeFDiagCursor
    hover(canvas, corner(canvas, "w"))
    assert canvas.cursor().shape() != Qt.CursorShape.SizeFDiagCursor


def test_pulling_the_corner_resizes_in_one_change(canvas, shown):
    zoom, start = canvas.view.camera.zoom, corner(canvas)
    drag(canvas, start, start + QPoint(round(100 * zoom), round(50 * zoom)))
    (change,) = shown.changes
    assert isinstance(change, Batch) and change.label == "Resize view"
    assert size(shown) == Size(VIEW_SIZE.width + 100, VIEW_SIZE.height + 50)
    scene = canvas.view.scene
    assert tuple(scene.rects[scene.index["view"], 2:]) == size(shown)
    assert shown.main.layout["view"] == Point(300, 0), "it did not move"


def test_the_view_follows_the_hand(canvas, shown, qtbot):
    before, start = canvas.block_rect("view"), corner(canvas)
    drag(canvas, start, start + QPoint(80, 80), release=False)
    qtbot.waitUntil(lambda: canvas.block_rect("view").width() > before.width() + 40)
    canvas.context.mouse.cancel()
    assert canvas.block_rect("view") == before
    assert not shown.changes and size(shown) is None


def test_a_view_stays_large_enough(canvas, shown):
    start = corner(canvas)
    drag(canvas, start, start - QPoint(2000, 2000))
    assert size(shown) == LEAST_SIZE


def test_a_press_without_a_pull_changes_nothing(canvas, shown):
    start = corner(canvas)
    drag(canvas, start, start + QPoint(1, 1))
    assert not shown.changes


def test_other_blocks_are_moved_by_their_corner(canvas, shown):
    start = corner(canvas, "w")
    drag(canvas, start, start + QPoint(40, 40))
    assert "w" not in shown.main.styles
    assert shown.main.layout["w"] != Point(0, 0)


def test_what_a_view_comes_to_cover_makes_room_in_the_same_change(canvas):
    made = Shell(
        canvas,
        diagram(
            {"view": block("Histogram"), "w": block("Variable", value=[1.0])},
            {},
            {"view": (0, 0), "w": (300, 40)},
        ),
    )
    canvas.zoom_to_fit()
    zoom, start = canvas.view.camera.zoom, corner(canvas)
    drag(canvas, start, start + QPoint(round(200 * zoom), 0))
    (change,) = made.changes
    assert change.label == "Resize view"
    assert made.main.layout["w"].x >= VIEW_SIZE.width + 200
    assert made.main.layout["view"] == Point(0, 0)
