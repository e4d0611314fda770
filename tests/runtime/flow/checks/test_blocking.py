"""Where a StopGradient would keep a gradient from where a contract says that none may come."""

from __future__ import annotations

import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import WhatIf, diagnose
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.tools.findings import CONTRACT

KEEPS = "A StopGradient on {} would block it. All others keep one."


def leaking_advantage():
    critic = b.tanh(b.mul(b.variable("critic", 0.4), 2.0))
    advantage = b.sub(1.5, critic, name="advantage")
    score = b.mul(b.log(b.sigmoid(b.variable("actor", 0.2))), advantage, name="score")
    return b.loss(score, name="policy")


def swapped_commitment():
    code = b.stop_gradient(b.variable("codebook", 1.2))
    return b.loss(b.square(b.sub(code, b.variable("critic", 1.0), name="gap")), name="policy")


def shared_before_the_fork():
    shared = b.mul(b.variable("actor", 0.5), b.variable("critic", 2.0), name="product")
    return b.loss(b.square(b.tanh(shared)), name="policy")


def used_twice():
    critic = b.variable("critic", 0.5)
    score = b.mul(b.variable("actor", 0.5), critic)
    return b.loss(b.add(score, critic), name="policy")


@pytest.mark.parametrize(
    ("diagram", "cure"),
    [
        (leaking_advantage, KEEPS.format("score.b")),
        (swapped_commitment, "A StopGradient on gap.b would block it."),
        (shared_before_the_fork, KEEPS.format("product.b")),
        (used_twice, ""),
    ],
)
def test_a_broken_block_names_the_stop_that_makes_it_hold(diagram, cure):
    session = Session(b.build(diagram(), contracts="blocked(policy -> critic)"))
    (finding,) = [found for found in diagnose(session) if found.complaint is CONTRACT]
    assert finding.sentence.endswith(cure or "policy ← add1 ← critic.")
    if cure:
        wire = cure.split()[3]
        stopped = analyse(WhatIf(session).cut(wire).diagram)
        assert not stopped.variable("critic").state.row.passes


def test_a_wire_that_should_be_blocked_is_where_the_stop_belongs():
    diagram = b.build(leaking_advantage(), contracts="blocked(policy -> advantage.b)")
    (finding,) = [f for f in diagnose(Session(diagram)) if f.complaint is CONTRACT]
    assert finding.sentence.endswith("A StopGradient on advantage.b would block it.")


def adversaries(independent):
    @b.page("D")
    def score(x):
        return b.sum(b.mul(x, b.variable("weights", [0.3, -0.2])))

    fake = b.mul(b.variable("generator", [0.1, 0.4]), 2.0)
    judged = b.loss(score(b.stop_gradient(fake), name="judge"), name="L_D")
    fooled = b.loss(b.neg(score(fake, name="fool", independent=independent)), name="L_G")
    return b.build(judged, fooled, contracts=["blocked(L_G -> judge/weights)"])


def test_a_stop_that_uses_of_a_page_share_is_not_said_to_spare_the_others():
    (finding,) = [f for f in diagnose(Session(adversaries(False))) if f.complaint is CONTRACT]
    assert finding.sentence.endswith(
        "A StopGradient would keep it from L_D too: let the optimiser that steps L_G leave "
        "judge/weights out, by wrt."
    )
    assert not [f for f in diagnose(Session(adversaries(True))) if f.complaint is CONTRACT]
