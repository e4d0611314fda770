"""Where time goes: every step belongs to somebody, and fused blocks are told together."""

from __future__ import annotations

import pytest

from gradwire.blocks.errors import FeedError
from gradwire.blocks.library.activations import Tanh
from gradwire.blocks.library.arithmetic import Mul
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.sources import Input, Variable
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.profile import profile
from tests.runtime.engine.drawing import draw, seed


def test_every_step_is_counted_once():
    measured = profile(Session(seed()), seconds=0.01)
    assert sum(cost.steps for cost in measured.costs) == measured.steps
    assert {block for cost in measured.costs for block in cost.blocks} == {"triple", "plus"}
    assert measured.losses == ("loss.out",)
    assert measured.call > 0 and measured.tracing > 0 and measured.planning > 0


def test_forward_and_backward_are_told_apart():
    diagram = draw(
        {"x": Variable(shape=[64, 64]), "tanh": Tanh(), "loss": Loss()},
        {"tanh.x": "x", "loss.x": "tanh"},
    )
    both = profile(Session(diagram), seconds=0.01)
    (tanh,) = [cost for cost in both.costs if cost.blocks == ("tanh",)]
    assert tanh.forward > 0 and tanh.backward > 0
    assert tanh.bytes >= 2 * 64 * 64 * 4
    forward = profile(Session(diagram), [], seconds=0.01)
    assert forward.losses == ()
    assert all(cost.backward == 0 for cost in forward.costs)


def test_a_region_of_several_blocks_is_one_cost():
    names = [f"m{i}" for i in range(8)]
    diagram = draw(
        {"x": Variable(value=2.0), **{name: Mul(b=1.5) for name in names}, "loss": Loss()},
        {f"{b}.a": a for a, b in zip(["x", *names], names, strict=False)} | {"loss.x": names[-1]},
    )
    measured = profile(Session(diagram), seconds=0.01)
    assert any(set(names) <= set(cost.blocks) for cost in measured.costs)


def test_the_most_expensive_comes_first():
    measured = profile(Session(seed()), seconds=0.01)
    times = [cost.seconds for cost in measured.costs]
    assert times == sorted(times, reverse=True)


def test_an_input_without_a_value_can_not_be_measured():
    diagram = draw({"x": Input(shape=[2]), "tanh": Tanh()}, {"tanh.x": "x"})
    with pytest.raises(FeedError, match="no value"):
        profile(Session(diagram), [], seconds=0.01)
