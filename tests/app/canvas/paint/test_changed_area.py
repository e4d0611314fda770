"""A canvas that paints only what has changed shows what it would show if it painted all of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication

from app.canvas.paint.kept import Kept
from app.canvas.paint.painter import Limits
from app.canvas.scene.camera import Camera
from app.canvas.state.wire_numbers import DEFAULT, WireNumbers
from app.canvas.view import CanvasView
from app.evaluation.evaluator import Evaluation
from app.services.theme import LIGHT
from blocks.errors import Location
from runtime.diagram import Diagnostic, SetParameters, apply
from runtime.flow import State
from tests.app.canvas.pages import seed, seed_result
from tests.benchmarks.scrub import WORKLOADS

NUMBERS = st.sampled_from([0.0, 1.0, -2.5, 1e-9, 3e7, math.nan, math.inf])
STATES = st.sampled_from(list(State))
EVERYWHERE = WireNumbers(value=True, gradient=True, everywhere=True)
WIRES = ["mul1.b", "stop1.x", "add1.a", "add1.b", "loss.x"]


@pytest.fixture(scope="module")
def shown(qapp):
    """A canvas with all the time that it needs, and nothing that moves by itself."""
    canvas = CanvasView()
    canvas.resize(1100, 420)
    canvas.set_theme(LIGHT)
    canvas.set_reduced_motion(True)
    canvas.set_wire_numbers(EVERYWHERE)
    canvas._limits, canvas._faces.budget = Limits(), math.inf
    canvas.show()
    canvas._stale_timer.setInterval(10**6)
    canvas._follow_timer.setInterval(10**6)
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


def assert_all_is_painted(canvas):
    part = pixels(seen(canvas))
    canvas._kept = Kept()
    canvas.update()
    different = np.argwhere((part != pixels(seen(canvas))).any(axis=2))
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
