"""Blocks that change gradient: the value stays, the gradient does what they say."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks import DTYPES, Block
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.arithmetic import Add, Mul, Pow
from gradwire.blocks.library.functions import Round, Square
from gradwire.blocks.library.gradient import (
    Gradient,
    GradientClip,
    GradientReversal,
    GradientScale,
    StopGradient,
    StraightThrough,
)
from gradwire.blocks.library.reduce import Sum
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.library.views import Display
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.engine import Session
from tests.blocks.single import Single, floats, gradients, value
from tests.together import together

X = floats(3.0, -2.0)


def session(blocks: dict[str, Block], wires: dict[str, str]) -> Session:
    """Blocks by name, wires as target → source block."""
    drawn = {PortName.parse(t): PortName(s, "out") for t, s in wires.items()}
    return Session(Diagram(pages={MAIN: Page(blocks=blocks, wires=drawn)}))


@together("dtype", DTYPES)
@together("block", [StopGradient(), Display()], ids=str)
def test_every_dtype_passes(block: Block, dtype: str) -> None:
    x = np.array([0, 1, 1], dtype)
    out = value(block, x=x)
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(out, x)


def test_stop_passes_what_is_not_finite_and_what_is_empty() -> None:
    for x in (floats(np.nan, np.inf, -np.inf), np.zeros((0, 3)), np.float64(2.0)):
        np.testing.assert_array_equal(value(StopGradient(), x=x), x)


def test_stop_gives_none_and_not_zero() -> None:
    assert gradients(StopGradient(), x=X) == {"x": None}


def test_an_open_stop_lets_value_and_gradient_through() -> None:
    np.testing.assert_array_equal(value(StopGradient(open=True), x=X), X)
    np.testing.assert_array_equal(gradients(StopGradient(open=True), x=X)["x"], [1, 1])


def test_there_are_no_leaves_to_spare_in_an_array() -> None:
    with pytest.raises(GradwireError, match="has no leaves to select"):
        value(StopGradient(spare="a"), x=X)


def test_stop_cuts_its_own_path_only() -> None:
    found = session(
        {"x": Variable(value=X, dtype="float64"), "stop": StopGradient(), "mul": Mul()},
        {"stop.x": "x", "mul.a": "stop", "mul.b": "x"},
    ).backward(["mul"], out_gradients={"mul": [1, 1]})
    np.testing.assert_array_equal(found.gradients["x"], X)
    np.testing.assert_array_equal(found.contributions["mul.b"], X)
    assert found.contributions["stop.x"] is None


@pytest.mark.parametrize(
    ("block", "factor"),
    [(GradientScale(), 1), (GradientScale(scale=0.5), 0.5), (GradientScale(scale=0), 0),
     (GradientReversal(), -1), (GradientReversal(scale=0.1), -0.1)],
    ids=str,
)  # fmt: skip
def test_scaled_and_reversed(block: Block, factor: float) -> None:
    np.testing.assert_array_equal(value(block, x=X), X)
    np.testing.assert_allclose(gradients(block, [1, 10], x=X)["x"], [factor, 10 * factor])
    assert gradients(block, x=X.astype(np.float16))["x"].dtype == np.float16


@pytest.mark.parametrize(
    ("block", "arriving", "expected"),
    [(GradientClip(), [3, 4], [0.6, 0.8]), (GradientClip(limit=10), [3, 4], [3, 4]),
     (GradientClip(limit=0.5, by="value"), [3, -0.25], [0.5, -0.25]),
     (GradientClip(), [0, 0], [0, 0]), (GradientClip(limit=0.1), [3e200, 4e200], [0.06, 0.08]),
     (GradientClip(limit=1e-200), [3, 4], [6e-201, 8e-201]),
     (GradientClip(by="value"), [np.inf, np.nan], [1, np.nan]),
     (GradientClip(), [np.nan, 9], [np.nan, 9]), (GradientClip(), [np.inf, 9], [np.inf, 9])],
    ids=str,
)  # fmt: skip
def test_clipped(block: Block, arriving: list[float], expected: list[float]) -> None:
    np.testing.assert_array_equal(value(block, x=X), X)
    np.testing.assert_allclose(gradients(block, arriving, x=X)["x"], expected, rtol=1e-12)


def test_a_norm_of_float16_does_not_overflow() -> None:
    x = np.zeros(70_000, np.float16)
    found = gradients(GradientClip(limit=100.0), np.full(70_000, 60_000.0), x=x)["x"]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, 100 / np.sqrt(70_000), rtol=1e-3)


def test_clipping_is_differentiable_again() -> None:
    """Below the limit it is the identity, above it the derivative of g/‖g‖ is orthogonal to g."""
    for limit, expected in ((100.0, [6.0, 12.0]), (1.0, None)):
        run = session(
            {"x": Variable(value=[1.0, 2.0], dtype="float64"), "clip": GradientClip(limit=limit),
             "cube": Pow(b=3.0), "g": Gradient()},
            {"clip.x": "x", "cube.a": "clip", "g.of": "cube", "g.wrt": "x"},
        ).backward(["g"], out_gradients={"g": [1, 1]})  # fmt: skip
        if expected is not None:
            np.testing.assert_allclose(run.gradients["x"], expected)
        else:
            g = np.array([3.0, 12.0])
            length = np.sqrt(g @ g)
            along = (1 - g * g.sum() / length**2) / length
            np.testing.assert_allclose(run.gradients["x"], along * [6.0, 12.0])


def test_straight_through_has_the_value_of_one_and_the_gradient_of_the_other() -> None:
    hard, soft = floats(1, 0), floats(0.7, 0.3)
    np.testing.assert_array_equal(value(StraightThrough(), hard=hard, soft=soft), hard)
    found = gradients(StraightThrough(), [2, 3], hard=hard, soft=soft)
    assert found["hard"] is None
    np.testing.assert_array_equal(found["soft"], [2, 3])


def test_straight_through_takes_a_comparison() -> None:
    single = Single(StraightThrough(), hard=np.array([True, False]), soft=floats(0.7, 0.3))
    assert single.traced == ((2,), "float64")
    np.testing.assert_array_equal(single.value(), [1, 0])


def test_straight_through_carries_gradient_round_a_step() -> None:
    found = session(
        {"x": Variable(value=[0.2, 1.8]), "round": Round(), "st": StraightThrough(),
         "sq": Square(), "sum": Sum()},
        {"round.x": "x", "st.hard": "round", "st.soft": "x", "sq.x": "st", "sum.x": "sq"},
    ).backward()  # fmt: skip
    np.testing.assert_array_equal(found.gradients["x"], [0, 4])


def test_gradient_as_a_value_is_differentiable_again() -> None:
    """y = x³ as x²·x: g = 3x², and the gradient of sum(g) is 6x."""
    run = session(
        {"x": Variable(value=X, dtype="float64"), "sq": Square(), "cube": Mul(), "g": Gradient()},
        {"sq.x": "x", "cube.a": "sq", "cube.b": "x", "g.of": "cube", "g.wrt": "x"},
    ).backward(["g"], out_gradients={"g": [1, 1]})
    np.testing.assert_allclose(run.values["g.out"], 3 * X**2)
    np.testing.assert_allclose(run.gradients["x"], 6 * X)


def test_gradient_respects_a_stop() -> None:
    """y = stop(x²)·x: dy/dx is x², of which the derivative is none."""
    run = session(
        {"x": Variable(value=X, dtype="float64"), "sq": Square(), "stop": StopGradient(),
         "mul": Mul(), "g": Gradient()},
        {"sq.x": "x", "stop.x": "sq", "mul.a": "stop", "mul.b": "x", "g.of": "mul", "g.wrt": "x"},
    ).backward(["g"], out_gradients={"g": [1, 1]})  # fmt: skip
    np.testing.assert_allclose(run.values["g.out"], X**2)
    assert run.gradients["x"] is None


def test_gradient_of_an_inner_value() -> None:
    """wrt may be any port: d sum((x + x)²)/d(x + x) = 2·(x + x)."""
    run = session(
        {"x": Variable(value=X, dtype="float64"), "add": Add(), "sq": Square(), "g": Gradient()},
        {"add.a": "x", "add.b": "x", "sq.x": "add", "g.of": "sq", "g.wrt": "add"},
    ).run()
    np.testing.assert_allclose(run.values["g.out"], 4 * X)


def test_gradient_where_nothing_connects_is_zero_with_a_warning() -> None:
    single = Single(Gradient(), of=X, wrt=X)
    np.testing.assert_array_equal(single.value(), [0, 0])
    assert [d.severity for d in single.session.diagnostics] == ["warning"]


@pytest.mark.parametrize(
    ("block", "inputs", "message"),
    [
        (GradientScale(), {"x": np.array([1])}, "'x' must be floating"),
        (GradientReversal(), {"x": np.array([True])}, "'x' must be floating"),
        (GradientClip(), {"x": np.array([1])}, "'x' must be floating"),
        (StraightThrough(), {"hard": X, "soft": np.array([1, 2])}, "'soft' must be floating"),
        (StraightThrough(), {"hard": X, "soft": floats(1)}, "the same shape"),
        (Gradient(), {"of": X, "wrt": np.array([1])}, "'wrt' must be a float"),
    ],
    ids=str,
)
def test_what_has_no_gradient_is_refused(
    block: Block, inputs: dict[str, object], message: str
) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, **inputs)


def test_faces_tell_the_factor() -> None:
    assert GradientScale(scale=0.5).label() == "∇×0.5"
    assert GradientReversal(scale=0.5).label() == "∇×-0.5"
    assert GradientClip(limit=2).label() == "‖∇‖≤2"
    assert GradientClip(limit=0.5, by="value").label() == "|∇|≤0.5"


def test_the_face_of_a_stop_tells_that_it_is_open() -> None:
    faces = (StopGradient(), StopGradient(open=True), StopGradient(spare="a, b"))
    assert [face.label() for face in faces] == ["⊣", "open", "spares 2"]


def test_surrogates_are_marked() -> None:
    marked = (GradientScale, GradientReversal, GradientClip, StraightThrough)
    assert all(cls.surrogate for cls in marked)
    assert not StopGradient.surrogate
