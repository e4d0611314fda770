"""What stands beside a lane or on a page is made from the number there, not from the state."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.flow import State
from gradwire.runtime.flow.words.formatting import share, wild
from gradwire.runtime.lessons.prediction import _decade_word
from tests.app.canvas.pages import block, diagram, page


def shown(made):
    """The label of each wire of a diagram that was run."""
    lanes = resolve(Scene(made, "main"), evaluate(made)).total
    return {key: lanes.label(wire) for wire, key in enumerate(map(str, lanes.keys))}


def root_at(values):
    """The slope of the root is infinite at 0; of what is negative the root is NaN."""
    return b.build(b.loss(b.sum(b.sqrt(b.variable("w", values), name="root")), name="L"))


@pytest.mark.parametrize(
    ("values", "label"),
    [([0.0, 1.0], "∞"), ([-1.0, 1.0], "NaN"), ([0.0, -1.0], "NaN"), (0.0, "∞"), (-1.0, "NaN")],
)
def test_a_lane_is_labelled_by_its_number(values, label):
    assert shown(root_at(values))["root.x"] == label


def test_infinities_have_their_sign():
    down = b.build(b.loss(b.sum(b.sqrt(b.variable("w", [0.0, 0.0]), name="root") * -1.0), name="L"))
    assert shown(down)["root.x"] == "−∞"
    one = math.inf
    for array, text in (
        ([one, 1.0], "∞"), ([-one], "−∞"), ([one, -one], "±∞"), ([one, math.nan], "NaN"),
        ([complex(0.0, -one)], "−∞"),
    ):  # fmt: skip
        assert wild(np.array(array)) == text


def test_only_all_is_100_percent():
    for part, text in (
        (0.0, "0 %"),
        (0.001, "<1 %"),
        (0.37, "37 %"),
        (0.999, ">99 %"),
        (1.0, "100 %"),
    ):
        assert share(part) == text


@pytest.mark.parametrize(
    ("norms", "sign"),
    [({"enc/t.x": math.inf}, "∞"), ({"enc/t.x": math.nan}, "NaN"),
     ({"enc/t.x": math.inf, "enc/u.x": math.nan}, "NaN")],
)  # fmt: skip
def test_a_page_is_marked_by_the_numbers_inside(norms, sign):
    made = diagram({"enc": block("Page", page="inner")})
    made = made.with_page("inner", page({"t": block("Tanh"), "u": block("Tanh")}))
    states = dict.fromkeys(norms, State.NONFINITE)
    result = EvaluationResult(made, states=states, norms=norms, losses=(PortPath("loss.out"),))
    look = resolve(Scene(made, "main"), result).look(0)
    assert look.inside is State.NONFINITE
    assert look.sign == sign


def test_a_guess_about_an_infinite_size_is_not_told_nan():
    assert _decade_word([math.inf, -math.inf, math.nan, 0.0, 20.0]) == (
        "from ∞, −∞, NaN, 0, 10^1 on"
    )
