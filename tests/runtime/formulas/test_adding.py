from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import BuildError
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import Diagram, Page, Point, PortName, apply
from gradwire.runtime.engine import Session
from gradwire.runtime.formulas.adding import add_formula

EMPTY = Diagram({"main": Page({})})


def added(text: str, to: Diagram = EMPTY) -> Diagram:
    return apply(to, add_formula(to, text).change).after


def shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Shapes of the blocks that are named, after a run without any problem."""
    session = Session(added(text))
    assert not [d for d in session.diagnostics if d.severity == "error"]
    values = session.run().values
    return {str(name).partition(".")[0]: value.shape for name, value in values.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loss = (w*x + b - t)**2", {"w": (), "x": (), "b": (), "t": (), "loss": ()}),
        ("y = x @ W + b", {"x": (4, 3), "W": (3, 2), "b": (2,), "y": (4, 2)}),
        ("y = W @ x + b", {"W": (2, 3), "x": (3,), "b": (2,), "y": (2,)}),
        ("loss = mean((x @ W + b - t)**2)", {"b": (2,), "t": (4, 2), "loss": ()}),
        ("y = relu(x @ W1 + b1) @ W2 + b2", {"W2": (2, 2), "b2": (2,), "y": (4, 2)}),
        ("loss = cross_entropy(x @ W, labels)", {"labels": (4, 2), "loss": ()}),
        ("y = conv2d(x, w)", {"x": (2, 3, 8, 8), "w": (4, 3, 3, 3)}),
        ("y = x[0, 1:3]", {"x": (4, 3), "y": (2,)}),
        ("y = linear(x, W, b)", {"x": (4, 3), "y": (4, 3)}),
        ("y = x * [1, 2, 3]", {"y": (3,)}),
        ("y = softmax(x @ W) * log(x @ V)", {"W": (3, 2), "V": (3, 2)}),
    ],
)
def test_a_formula_runs_at_once(text, expected):
    found = shapes(text)
    assert {name: found[name] for name in expected} == expected


def test_gradients_of_a_formula_are_right():
    session = Session(added("loss = mean((x @ W + b - t)**2)"))
    run = session.backward()
    x, w, b, t = (run.values[f"{name}.out"] for name in ("x", "W", "b", "t"))
    error = 2.0 * (x @ w + b - t) / t.size
    np.testing.assert_allclose(run.gradients["W"], x.T @ error, rtol=1e-5)
    np.testing.assert_allclose(run.gradients["b"], error.sum(axis=0), rtol=1e-5)
    assert set(run.gradients) == {"W", "b"}


def test_what_the_page_determines_stays_open():
    page = build(loss(variable("v", [[1.0, 2.0], [3.0, 4.0]]).named("v")))
    after = added("y = v * s + bias", page)
    assert after.main.blocks["s"].shape is None and after.main.blocks["s"].value is None
    assert PortName("y", "a") in after.main.wires
    assert after.main.wires[PortName("mul1", "a")] == PortName("v", "out")
    found = Session(after).run().values
    assert found["y.out"].shape == (2, 2)


def test_names_that_are_in_use_are_avoided():
    once = added("y = a + b + c")
    twice = added("q = a + b + d", once)
    assert set(twice.main.blocks) - set(once.main.blocks) == {"add2", "d", "q"}
    with pytest.raises(BuildError, match="'y' exists already"):
        add_formula(once, "y = a * b")


def test_the_blocks_lie_where_they_are_wanted_and_not_on_each_other():
    addition = add_formula(EMPTY, "loss = mean((x @ W + b - t)**2)", Point(100.0, 200.0))
    layout = apply(EMPTY, addition.change).after.main.layout
    assert set(layout) == set(addition.blocks)
    assert min(place.x for place in layout.values()) == 100.0
    assert min(place.y for place in layout.values()) == 200.0
    corners = sorted(layout.values())
    assert all(
        abs(a.x - b.x) >= 160 or abs(a.y - b.y) >= 50
        for i, a in enumerate(corners)
        for b in corners[:i]
    )


def test_a_formula_on_another_page():
    page = Diagram({"main": Page({}), "inner": Page({})})
    addition = add_formula(page, "y = x @ W", page="inner")
    after = apply(page, addition.change).after
    assert set(after.pages["inner"].blocks) == {"x", "W", "y"} and not after.main.blocks
    assert tuple(after.pages["inner"].blocks["W"].shape) == (3, 2)


@pytest.mark.parametrize("text", ["", "  ", "v"])
def test_a_formula_that_adds_nothing_is_refused(text):
    page = build(loss(variable("v", 1.0).named("v")))
    with pytest.raises(BuildError, match="adds no block"):
        add_formula(page, text)
