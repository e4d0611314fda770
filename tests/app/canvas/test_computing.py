"""What is known of each block's numbers: current, stale or being computed; and Esc cancels."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor

from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.state.badge_labels import NumberStatus
from gradwire.app.canvas.state.tooltips import block_tip, describe
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.diagram import MoveBlocks, Point, SetParameters
from tests.app.document.test_diff import seed
from tests.app.mouse import LEFT, click_block


class Slow:
    """Runs as the evaluator does, each run after a permit."""

    def __init__(self, run):
        self.run = run
        self.permits = threading.Semaphore(0)
        self.begun = 0

    def __call__(self, diagram, superseded):
        self.begun += 1
        self.permits.acquire(timeout=60)  # fails the test instead of blocking it for ever
        return self.run(diagram, superseded)


@pytest.fixture
def window(qtbot, window):
    window.document._begin(seed(), None)
    qtbot.waitUntil(lambda: window.isActiveWindow() and not window.evaluator.busy)
    return window


@pytest.fixture
def slow(window, monkeypatch):
    run = Slow(window.evaluator._run)
    monkeypatch.setattr(window.evaluator, "_run", run)
    yield run
    run.permits.release(1000)


def statuses(window):
    view = window.canvas.view
    return {name: view.status(name) for name in view.scene.names}


def edit(window, value=7.0):
    window.document.apply(SetParameters("a", {"value": [[value, value]]}))


def wait_for_marks(qtbot, window):
    qtbot.waitUntil(lambda: window.canvas.view.computing and window.canvas.view.annotations.dimmed)


def esc(qtbot, window):
    window.canvas.setFocus()
    qtbot.keyClick(window.canvas, Qt.Key.Key_Escape)


CHANGED = {"a", "add1", "b", "loss"}
"""What follows ``a``, and the variables that lead there, whose gradients may change."""


def test_what_an_edit_may_change_is_marked_while_it_is_computed(qtbot, window, slow):
    edit(window)
    assert {*statuses(window).values()} == {NumberStatus.CURRENT}, "short runs don't flicker"
    wait_for_marks(qtbot, window)
    found = statuses(window)
    assert {name for name, status in found.items() if status is NumberStatus.COMPUTING} == CHANGED
    assert {found[name] for name in found.keys() - CHANGED} == {NumberStatus.CURRENT}
    looks = window.canvas.view.annotations
    assert looks.look(looks.scene.index["add1"]).stale
    assert not looks.look(looks.scene.index["mul1"]).stale
    slow.permits.release()
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert {*statuses(window).values()} == {NumberStatus.CURRENT}


def test_a_run_of_everything_marks_everything(qtbot, window, slow):
    window.actions_by_name["evaluate"].trigger()
    qtbot.waitUntil(lambda: window.canvas.view.computing)
    assert {*statuses(window).values()} == {NumberStatus.COMPUTING}


def test_a_short_run_shows_nothing(qtbot, window):
    seen = []
    window.canvas.computing.changed.connect(seen.append)
    edit(window)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.canvas.computing.set_busy(True)
    window.canvas.computing.set_busy(False)
    qtbot.wait(200)
    assert seen == []


def test_esc_cancels_and_what_is_not_known_stays_marked(qtbot, window, slow):
    edit(window)
    wait_for_marks(qtbot, window)
    values = window.evaluator.result.values
    esc(qtbot, window)
    assert not window.evaluator.busy
    assert not window.canvas.view.computing
    assert window.notice.text() == "The evaluation was cancelled."
    found = statuses(window)
    assert {name for name, status in found.items() if status is NumberStatus.STALE} == CHANGED
    assert window.evaluator.result.values is values, "the last numbers are still to be seen"


def test_after_that_a_move_runs_nothing_and_f5_runs_again(qtbot, window, slow):
    edit(window)
    wait_for_marks(qtbot, window)
    esc(qtbot, window)
    begun = slow.begun
    window.document.apply(MoveBlocks({"a": Point(1.0, 1.0)}))
    qtbot.wait(50)
    assert not window.evaluator.busy
    assert slow.begun == begun
    slow.permits.release(10)
    window.canvas.setFocus()
    qtbot.keyClick(window.canvas, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert {*statuses(window).values()} == {NumberStatus.CURRENT}
    assert window.evaluator.result.values["a.out"].tolist() == [[7.0, 7.0]]


def test_undo_after_a_cancelled_run_makes_the_numbers_current_again(qtbot, window, slow):
    edit(window)
    wait_for_marks(qtbot, window)
    esc(qtbot, window)
    begun = slow.begun
    window.actions_by_name["undo"].trigger()
    assert {*statuses(window).values()} == {NumberStatus.CURRENT}
    assert slow.begun == begun


@pytest.mark.night
def test_a_gesture_and_a_field_take_esc_first(qtbot, window, slow):
    edit(window)
    wait_for_marks(qtbot, window)
    canvas = window.canvas
    start = canvas.port_position("b", "out")
    qtbot.mouseMove(canvas, start)
    qtbot.mousePress(canvas, LEFT, pos=start)
    qtbot.mouseMove(canvas, start + QPoint(40, 40))
    esc(qtbot, window)
    assert window.evaluator.busy
    qtbot.mouseRelease(canvas, LEFT, pos=start + QPoint(40, 40))
    click_block(qtbot, window, "mul1")
    qtbot.keyClick(canvas, Qt.Key.Key_F2)
    field = window.focusWidget()
    assert field is not canvas
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert window.evaluator.busy
    esc(qtbot, window)
    assert not window.evaluator.busy
    assert window.canvas.selection() == {"mul1"}, "the run was cancelled, not the selection"


def test_esc_cancels_no_run_that_is_not_shown(qtbot, window, slow):
    click_block(qtbot, window, "mul1")
    edit(window)
    window.canvas.computing.set_busy(True)
    esc(qtbot, window)
    assert window.evaluator.busy
    assert window.canvas.selection() == set()


@pytest.mark.night
@pytest.mark.parametrize("cancelled", [False, True])
def test_badges_tooltips_and_the_screen_reader_say_so(qtbot, window, slow, cancelled):
    window.canvas.zoom_to_fit()
    canvas = window.canvas
    place = canvas.rect().intersected(canvas.block_rect("add1").adjusted(60, -10, 4, -30))
    before = canvas.grab(place).toImage()
    edit(window)
    wait_for_marks(qtbot, window)
    if cancelled:
        esc(qtbot, window)
    view = canvas.view
    words = "F5 evaluates again" if cancelled else "being computed"
    status = view.status("add1")
    assert words in block_tip(view.annotations.page, view.scene.index["add1"], status)
    focus = Focus(FocusKind.BLOCK, "add1")
    assert words in describe(view.annotations, focus, computing=view.computing)
    other = Focus(FocusKind.BLOCK, "mul1")
    assert words not in describe(view.annotations, other, computing=view.computing)
    image = canvas.grab(place).toImage()
    assert image != before
    colours = {image.pixelColor(x, y).rgb() for x in range(image.width()) for y in range(12)}
    assert (QColor(LIGHT.warning).rgb() in colours) is cancelled
