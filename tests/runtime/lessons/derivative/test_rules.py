"""Rules as formulas: against the rules themselves, in Python, on random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.registry import registry
from gradwire.runtime.flow.numbers.isolated import IsolatedBlock
from gradwire.runtime.lessons.derivative.local import rules
from gradwire.runtime.lessons.derivative.notation import LONGEST

RNG = np.random.default_rng(0)


def isolated(name, **arrays):
    return IsolatedBlock(registry().get(name)(), arrays)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Mul", {"a": r"g \cdot b", "b": r"g \cdot a"}),
        ("Add", {"a": "g", "b": "g"}),
        ("Sub", {"a": "g", "b": "-g"}),
    ],
)
def test_arithmetic(name, expected):
    assert rules(isolated(name, a=np.ones(3), b=np.ones(3))) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Exp", r"g \cdot y"),
        ("Log", r"\frac{g}{x}"),
        ("Sqrt", r"\frac{g}{2 \cdot y}"),
        ("Square", r"g \cdot 2 \cdot x"),
        ("Sin", r"g \cdot \cos\left(x\right)"),
        ("Tanh", r"g \cdot \left(1 - y \cdot y\right)"),
        ("Sigmoid", r"g \cdot y \cdot \left(1 - y\right)"),
        ("Relu", r"g \cdot \left[y > 0\right]"),
        ("Softmax", r"y \cdot \left(g - \sum g \cdot y\right)"),
        ("Clip", r"g \cdot \left[x \geq 0\right] \left[x \leq 1\right]"),
        ("StopGradient", None),
    ],
)
def test_functions(name, expected):
    assert rules(isolated(name, x=np.ones(3))) == {"x": expected}


def test_a_product_of_matrices():
    found = rules(isolated("MatMul", a=np.ones((2, 3)), b=np.ones((3, 4))))
    assert found == {"a": r"g\, b^{\top}", "b": r"a^{\top}\, g"}


def test_where_sends_each_side_its_own():
    arrays = {"condition": np.array([True, False]), "a": np.ones(2), "b": np.ones(2)}
    assert rules(isolated("Where", **arrays)) == {
        "condition": None,
        "a": r"g \cdot \left[\mathrm{condition}\right]",
        "b": r"g \cdot \left[\neg\, \mathrm{condition}\right]",
    }


def test_a_formula_that_would_be_too_long_is_empty():
    found = rules(isolated("Huber", prediction=np.ones(2), target=np.zeros(2)))
    assert "" in found.values()
    assert all(text is None or len(text) <= LONGEST for text in found.values())


@pytest.mark.parametrize("name", ["Mul", "Sub", "Div", "Exp", "Log", "Sqrt", "Square", "Tanh",
                                  "Sigmoid", "Sin", "Silu", "Relu"])  # fmt: skip
def test_the_formula_gives_what_the_rule_gives(name):
    """The LaTeX read back as arithmetic, element by element."""
    ports = [port.name for port in registry().get(name).inputs if port.required]
    arrays = {port: RNG.uniform(0.2, 2.0, 4) for port in ports}
    block = isolated(name, **arrays)
    y, g = block.outputs({}, ["out"])["out"], RNG.uniform(0.5, 2.0, 4)
    expected = block.gradients({"out": g})
    for port, text in rules(block).items():
        names = {**arrays, "y": y, "g": g, "cos": np.cos, "sigma": lambda x: 1 / (1 + np.exp(-x))}
        np.testing.assert_allclose(eval(as_python(text), names), expected[port], rtol=1e-12)


def as_python(latex):
    text = latex
    while r"\frac" in text:
        head, _, rest = text.partition(r"\frac{")
        above, rest = closed(rest)
        below, rest = closed(rest[1:])
        text = f"{head}(({above})/({below})){rest}"
    for old, new in (
        (r"\cdot", "*"), (r"\left[", "("), (r"\right]", ")"), (r"\left(", "("), (r"\right)", ")"),
        (r"\cos", "cos"), (r"\sigma", "sigma"),
    ):  # fmt: skip
        text = text.replace(old, new)
    return text


def closed(text):
    """What stands before the brace that closes, and after it."""
    depth = 1
    for at, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if not depth:
            return text[:at], text[at + 1 :]
    raise AssertionError(text)
