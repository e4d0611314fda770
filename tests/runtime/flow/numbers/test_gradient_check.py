"""Gradient checks: every block agrees with differences, or says why it does not."""

from __future__ import annotations

from typing import Any

import pytest

import gradwire.runtime.build as b
from gradwire.blocks import Block
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import check_gradients
from tests.examples.gallery import NAMES, diagram
from tests.runtime.engine.drawing import draw
from tests.runtime.flow.specimens import specimen


def told(*outputs: b.Expression) -> dict[str, str]:
    return {check.block: check.sentence for check in check_gradients(Session(b.build(*outputs)))}


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("name", NAMES)
def test_the_examples_have_nothing_wrong(name: str) -> None:
    checks = check_gradients(Session(diagram(name)))
    assert [check.sentence for check in checks if check.is_wrong] == []
    assert sum(check.agrees for check in checks) >= 2


@pytest.mark.night
def test_nothing_is_wrong_in_random_diagrams() -> None:
    agreed = excused = 0
    for seed in range(120):
        for check in check_gradients(Session(specimen(seed))):
            assert not check.is_wrong, (seed, check)
            agreed += check.agrees
            excused += bool(check.excuse)
    assert agreed > 500 and excused > 50


def test_what_differs_on_purpose_or_at_a_kink_is_excused() -> None:
    x = b.variable("x", [0.0, 2.0], dtype="float64")
    said = told(
        b.loss(b.sum(b.relu(x, name="kinked"), name="added")),
        b.loss(b.sum(b.stop_gradient(x, name="stopped")), name="loss2"),
        b.loss(b.sum(b.gradient_reversal(x, name="turned")), name="loss3"),
    )
    assert said["added"] == "✓ added"
    assert said["kinked"].startswith("≈ kinked: ")
    assert said["kinked"].endswith("(there is a kink or a jump here)")
    assert said["stopped"].startswith("≈ stopped: its rule gives 0, ")
    assert said["stopped"].endswith("(it stops the gradient)")
    assert said["turned"].endswith("(its rule is not the derivative)")


def test_a_block_whose_rule_is_wrong_is_found() -> None:
    class Cheating(Block):
        """A plug-in that tells another gradient, and does not say so."""

        def forward(self, xp: Any, x: Any) -> Any:
            return xp.surrogate(x, 2.0 * x)

    session = Session(draw({"x": Variable(value=[1.0, 2.0]), "c": Cheating()}, {"c.x": "x"}))
    (check,) = check_gradients(session)
    assert check.is_wrong and check.rule == pytest.approx(2 * check.difference, rel=1e-3)
    assert check.sentence.startswith("✗ c: ")
    assert check_gradients(session, []) == []
