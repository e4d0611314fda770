from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt

from gradwire.app.canvas.input.edits import aligned
from gradwire.app.canvas.input.gestures.base import enclosed
from gradwire.runtime.diagram import Batch, Point
from tests.app.canvas.pages import LEFT, drag, move

RECTS = np.array([[0, 0, 160, 52], [300, 40, 160, 88], [501, 200, 160, 70.0]])


@pytest.mark.parametrize(
    ("way", "axis", "share"),
    [("left", 0, 0), ("centre", 0, 0.5), ("right", 0, 1), ("top", 1, 0), ("middle", 1, 0.5),
     ("bottom", 1, 1)],
)  # fmt: skip
def test_edges_and_middles_come_to_lie_in_line(way, axis, share):
    corners = aligned(RECTS, way)
    lines = corners[:, axis] + share * RECTS[:, axis + 2]
    assert np.ptp(lines) <= 1.0
    assert np.array_equal(corners[:, 1 - axis], RECTS[:, 1 - axis])


@pytest.mark.parametrize(("way", "axis"), [("across", 0), ("down", 1)])
def test_distributing_leaves_equal_gaps_and_the_ends_where_they_are(way, axis):
    corners = aligned(RECTS, way)
    ends = corners[:, axis] + RECTS[:, axis + 2]
    gaps = corners[1:, axis] - ends[:-1]
    assert np.ptp(gaps) <= 1.0
    assert corners[0, axis] == RECTS[0, axis]
    assert corners[-1, axis] == RECTS[-1, axis]


@given(st.lists(st.tuples(*[st.integers(-500, 500)] * 2), max_size=8))
def test_snapping_twice_is_snapping_once(corners):
    rects = np.array([(x, y, 160.0, 52.0) for x, y in corners], float).reshape(-1, 4)
    once = aligned(rects, "grid")
    assert (once % 10 == 0).all()
    assert np.array_equal(aligned(np.hstack([once, rects[:, 2:]]), "grid"), once)


def test_the_canvas_asks_for_one_change_of_the_selected_blocks(canvas, shell):
    canvas.select(["a", "add1"])
    canvas.align("top")
    (change,) = shell.changes
    assert isinstance(change, Batch)
    assert shell.main.layout["a"] == Point(480, 40)
    assert shell.main.layout["add1"] == Point(720, 40)
    canvas.align("top")
    assert len(shell.changes) == 1


def test_without_a_selection_nothing_is_asked(canvas, shell):
    canvas.align("left")
    assert not shell.changes


class TestLasso:
    def test_alt_drag_selects_what_it_encloses(self, canvas, shell):
        rect = canvas.block_rect("stop1")
        around = [
            rect.topLeft() + QPoint(-20, -20), rect.topRight() + QPoint(20, -20),
            rect.bottomRight() + QPoint(20, 20), rect.bottomLeft() + QPoint(-20, 20),
        ]  # fmt: skip
        alt = Qt.KeyboardModifier.AltModifier
        drag(canvas, around[0], around[1], modifiers=alt, release=False)
        for at in around[2:]:
            move(canvas, at, LEFT, alt)
        canvas.grab()
        assert canvas.selection() == {"stop1"}
        canvas.context.mouse.cancel()
        assert canvas.selection() == frozenset()
        assert not shell.changes

    def test_even_odd(self):
        outline = np.array([[0, 0], [10, 0], [10, 10], [0, 10.0]])
        inside = enclosed(np.array([[5, 5], [15, 5], [-1, 5], [5, 11.0]]), outline)
        assert inside.tolist() == [True, False, False, False]
