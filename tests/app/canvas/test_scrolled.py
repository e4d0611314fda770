"""While the view pans, what was painted is kept: the pictures are those of fresh pages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPixmap, QRegion
from PySide6.QtTest import QTest

from gradwire.app.canvas.paint import painter
from gradwire.app.canvas.painting import RIM, ScrolledPage
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.services.theme import DARK, LIGHT
from tests.app.canvas.pages import block, diagram, seed_result, unhurried

MIDDLE = Qt.MouseButton.MiddleButton


def pixels(canvas) -> np.ndarray:
    picture = QPixmap(canvas.size() * canvas.devicePixelRatioF())
    picture.setDevicePixelRatio(canvas.devicePixelRatioF())
    canvas.render(picture)
    image = picture.toImage()
    data = np.frombuffer(image.constBits(), np.uint8)
    return data.reshape(image.height(), image.bytesPerLine() // 4, 4)[:, : image.width(), :3].copy()


def is_fresh(canvas, seen: np.ndarray) -> bool:
    """Whether a freshly painted page looks the same, but for the rounding of slanted lines."""
    now = repainted(canvas)
    return seen.shape == now.shape and np.abs(seen.astype(int) - now).max() <= 8


def repainted(canvas) -> np.ndarray:
    """The pixels of a page that is painted anew."""
    canvas.context.painter.page = ScrolledPage()
    return pixels(canvas)


@pytest.fixture(autouse=True)
def result(canvas, shell):
    """Values on faces, lanes with labels, and time to paint them all in one frame."""
    unhurried(canvas)
    canvas.set_result(seed_result(shell.diagram))


@pytest.fixture
def painted(monkeypatch):
    """The areas that are painted, as (width, height)."""
    areas = []
    true, wires = painter._PagePainter.paint, painter._PagePainter._paint_ground

    def paint(page):
        areas.append((page.area.width(), page.area.height()))
        return true(page)

    def paint_wires(page, to, area):
        areas.append((area.width(), area.height()))
        return wires(page, to, area)

    monkeypatch.setattr(painter._PagePainter, "paint", paint)
    monkeypatch.setattr(painter._PagePainter, "_paint_ground", paint_wires)
    return areas


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("zoom", [0.5, 1.0])
@pytest.mark.parametrize("step", [(-9, -4), (7, 0), (0, 11), (13, -20)])
def test_a_scrolled_page_looks_like_a_fresh_one(canvas, shell, zoom, step):
    canvas.set_camera(Camera(zoom, 40.0, 30.0))
    pixels(canvas)
    for _ in range(6):
        canvas.set_camera(canvas.view.camera.panned(*step))
        seen = pixels(canvas)
    assert is_fresh(canvas, seen)


def test_names_that_reach_into_view_are_whole_once_it_rests(canvas, shell, qtbot):
    canvas.set_camera(Camera(0.2, 40.0, 30.0))
    pixels(canvas)
    for _ in range(6):
        canvas.set_camera(canvas.view.camera.panned(-9.0, -4.0))
        pixels(canvas)
    assert canvas.context.painter.is_panning
    qtbot.waitUntil(lambda: not canvas.context.painter.is_panning, timeout=60_000)
    assert is_fresh(canvas, pixels(canvas))


def test_only_what_comes_into_view_is_painted(canvas, shell, painted):
    canvas.set_camera(Camera(1.0, 40.0, 30.0))
    pixels(canvas)
    painted.clear()
    canvas.set_camera(canvas.view.camera.panned(-9.0, 0.0))
    pixels(canvas)
    ((width, height),) = painted
    assert width < canvas.width() / 4 and height >= canvas.height()
    for _ in range(RIM // 9 - 1):  # which the strip covers
        canvas.set_camera(canvas.view.camera.panned(-9.0, 0.0))
        pixels(canvas)
    assert len(painted) == 1


def test_a_part_without_time_is_painted_again_and_nothing_else(canvas, shell):
    page, size, done, areas = ScrolledPage(), QSize(400, 300), [True], []

    def draw(painter, area):
        areas.append(area.toAlignedRect().adjusted(24, 24, -24, -24))
        return done[0]

    def frame(pixels: float) -> bool:
        areas.clear()
        view = replace(canvas.view, camera=canvas.view.camera.panned(pixels, 0.0))
        with QPainter(target) as painter:
            return page.paint(painter, view, QRegion(QRect(QPoint(), size)), size, 1.0, draw)

    target = QPixmap(size)
    page.pan()
    assert frame(0.0)
    done[0] = False
    assert not frame(-10.0)
    assert areas == [QRect(390, 0, RIM, 300)]
    done[0] = True
    assert frame(-15.0)
    assert areas == [QRect(385, 0, RIM, 300)]
    assert frame(-16.0)
    assert areas == []
    done[0] = False
    assert not frame(-RIM - 15.0)
    done[0] = True
    assert frame(-15.0)  # where it isn't seen
    assert areas == []
    assert frame(-RIM - 15.0)
    assert len(areas) == 1


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    "change",
    [
        lambda canvas, shell: canvas.select(["mul1"]),
        lambda canvas, shell: canvas.set_theme(DARK),
        lambda canvas, shell: canvas.set_diagram(diagram({"only": block("Tanh")}, {})),
        lambda canvas, shell: canvas.set_zoom(1.3),
        lambda canvas, shell: canvas.resize(700, 400),
        lambda canvas, shell: canvas.set_camera(canvas.view.camera.panned(0.5, 0.25)),
        lambda canvas, shell: canvas.set_camera(canvas.view.camera.panned(5000.0, 0.0)),
    ],
    ids=["selection", "theme", "diagram", "zoom", "size", "part of a pixel", "far away"],
)
def test_what_changes_while_it_pans_is_seen(canvas, shell, change):
    for _ in range(3):
        canvas.set_camera(canvas.view.camera.panned(-5.0, -5.0))
        pixels(canvas)
    change(canvas, shell)
    seen = pixels(canvas)
    assert is_fresh(canvas, seen)
    canvas.set_camera(canvas.view.camera.panned(-5.0, -5.0))
    seen = pixels(canvas)
    assert is_fresh(canvas, seen)


def test_a_view_that_was_replaced_without_a_word_is_not_scrolled(canvas, shell):
    for _ in range(3):
        canvas.set_camera(canvas.view.camera.panned(-5.0, -5.0))
        pixels(canvas)
    canvas.context.view = replace(canvas.view, theme=DARK)
    canvas.set_camera(canvas.view.camera.panned(-5.0, -5.0))
    seen = pixels(canvas)
    assert is_fresh(canvas, seen)


@pytest.mark.night
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("seed", range(2))
def test_whatever_happens_the_page_looks_like_a_fresh_one(canvas, shell, theme, ratio, seed):
    canvas.devicePixelRatioF = lambda: ratio
    canvas.set_theme(theme)
    chance = np.random.default_rng(seed)

    def pan() -> None:
        for _ in range(chance.integers(1, 9)):
            canvas.set_camera(canvas.view.camera.panned(*chance.integers(-60, 61, 2) * 2.0))
            pixels(canvas)

    def zoom() -> None:
        canvas.zoom_at(chance.choice([0.87, 1 / 0.87]), QPointF(*chance.uniform(0.0, 400.0, 2)))

    def select() -> None:
        canvas.select(chance.choice(canvas.view.scene.names, 2).tolist())

    def move() -> None:
        canvas.select(chance.choice(canvas.view.scene.names, 1).tolist())
        canvas.nudge(*chance.integers(-5, 6, 2) * 10.0)

    def run() -> None:
        result = seed_result(shell.diagram)
        result.values["mul1.out"] = np.float64(chance.normal())
        canvas.set_result(result)

    acts = (zoom, select, move, run)
    for _ in range(4):
        pan()
        assert is_fresh(canvas, pixels(canvas))
        acts[chance.integers(len(acts))]()
        assert (pixels(canvas) == repainted(canvas)).all()


def test_what_has_changed_just_before_a_pan_is_seen(canvas, shell):
    canvas.set_camera(canvas.view.camera.panned(-5.0, -5.0))
    pixels(canvas)
    canvas.view.scene.place(np.array([0]), np.array([[200.0, 300.0]]))
    canvas.update()  # which is still to be painted
    canvas.set_camera(canvas.view.camera.panned(-5.0, -5.0))
    assert is_fresh(canvas, pixels(canvas))


def test_the_hand_pans_and_then_drags(canvas, shell, qtbot):
    start = QPoint(600, 400)
    qtbot.mouseMove(canvas, start)
    QTest.mousePress(canvas, MIDDLE, pos=start)
    for step in range(1, 6):
        QTest.mouseMove(canvas, start - QPoint(12 * step, 5 * step))
        seen = pixels(canvas)
    QTest.mouseRelease(canvas, MIDDLE, pos=start - QPoint(60, 25))
    assert is_fresh(canvas, seen)
    canvas.view.scene.place(np.array([0]), np.array([[200.0, 300.0]]))
    canvas.update()
    seen = pixels(canvas)
    assert is_fresh(canvas, seen)
