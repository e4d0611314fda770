"""A canvas that paints only what has changed shows what it would show if it painted all of it."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas.paint.frame_cache import FrameCache
from gradwire.app.canvas.scene import detours
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.state.view_state import DEFAULT, WireNumbers
from gradwire.app.canvas.view import CanvasView
from gradwire.app.evaluation.evaluator import Evaluation, EvaluationResult
from gradwire.app.services.theme import LIGHT
from gradwire.blocks.errors import ChangeError, Location
from gradwire.runtime.diagram import AddBlock, Connect, Diagnostic, PortName, SetParameters, apply
from gradwire.runtime.flow import State
from tests.app.canvas.pages import (
    Shell,
    block,
    diagram,
    drag,
    move,
    press,
    seed,
    seed_result,
    unhurried,
)
from tests.benchmarks.diagrams import diagram_of, result_of
from tests.benchmarks.scrub import WORKLOADS

NUMBERS = st.sampled_from([0.0, 1.0, -2.5, 1e-9, 3e7, math.nan, math.inf])
STATES = st.sampled_from(list(State))
EVERYWHERE = WireNumbers(value=True, gradient=True, everywhere=True)
SLANTED = 8
"""By how much slanted lines may differ at the edge of what is painted, of 255."""
WIRES = ["mul1.b", "stop1.x", "add1.a", "add1.b", "loss.x"]


@pytest.fixture(scope="module")
def shown(qapp):
    """A canvas with all the time that it needs, and nothing that moves by itself."""
    canvas = CanvasView()
    canvas.resize(1100, 420)
    canvas.set_theme(LIGHT)
    canvas.set_reduced_motion(True)
    canvas.set_wire_numbers(EVERYWHERE)
    unhurried(canvas)
    canvas.show()
    canvas.context.content.stale_timer.setInterval(10**6)
    canvas.context.content.follow_timer.setInterval(10**6)
    yield canvas
    canvas.close()
    canvas.deleteLater()


def seen(canvas):
    """What the screen shows once all that waits is painted."""
    for _ in range(4):
        QApplication.processEvents()
    return canvas.screen().grabWindow(canvas.winId()).toImage()


def pixels(image):
    data = np.frombuffer(image.constBits(), np.uint8)
    return data.reshape(image.height(), image.width(), 4).astype(int)


def assert_all_is_painted(canvas, rounding=0):
    part = pixels(seen(canvas))
    canvas.context.painter.frame_cache = FrameCache()
    canvas.update()
    off = np.abs(part - pixels(seen(canvas))).max(axis=2)
    different = np.argwhere(off > rounding)
    assert not len(different), f"pixels {different.min(axis=0)} … {different.max(axis=0)} differ"


@st.composite
def results(draw):
    """What differs from the seed's result: values, gradient, states, sizes, a problem."""
    return {
        "values": draw(st.dictionaries(st.sampled_from(["mul1", "stop1", "add1"]), NUMBERS)),
        "gradient": draw(NUMBERS),
        "states": draw(st.dictionaries(st.sampled_from(WIRES), STATES, max_size=2)),
        "norms": draw(st.dictionaries(st.sampled_from(WIRES), NUMBERS, max_size=2)),
        "brought": draw(st.dictionaries(st.sampled_from(WIRES), NUMBERS, max_size=2)),
        "problem": draw(st.sampled_from(["", "", "mul1", "add1"])),
        "given": draw(st.sampled_from([None, 4.0, 5.5])),
    }


def result_with(diagram, changed):
    result = seed_result(diagram)
    values = {
        f"{name}.out": np.array([[x, 3]], np.float32) for name, x in changed["values"].items()
    }
    problem = Diagnostic("warning", Location("main", changed["problem"]), "Odd.", code="odd")
    return replace(
        result,
        values=result.values | values,
        gradients={"a": np.full((1, 2), changed["gradient"], np.float32), "b": None},
        states=result.states | changed["states"],
        norms=result.norms | changed["norms"],
        contributions={wire: np.array([[x, 1.0]]) for wire, x in changed["brought"].items()},
        diagnostics=(problem,) if changed["problem"] else (),
    )


@pytest.mark.night
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    zoom=st.sampled_from([0.45, 0.7, 1.0, 1.5]), steps=st.lists(results(), min_size=1, max_size=4)
)
def test_a_part_looks_as_the_whole(shown, zoom, steps):
    diagram = seed()
    shown.set_diagram(diagram)
    shown.set_camera(Camera(zoom, 20.0, 40.0))
    shown.set_result(seed_result(diagram))
    seen(shown)
    for changed in steps:
        if changed["given"] is not None:
            value = [[changed["given"], 2.0]]
            diagram = apply(diagram, SetParameters("a", {"value": value})).after
            shown.set_diagram(diagram)
        shown.set_result(result_with(diagram, changed))
        assert_all_is_painted(shown)


@pytest.mark.night
@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
@pytest.mark.parametrize("make", WORKLOADS.values(), ids=WORKLOADS)
def test_a_scrubbed_number_is_followed_as_by_painting_everything(shown, make, apart):
    diagram, evaluation = make(60), Evaluation()
    shown.set_diagram(diagram)
    shown.set_camera(Camera(0.7, 10.0, 10.0))
    shown.set_result(evaluation(diagram))
    shown.view.scene.refine()
    shown.update()
    for first in (1.0, 0.9, 0.2, -0.1, -0.1, 0.3):
        diagram = apply(diagram, SetParameters("w0", {"value": [first, -2.0, 0.5]})).after
        shown.set_diagram(diagram)
        result = evaluation(diagram)
        shown.set_result(result.side_by_side() if apart else result)
        assert_all_is_painted(shown)


def test_the_numbers_of_a_selection_come_and_go_with_it(shown):
    diagram = seed()
    shown.set_diagram(diagram)
    shown.set_camera(Camera(0.7, 20.0, 40.0))
    shown.set_result(seed_result(diagram))
    shown.set_wire_numbers(DEFAULT)
    try:
        for blocks in ((), ("mul1",), ("add1", "mul1"), ()):
            shown.select(blocks)
            assert_all_is_painted(shown)
    finally:
        shown.set_wire_numbers(EVERYWHERE)


def test_from_afar_no_face_is_described(shown):
    diagram = seed()
    shown.set_diagram(diagram)
    shown.set_camera(Camera(0.2, 10.0, 10.0))
    for changed in ({}, {"stop1.x": State.CARRIES}):
        result = seed_result(diagram)
        shown.set_result(replace(result, states=result.states | changed))
        assert_all_is_painted(shown)
    assert not shown.view.annotations._plain_looks


class Painted(QObject):
    """How much of a canvas is painted, px."""

    def __init__(self, canvas):
        super().__init__(canvas)
        self.most = 0
        canvas.installEventFilter(self)

    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint:
            parts = (part.width() * part.height() for part in event.region())
            self.most = max(self.most, sum(parts))
        return False


@pytest.fixture
def edited(shown):
    """Columns of blocks with values, gradients and labels, and a document behind the canvas."""
    shell = Shell(shown, diagram_of(102))
    shell.result = result_of(shell.diagram)
    shown.set_result(shell.result)
    shown.context.content.refine_timer.blockSignals(True)
    yield shell
    shown.context.content.refine_timer.blockSignals(False)
    shown.changeRequested.disconnect(shell._apply)
    shown.previewRequested.disconnect(shell._preview)
    shown.set_result(None)


def settle(canvas):
    """Find all detours, and paint the page."""
    canvas.view.scene.refine()
    canvas.update()
    seen(canvas)


def rest(canvas, qtbot):
    """Paint the page, and wait until nothing more will be painted by itself."""
    settle(canvas)
    qtbot.waitUntil(lambda: not canvas.context.painter.is_travelling, timeout=60_000)
    settle(canvas)


def near(canvas, chance):
    """A block in view, and a place in view to drop it at."""
    scene, camera = canvas.view.scene, canvas.view.camera
    corners = camera.to_widget(scene.rects[:, :2])
    inside = ((corners > 10.0) & (corners < (950.0, 350.0))).all(axis=1)
    block = int(chance.choice(np.flatnonzero(inside)))
    at = QPoint(*(corners[block] + 12.0 * camera.zoom).astype(int).tolist())
    by = QPoint(*chance.integers(-150, 151, 2).tolist())
    return at, by


@pytest.mark.night
@pytest.mark.parametrize("zoom", [0.35, 0.5, 0.7, 1.0, 1.6])
@pytest.mark.parametrize("seed", range(3))
def test_a_page_of_which_blocks_were_moved_looks_as_if_it_were_painted_anew(
    shown, edited, zoom, seed
):
    chance = np.random.default_rng(seed)
    shown.set_camera(Camera(zoom, -60.0 * zoom, -300.0 * zoom))

    def drop():
        at, by = near(shown, chance)
        drag(shown, at, at + by)

    def leave():
        at, by = near(shown, chance)
        drag(shown, at, at + by, release=False)
        seen(shown)
        QTest.keyClick(shown, Qt.Key.Key_Escape)
        QTest.mouseRelease(shown, Qt.MouseButton.LeftButton, pos=at + by)

    def nudge():
        shown.nudge(*chance.integers(-9, 10, 2) * 10.0)

    def undo():
        edited.diagram = before[chance.integers(len(before))]
        shown.set_diagram(edited.diagram)

    def run():
        shown.set_result(replace(edited.result, diagram=edited.diagram))

    def select():
        names = chance.choice(shown.view.scene.names, 2)
        shown.select(names.tolist())

    def remove():
        select()
        shown.delete_selection()

    def add():
        at, number = near(shown, chance)[0], len(before)
        corner = shown.scene_position(at + QPoint(*chance.integers(-90, 91, 2).tolist()))
        shown.request(AddBlock(f"new{number}", block("Mul"), corner))
        shown.select([f"new{number}"])

    def connect():
        page = edited.diagram.main
        names = [name for name, made in page.blocks.items() if type(made).port("b")]
        source, target = chance.choice([*page.blocks], 1)[0], chance.choice(names, 1)[0]
        change = Connect(PortName(str(source), "out"), PortName(str(target), "b"))
        with suppress(ChangeError):
            shown.request(change)

    def refine():
        shown.context.content.refine()

    acts = (drop, drop, leave, nudge, undo, run, select, remove, add, connect, refine, refine)
    before = [edited.diagram]
    for _ in range(12):
        acts[chance.integers(len(acts))]()
        before.append(edited.diagram)
        assert_all_is_painted(shown, SLANTED)
        if chance.integers(2):
            settle(shown)


def test_a_drop_paints_hardly_anything_and_its_undo_hardly_more_than_the_wires(
    shown, edited, qtbot
):
    shown.set_camera(Camera(0.7, -40.0, -200.0))
    rest(shown, qtbot)
    before, most = edited.diagram, shown.width() * shown.height()
    start = shown.block_rect("b30").topLeft() + QPoint(30, 6)
    drag(shown, start, start + QPoint(30, 10), release=False)
    settle(shown)
    painted = Painted(shown)
    QTest.mouseRelease(shown, Qt.MouseButton.LeftButton, pos=start + QPoint(30, 10))
    seen(shown)
    assert edited.diagram.main.layout != before.main.layout
    dropped = painted.most
    assert dropped < most / 5
    shown.set_diagram(before)
    seen(shown)
    assert dropped < painted.most < most / 2
    assert_all_is_painted(shown, SLANTED)
    shown.removeEventFilter(painted)


def test_a_detour_that_is_found_paints_hardly_more_than_its_wire(shown, qtbot, monkeypatch):
    blocks = {name: block("Tanh") for name in ("a", "between", "b", "c")}
    layout = {"a": (0, 0), "between": (300, 0), "b": (600, 0), "c": (0, 250)}
    given = diagram(blocks, {"b.x": "a.out"}, layout)
    shown.set_diagram(diagram(blocks, {}, layout))
    shown.set_camera(Camera(0.7, 20.0, 40.0))
    rest(shown, qtbot)
    shown.context.content.refine_timer.blockSignals(True)
    monkeypatch.setattr(detours, "AT_ONCE", 0)
    shown.set_diagram(given)
    straight = pixels(seen(shown))
    painted = Painted(shown)
    shown.context.content.refine()
    bent = pixels(seen(shown))
    assert (bent != straight).any()
    assert 0 < painted.most < shown.width() * shown.height() / 2
    shown.removeEventFilter(painted)
    shown.context.content.refine_timer.blockSignals(False)
    assert_all_is_painted(shown, SLANTED)


def test_a_number_that_has_made_way_for_a_block_stays_when_that_is_dropped(shown, qtbot):
    """It stands elsewhere on its wire, outside of what is painted while the block is dragged."""
    blocks = {"a": block("Variable", value=[[1, 2]]), "b": block("Tanh")}
    blocks["c"] = block("Variable", value=2.0)
    given = diagram(blocks, {"b.x": "a.out"}, {"a": (0, 0), "b": (950, 0), "c": (480, -250)})
    shell = Shell(shown, given)
    shown.set_camera(Camera(0.8, 20.0, 240.0))
    shown.set_result(EvaluationResult(given, {"a.out": np.array([[1.0, 2.0]])}))
    start = shown.block_rect("c").topLeft() + QPoint(40, 6)
    shown.select(["c"])
    rest(shown, qtbot)
    for by in (QPoint(0, 160), QPoint(0, -160)):
        press(shown, start)
        for share in (0.2, 1.0):
            move(shown, start + by * share)
            seen(shown)
        QTest.mouseRelease(shown, Qt.MouseButton.LeftButton, pos=start + by)
        assert_all_is_painted(shown, SLANTED)
        start += by
    assert len(shell.changes) == 2


def test_a_mark_appears_where_the_block_that_hid_it_is_moved_away(shown, qtbot):
    blocks = {"a": block("Tanh"), "b": block("Tanh")}
    shell = Shell(shown, diagram(blocks, layout={"a": (480, 120), "b": (0, 0)}))
    shown.set_camera(Camera(0.8, 20.0, 40.0))
    problems = [Diagnostic("warning", Location("main", n), "Odd.", code="odd") for n in ("a", "b")]
    shown.set_result(EvaluationResult(shell.diagram, diagnostics=tuple(problems)))
    shown.select(["a"])
    rest(shown, qtbot)
    for by in ((-496.5, -120.0), (200.0, 100.0)):
        shown.nudge(*by)
        assert_all_is_painted(shown, SLANTED)
