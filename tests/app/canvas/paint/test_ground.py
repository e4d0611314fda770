"""The picture of frames and wires is kept while they stay the same, and never shown otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas.paint.frame_cache import FrameCache, ground_key
from gradwire.app.services.theme import DARK
from gradwire.runtime.diagram import Disconnect, Note, Point, PortName, SetNote
from gradwire.runtime.flow import State
from tests.app.canvas.pages import Shell, seed, seed_result, unhurried


@pytest.fixture
def shell(canvas) -> Shell:
    unhurried(canvas)
    made = Shell(canvas, seed())
    canvas.set_result(seed_result(made.diagram))
    return made


def fresh(canvas):
    """The picture of a canvas that has kept nothing."""
    canvas.context.painter.frame_cache = FrameCache()
    return canvas.grab().toImage()


def kept(canvas):
    """The picture once the wires have stayed the same for two frames."""
    for _ in range(3):
        image = canvas.grab().toImage()
    assert canvas.context.painter.frame_cache.ground.picture is not None
    return image


def test_what_is_kept_looks_as_what_is_drawn(canvas, shell):
    frame(canvas, shell)
    drawn = fresh(canvas)
    again = kept(canvas)
    assert drawn == again


def move(canvas, shell):
    canvas.select(["add1"])
    canvas.nudge(0, 40)


def zoom(canvas, shell):
    canvas.set_zoom(1.3)


def recolour(canvas, shell):
    result = seed_result(shell.diagram)
    result.states["add1.b"] = State.STOPPED
    canvas.set_result(result)


def cut(canvas, shell):
    shell._apply(Disconnect(PortName("stop1", "x")))


def select(canvas, shell):
    canvas.select_wire("loss.x")


def restyle(canvas, shell):
    canvas.set_theme(DARK)


def frame(canvas, shell):
    shell._apply(SetNote("f", Note("frame", Point(0, 0), 300, 200, frame=True)))


def resize(canvas, shell):
    canvas.resize(900, 400)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("change", [move, zoom, recolour, cut, select, restyle, resize, frame])
def test_what_has_changed_is_drawn_again(canvas, shell, change):
    canvas.set_reduced_motion(True)
    kept(canvas)
    change(canvas, shell)
    seen = canvas.grab().toImage()
    assert seen == fresh(canvas)


def test_numbers_alone_change_no_wire(canvas, shell):
    before = ground_key(canvas.view)
    result = seed_result(shell.diagram)
    result.values["add1.out"] = np.array([[7.0, 8.0]], np.float32)
    canvas.set_result(result)
    assert ground_key(canvas.view) == before


def test_lanes_that_change_are_drawn_once(canvas, shell):
    """The next frame shows the picture made for this one."""
    canvas.set_reduced_motion(True)
    kept(canvas)
    recolour(canvas, shell)
    canvas.grab()
    picture = canvas.context.painter.frame_cache.ground.picture
    assert picture is not None
    canvas.grab()
    assert canvas.context.painter.frame_cache.ground.picture is picture


def picture_after(canvas, part):
    """The picture after a part of the canvas was painted again."""
    canvas.update(part)
    QApplication.processEvents()
    return canvas.context.painter.frame_cache.ground.picture


def test_for_a_few_pixels_no_picture_is_made(canvas, shell):
    canvas.set_reduced_motion(True)
    cut(canvas, shell)
    QApplication.processEvents()
    fresh(canvas)
    assert picture_after(canvas, QRect(600, 300, 6, 6)) is None
    assert picture_after(canvas, canvas.rect().adjusted(0, 0, 0, -90)) is not None
    assert canvas.grab().toImage() == fresh(canvas)


def test_a_view_that_is_zoomed_makes_no_picture(canvas, shell):
    kept(canvas)
    canvas.set_zoom(1.3)
    canvas.grab()
    assert canvas.context.painter.frame_cache.ground.picture is None
