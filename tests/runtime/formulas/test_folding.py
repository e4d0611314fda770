"""Blocks of a page folded into a Formula block, and a Formula block unfolded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import ChangeError
from gradwire.blocks.library.formula import Formula
from gradwire.runtime.diagram import Diagram, apply, unfold
from gradwire.runtime.engine import Session
from gradwire.runtime.formulas.folding import fold


def network() -> Diagram:
    x, t = b.input("x", [[1.0, 2.0]]), b.input("t", [[0.5]])
    w = b.variable("w", [[0.3], [-0.1]])
    h = b.matmul(x, w, name="h")
    d = b.sub(h, t, name="d")
    return b.build(b.loss(b.mean(b.stop_gradient(d) * d), name="loss"), b.display(h, name="seen"))


def folded(diagram: Diagram, *names: str) -> tuple[Diagram, Formula]:
    after = apply(diagram, fold(diagram, "main", names)).after
    (block,) = [block for block in after.main.blocks.values() if isinstance(block, Formula)]
    return after, block


def test_a_fold_is_the_expression_of_its_blocks():
    diagram = network()
    after, block = folded(diagram, "d", "stop_gradient1", "mul1", "mean1", "t")
    assert block.expression == "d = h - t\nmean(stop_gradient(d) * d)"
    assert {str(t): str(s) for t, s in after.main.wires.items()} == {
        "h.a": "x.out",
        "h.b": "w.out",
        "formula1.h": "h.out",
        "formula1.t": "t.out",
        "loss.x": "formula1.out",
        "seen.x": "h.out",
    }
    one, other = Session(diagram).backward(), Session(after).backward()
    np.testing.assert_array_equal(one.gradients["w"], other.gradients["w"])


def test_an_unfold_takes_the_fold_back():
    diagram = network()
    after, _ = folded(diagram, "d", "stop_gradient1", "mul1", "mean1")
    again = apply(after, unfold(after, "main", "formula1")).after
    assert again.main.blocks == diagram.main.blocks
    assert again.main.wires == diagram.main.wires


def test_two_results_are_two_outputs():
    x = b.variable("x", [1.0, 2.0])
    diagram = b.build(b.loss(b.sum(x, name="total")), b.display(b.max(x * 2, name="top")))
    after, block = folded(diagram, "total", "top", "mul1")
    assert block.expression == "total = sum(x)\ntop = max(x * 2)"
    wires = {str(target): str(source) for target, source in after.main.wires.items()}
    assert (wires["loss.x"], wires["display1.x"]) == ("formula1.total", "formula1.top")


def test_an_input_does_not_take_the_name_of_a_function():
    variable = b.variable("sum", [1.0, 2.0])
    diagram = b.build(b.loss(b.sum(variable * b.variable("a b", 2.0))))
    after, block = folded(diagram, "mul1", "sum1")
    assert block.expression == "sum(sum2 * a_b)"
    assert str(after.main.wires[next(t for t in after.main.wires if t.port == "sum2")]) == "sum.out"


def test_a_literal_of_an_unfolded_block_goes_to_every_input_it_drove():
    x = b.variable("x", 3.0)
    diagram = b.build(b.loss(b.block("Formula", x=x, k=2, expression="(x * k + k) ** k")))
    after = apply(diagram, unfold(diagram, "main", "formula1")).after
    literals = [port for block in after.main.blocks.values() for port in block.literals]
    assert sorted(literals) == ["b", "b", "b"]
    one, other = Session(diagram).backward(), Session(after).backward()
    assert one.gradients == other.gradients == {"x": 32.0}


@pytest.mark.parametrize(
    ("names", "what"),
    [
        ((), "nothing to fold"),
        (("w", "x"), "nothing to fold"),
        (("loss",), "'loss' is a Loss, which can't be inside"),
        (("h", "d"), "'h' is read inside the formula and, by 'seen', outside"),
    ],
)
def test_what_can_not_be_folded_is_refused(names, what):
    with pytest.raises(ChangeError, match=what):
        fold(network(), "main", names)


def test_blocks_of_other_sorts_are_refused():
    x: Any = b.variable("x", [[1.0, 2.0]])
    diagram = b.build(b.loss(b.sum(b.linear(x, units=2, name="fc"))))
    with pytest.raises(ChangeError, match="'fc' is a block with a variable of its own"):
        fold(diagram, "main", ["fc"])
    with pytest.raises(ChangeError, match="'x' is not a Formula block"):
        unfold(diagram, "main", "x")
