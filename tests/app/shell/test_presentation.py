"""Full screen for a projector: the canvas alone, large, page after page, and back as before."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontInfo
from PySide6.QtWidgets import QLabel

from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.shell.presentation import LARGE, LEGIBLE
from gradwire.runtime.diagram import Diagram, Note, Page, Point, load
from tests.app.shell.test_docks import laid_out, settle
from tests.app.shell.test_main_window import nested

LESSONS = Path(str(files("gradwire.assets") / "lessons"))
Key = Qt.Key


def framed() -> Diagram:
    """Two pages; the main one has two frames, the second of which stands left of the first."""
    made = nested()
    notes = {
        "right": Note("Right", Point(400.0, -60.0), 300.0, 200.0, True),
        "left": Note("Left\nof the other", Point(-40.0, -50.0), 300.0, 200.0, True),
        "text": Note("no frame", Point(0.0, 200.0)),
    }
    main = made.main
    return made.with_page("main", Page(main.blocks, main.wires, main.layout, notes=notes))


@pytest.fixture
def window(opened, qtbot):
    made = opened(framed())
    settle(qtbot)
    yield made
    made.presentation.end()


def press(qtbot, window, *keys):
    for key in keys:
        qtbot.keyClick(window.canvas, key)


def looks(window):
    """What must be as before once the presentation is over."""
    hidden = [w.isHidden() for w in (window.menuBar(), window.toolbar, window.statusBar())]
    edges = [edge.isHidden() for edge in window.docks.edges.values()]
    camera = window.canvas.view.camera
    minimap = window.canvas.minimap.wanted
    return laid_out(window), hidden, edges, camera, window.navigation.trail, minimap, window.size()


@pytest.mark.night
def test_only_the_canvas_is_left(window, qtbot):
    qtbot.keyClick(window.canvas, Key.Key_F11)
    assert window.isFullScreen()
    settle(qtbot)
    assert window.canvas.width() == window.width()
    assert window.canvas.height() == window.height()


@pytest.mark.night
@pytest.mark.parametrize("key", [Key.Key_F11, Key.Key_Escape])
def test_it_ends_as_it_began(window, qtbot, key):
    window.actions_by_name["put_panels_away"].trigger()
    window.docks.bring_up("why")
    settle(qtbot)
    window.canvas.set_camera(Camera(0.8, 100.0, 50.0))
    before = looks(window)
    window.actions_by_name["present"].trigger()
    settle(qtbot)
    press(qtbot, window, Key.Key_Right, Key.Key_End)
    assert looks(window) != before
    qtbot.keyClick(window.canvas, key)
    settle(qtbot)
    assert not window.isFullScreen()
    assert looks(window) == before
    qtbot.keyClick(window.canvas, Key.Key_Right)  # keys are those of the editor again
    assert window.canvas.view.camera.zoom == 0.8


@pytest.mark.night
def test_pages_and_frames_follow_each_other(window, qtbot):
    titles = [slide.title for slide in window.presentation.slides()]
    at = titles.index("Left")
    assert titles[at : at + 2] == ["Left", "Right"]
    assert titles[at + 2 :] and set(titles[at + 2 :]) == {"twice"}
    window.actions_by_name["present"].trigger()
    settle(qtbot)
    shown = []
    for _ in range(len(window.presentation.slides()) + 2):
        shown.append((window.navigation.page, window.canvas.view.camera))
        press(qtbot, window, Key.Key_Right)
    pages = [page for page, _ in shown]
    assert pages == sorted(pages)  # main, then twice
    assert shown[-1] == shown[-2]  # it stays at the end
    press(qtbot, window, Key.Key_Left)
    press(qtbot, window, Key.Key_Home)
    assert window.navigation.page == "main"


@pytest.mark.night
def test_type_stays_large_when_a_page_is_fitted(window, qtbot):
    window.actions_by_name["present"].trigger()
    settle(qtbot)
    for slide in window.presentation.slides():
        assert slide.least in (LARGE, LEGIBLE)
        assert window.canvas.zoom() >= slide.least * window.canvas.actual_zoom()
        press(qtbot, window, Key.Key_Right)
    assert slide.least == LARGE  # the last one is no page that was shown whole before its parts
    window.actions_by_name["zoom_fit"].trigger()
    assert window.canvas.zoom() >= LARGE * window.canvas.actual_zoom()
    window.presentation.end()
    window.actions_by_name["zoom_fit"].trigger()
    assert window.canvas.zoom() < LARGE


def test_the_parts_of_a_large_page_show_every_block(window, qtbot):
    slides = [s for s in window.presentation.slides() if s.title == window.document.name]
    rects = window.canvas.view.scene.rects
    centres = rects[:, :2] + rects[:, 2:] / 2.0
    seen = [((centres >= s.bounds[:2]) & (centres <= s.bounds[2:])).all(axis=1) for s in slides]
    assert np.all(np.any(seen, axis=0))
    assert all(part.any() for part in seen)


@pytest.mark.night
def test_a_page_that_can_be_read_whole_is_shown_so_before_its_parts(opened, qtbot):
    """Six blocks at 1280 × 720: all of them, then those on the left, then the others."""
    window = opened(load(LESSONS / "09_frozen_middle.gradwire.json"))
    window.resize(1280, 720)
    settle(qtbot)
    qtbot.keyClick(window.canvas, Key.Key_F11)
    settle(qtbot)
    window.resize(1280, 720)
    qtbot.waitUntil(lambda: window.canvas.width() == 1280)
    sizes = []
    for _ in window.presentation.slides():
        rects = window.canvas.view.scene.rects
        left, top, right, bottom = seen_part(window.canvas)
        inside = (rects[:, :2] >= [left, top]) & (rects[:, :2] + rects[:, 2:] <= [right, bottom])
        zoom = window.canvas.zoom() / window.canvas.actual_zoom()
        sizes.append((int(inside.all(axis=1).sum()), LEGIBLE <= zoom, LARGE <= zoom))
        press(qtbot, window, Key.Key_Right)
    assert sizes[0] == (6, True, False)
    assert len(sizes) > 1 and all(is_large for _, _, is_large in sizes[1:])
    window.presentation.end()


def seen_part(canvas):
    """The part of the page that is in view: left, top, right, bottom."""
    camera = canvas.view.camera
    corner = np.array([-camera.x, -camera.y]) / camera.zoom
    return [*corner, *(corner + np.array([canvas.width(), canvas.height()]) / camera.zoom)]


@pytest.mark.night
def test_shortcuts_work_without_the_menu_bar(window, qtbot):
    window.actions_by_name["present"].trigger()
    settle(qtbot)
    with qtbot.waitSignal(window.evaluator.resultChanged):
        qtbot.keyClick(window.canvas, Key.Key_F5)
    qtbot.keyClick(window.canvas, Key.Key_F9)
    assert all(edge.isHidden() for edge in window.docks.edges.values())


@pytest.mark.night
def test_closing_keeps_the_arrangement_of_before(window, qtbot):
    before = laid_out(window)
    window.actions_by_name["present"].trigger()
    window.close()
    assert {n: p[0] for n, p in laid_out(window).items()} == {n: p[0] for n, p in before.items()}


@pytest.mark.night
def test_text_is_as_large_as_a_projector_needs_and_small_again_afterwards(window, qtbot):
    window.canvas.select_wire(next(iter(window.canvas.view.scene.wire_keys)))
    texts = [window.card.sentence, window.card.more, *window.why.findChildren(QLabel)]

    def sizes():
        window.card.ensurePolished()
        return [QFontInfo(text.font()).pixelSize() for text in texts if not text.isHidden()]

    before, actual = sizes(), window.canvas.actual_zoom()
    qtbot.keyClick(window.canvas, Key.Key_F11)
    assert min(sizes()) >= 20
    assert window.canvas.actual_zoom() == actual
    camera = window.canvas.view.camera
    window.windows.restyle()
    assert window.canvas.view.camera == camera
    qtbot.keyClick(window.canvas, Key.Key_F11)
    assert sizes() == before
