"""The sliders of sources, on their faces; by real events."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gradwire.app.canvas.input import numbers
from gradwire.app.canvas.paint.blocks.numbers import number_box, slider_track
from gradwire.app.canvas.state.looks import SliderLook
from gradwire.app.document.numbers import NumberCell
from tests.app.canvas.input.gestures.test_scrubbing import show_result
from tests.app.canvas.pages import Shell, block, click, diagram, drag, hover

Key = Qt.Key
STEPPED = NumberCell("c", "value")


@pytest.fixture
def shell(canvas) -> Shell:
    made = Shell(
        canvas,
        diagram(
            {
                "v": block("Variable", value=0.25, slider=[0, 1]),
                "c": block("Constant", value=3.0, slider=[-5, 5, 0.5]),
                "x": block("Input", value=7.25, slider=[0, 5]),
                "row": block("Variable", value=[0.25, 0.5], slider=[0, 1]),
                "plain": block("Variable", value=0.25),
            },
            {},
            {"v": (0, 0), "c": (220, 0), "x": (440, 0), "row": (0, 140), "plain": (220, 140)},
        ),
    )
    canvas.previewRequested.connect(lambda change: show_result(canvas))
    show_result(canvas)
    canvas.set_zoom(1.0)
    return made


def on_track(canvas, block: str, share: float) -> QPoint:
    track = slider_track(canvas.view, block)
    return QPoint(round(track.left() + share * track.width()), round(track.center().y()))


def value(shell, block: str):
    return shell.main.blocks[block].value.array[()]


def shown(canvas, block: str):
    """What the canvas shows, which is a preview during a drag."""
    return canvas.view.scene.page.blocks[block].value.array[()]


def look(canvas, block: str) -> SliderLook | None:
    return canvas.view.annotations.look(canvas.view.scene.index[block]).slider


def test_single_numbers_with_limits_have_one(canvas, shell):
    assert look(canvas, "v") == SliderLook(0.25, is_inside=True)
    assert look(canvas, "c") == SliderLook(0.8, is_inside=True)
    assert look(canvas, "x") == SliderLook(1.0, is_inside=False)
    assert look(canvas, "row") is look(canvas, "plain") is None


def test_the_knob_follows_the_hand_as_one_undo(canvas, shell):
    drag(canvas, on_track(canvas, "v", 0.25), on_track(canvas, "v", 0.75), release=False)
    assert shown(canvas, "v") == pytest.approx(0.75, abs=0.011)
    assert look(canvas, "v").share == pytest.approx(0.75, abs=0.011)
    assert not shell.changes
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=on_track(canvas, "v", 2.0))
    assert value(shell, "v") == 1.0
    assert len(shell.changes) == 1


def test_escape_takes_the_drag_back(canvas, shell):
    drag(canvas, on_track(canvas, "v", 0.25), on_track(canvas, "v", 0.75), release=False)
    QTest.keyClick(canvas, Key.Key_Escape)
    assert shown(canvas, "v") == 0.25
    assert not shell.changes


def test_a_click_on_the_track_moves_the_knob_there(canvas, shell):
    click(canvas, on_track(canvas, "v", 0.5))
    assert value(shell, "v") == pytest.approx(0.5, abs=0.011)
    assert canvas.view.number == NumberCell("v", "value")
    assert len(shell.changes) == 1


def test_it_stops_at_its_steps(canvas, shell):
    drag(canvas, on_track(canvas, "c", 0.8), on_track(canvas, "c", 0.63))
    assert value(shell, "c") == 1.5
    assert value(shell, "c").dtype == np.float32


def test_keys_step_within_the_limits(canvas, shell):
    click(canvas, on_track(canvas, "c", 0.8))
    QTest.keyClick(canvas, Key.Key_Up)
    assert value(shell, "c") == 3.5
    for _ in range(5):
        QTest.keyClick(canvas, Key.Key_Up)
    assert value(shell, "c") == 5.0


def test_the_number_beside_it_is_scrubbed_within_the_limits(canvas, shell):
    box = number_box(canvas.view, NumberCell("v", "value"))
    beside = QPoint(round(box.right()) - 4, round(box.center().y()))
    drag(canvas, beside, beside + QPoint(4000, 0))
    assert value(shell, "v") == 1.0


def test_cells_of_an_array_stay_within_the_limits(canvas, shell):
    at = number_box(canvas.view, NumberCell("row", "value", (0,))).center().toPoint()
    drag(canvas, at, at + QPoint(4000, 0))
    assert shell.main.blocks["row"].value.array.tolist() == [1.0, 0.5]


def test_a_number_outside_is_marked_and_brought_inside_by_a_drag(canvas, shell):
    hints = []
    canvas.statusMessage.connect(hints.append)
    hover(canvas, on_track(canvas, "x", 0.5))
    assert "x = 7.25, outside its limits 0 to 5" in hints[-1]
    drag(canvas, on_track(canvas, "x", 1.0), on_track(canvas, "x", 0.4))
    assert value(shell, "x") == pytest.approx(2.0, abs=0.06)
    assert look(canvas, "x").is_inside


def test_from_afar_there_is_none(canvas, shell):
    canvas.set_zoom(0.5)
    assert slider_track(canvas.view, "v") is None


def test_assistive_technology_hears_the_limits(canvas, shell, monkeypatch):
    spoken = []
    monkeypatch.setattr(numbers, "speak", lambda widget, text: spoken.append(text))
    click(canvas, on_track(canvas, "c", 0.8))
    assert spoken == ["c = 3, from −5 to 5"]
