from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradwire as gw
from gradwire.runtime.diagram import Diagram, Page, apply, load
from gradwire.runtime.engine import Session
from gradwire.runtime.formulas.adding import add_formula
from gradwire.runtime.formulas.writing import formula_of, python_of

EXAMPLES = sorted(Path(__file__).parents[3].glob("assets/diagrams/*.gradwire.json"))
EMPTY = Diagram({"main": Page({})})


def diagram(text: str) -> Diagram:
    return apply(EMPTY, add_formula(EMPTY, text).change).after


def written(text: str) -> str:
    made = diagram(text)
    return formula_of(made, "main", made.main.blocks)


@pytest.mark.parametrize(
    "text",
    [
        "loss = mean((x @ W + b - t) ** 2)",
        "y = a - (b - c)",
        "y = (a ** b) ** c + a ** b ** c",
        "y = (-a) ** 2 - -a",
        "q = (a > b) * a.T / (b / c)",
        "y = (a < b) < c",
        "h = relu(x @ W)\ny = h * h",
        "y = softmax(a, axis=0) % 3",
        "y = linear(x, units=3)",
        "y = linear(x, bias=None, units=3)",
        "y = linear(x, W, own(), units=3)",
        "y = linear(x, own(trainable=False, seed=3), units=3)",
        "y = linear(x, bias=own(initialiser='normal'), units=3)",
        "p = concat(a, b, a, axis=1)",
        "y = where(c, a, 2)",
        "y = [1, 2] * a",
    ],
)
def test_what_is_written_is_what_was_read(text):
    assert written(text) == text


names = st.sampled_from(["a", "b", "c"])
numbers = st.sampled_from(["2", "0.5", "-3"])


@st.composite
def _joined(draw, parts):
    sign = draw(st.sampled_from(["+", "-", "*", "/", "**", ">", "<="]))
    return f"({draw(parts)}) {sign} ({draw(parts)})"


expressions = st.recursive(
    names,
    lambda parts: st.one_of(
        _joined(parts),
        parts.map(lambda x: f"-({x})"),
        parts.map(lambda x: f"tanh({x})"),
        parts.map(lambda x: f"({x}).T"),
        st.tuples(parts, numbers).map(lambda p: f"({p[0]}) * {p[1]}"),
    ),
    max_leaves=8,
)


@given(expressions)
def test_brackets_are_enough_and_the_values_the_same(text):
    text = f"y = {text} + a"
    once = diagram(text)
    again = diagram(formula_of(once, "main", once.main.blocks))
    assert formula_of(again, "main", again.main.blocks) == formula_of(
        once, "main", once.main.blocks
    )
    with np.errstate(all="ignore"):
        values = [Session(each).run().values["y.out"] for each in (once, again)]
    np.testing.assert_array_equal(*values)


def run(text: str) -> Diagram:
    scope: dict[str, object] = {}
    exec(compile(text, "written", "exec"), scope)
    made = scope["diagram"]
    assert isinstance(made, Diagram)
    return made


@pytest.mark.parametrize(
    "text",
    ["loss = mean((x @ W + b - t)**2)", "h = relu(x @ W1); loss = sum(h * h)", "y = a - b; z = -y"],
)
def test_python_builds_the_same(text):
    made = diagram(text)
    built = run(python_of(made, "main", made.main.blocks))
    assert built.main.blocks == made.main.blocks
    assert built.main.wires == made.main.wires


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_python_of_the_examples_is_python(path):
    shown = load(path)
    text = python_of(shown, "main", shown.main.blocks)
    compile(text, "written", "exec")
    uses_pages = len(shown.pages) > 1
    if not uses_pages and "too large" not in text:
        built = run(text)
        assert set(built.main.blocks) == set(shown.main.blocks)
        assert built.main.wires == shown.main.wires


def test_a_part_reads_what_lies_outside():
    made = diagram("h = relu(x @ W); loss = sum(h * h)")
    assert formula_of(made, "main", ["mul1", "sum1", "loss"]) == "loss = sum(h * h)"
    text = python_of(made, "main", ["mul1", "sum1", "loss"])
    assert "h = gw.input('h')" in text
    assert set(run(text).main.blocks) == {"h", "mul1", "sum1", "loss"}


def test_long_expressions_are_split_and_large_arrays_left_out():
    made = diagram("y = " + " + ".join(f"tanh(variable_number_{i})" for i in range(12)))
    lines = formula_of(made, "main", made.main.blocks).splitlines()
    assert len(lines) > 1 and max(map(len, lines)) < 120
    large = gw.build(gw.loss(gw.sum(gw.variable("w", np.ones((40, 40))))))
    text = python_of(large, "main", large.main.blocks)
    assert "shape (40, 40)" in text and len(text) < 300


def test_names_become_identifiers_that_differ():
    made = gw.build(
        (gw.variable("my w", 1.0) * gw.variable("my-w", 2.0) + gw.variable("class", 3.0)).named("1")
    )
    assert formula_of(made, "main", made.main.blocks) == "_1 = my_w * my_w_ + _class"
    assert set(run(python_of(made, "main", made.main.blocks)).main.blocks) == {
        "my w",
        "my-w",
        "class",
        "mul1",
        "1",
    }


def test_deep_diagrams_are_written_without_recursion():
    x = gw.variable("a", 1.0)
    for _ in range(3 * sys.getrecursionlimit()):
        x = gw.tanh(x)
    made = gw.build(x)
    assert formula_of(made, "main", made.main.blocks).count("tanh(") == 3 * sys.getrecursionlimit()


def test_nothing_is_written_of_nothing():
    assert formula_of(EMPTY, "main", ()) == python_of(EMPTY, "main", ()) == ""


def test_a_name_of_a_function_that_is_needed_is_written_otherwise() -> None:
    x = gw.variable("x", [1.0, 2.0])
    first = gw.sum(x, name="tanh")
    diagram = gw.build(gw.tanh(first, name="end") + gw.exp(first, name="stop gradient"))
    text = formula_of(diagram, "main", list(diagram.main.blocks))
    assert text.splitlines()[:3] == [
        "tanh_ = sum(x)",
        "end = tanh(tanh_)",
        "stop_gradient = exp(tanh_)",
    ]
