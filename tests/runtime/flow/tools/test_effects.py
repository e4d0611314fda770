"""What a change does to gradients."""

from __future__ import annotations

from gradwire.runtime.build import build, loss, relu, stop_gradient, variable
from gradwire.runtime.diagram import (
    Connect,
    PortName,
    RemoveBlocks,
    RenameBlock,
    SetParameters,
    apply,
)
from gradwire.runtime.diagram.diff import diff
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State, observe
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.tools.effects import Effect, effects


def seed():
    a, b = variable("a", [1.0, 2.0]), variable("b", [0.5, 1.0])
    return build(loss(stop_gradient(3 * b, name="stop") + a))


def compared(before, after, *, run=False):
    flows = [
        observe(Session(each)) if run else analyse(Session(each, partial=True).program)
        for each in (before, after)
    ]
    return effects(diff(before, after), *flows)


def by_name(found):
    return {each.name: each for each in found.variables}


def test_opening_a_stop_lets_gradient_through_and_closing_it_takes_it_away():
    closed, opened = seed(), apply(seed(), SetParameters("stop", {"open": True})).after
    found = by_name(compared(closed, opened))
    assert (found["a"].effect, found["b"].effect) == (Effect.SAME, Effect.GAINED)
    assert "stop" in found["b"].reason
    lost = by_name(compared(opened, closed))["b"]
    assert lost.effect is Effect.LOST
    assert lost.reason == found["b"].reason
    wires = compared(closed, opened).wires
    assert wires["stop.x"] == (State.STOPPED, State.CARRIES)
    assert "add1.b" not in wires


def test_variables_and_losses_come_and_go():
    more = build(loss(variable("a", [1.0]), name="L1"), loss(variable("c", [1.0]), name="L2"))
    less = build(loss(variable("a", [1.0]), name="L1"))
    found = compared(less, more)
    assert by_name(found)["c"].effect is Effect.NEW_WITH
    assert found.losses_added == ("L2.out",)
    back = compared(more, less)
    assert by_name(back)["c"].effect is Effect.REMOVED
    assert back.losses_removed == ("L2.out",)


def test_a_renamed_variable_is_the_same():
    found = compared(seed(), apply(seed(), RenameBlock("a", "weight")).after)
    assert found.is_empty


def test_a_renamed_loss_is_the_same():
    assert compared(seed(), apply(seed(), RenameBlock("loss", "cost")).after).is_empty


def test_a_frozen_variable_loses_its_gradient():
    frozen = apply(seed(), SetParameters("a", {"trainable": False})).after
    found = by_name(compared(seed(), frozen))["a"]
    assert found.effect is Effect.LOST
    assert found.after.state is State.FROZEN
    both = compared(frozen, frozen)
    assert "a" not in by_name(both)


def test_another_reason_is_told():
    cut = apply(seed(), RemoveBlocks(["mul1"])).after
    found = by_name(compared(seed(), cut))["b"]
    assert found.effect is Effect.OTHER_REASON
    assert found.reason != found.before.sentence


def test_numbers_need_a_run():
    before = build(loss(relu(variable("a", [1.0, 2.0]), name="act")))
    after = apply(before, SetParameters("a", {"value": [-1.0, -2.0]})).after
    assert compared(before, after).is_empty
    ran = compared(before, after, run=True)
    assert by_name(ran)["a"].effect is Effect.OTHER_VALUE
    assert ran.wires["act.x"][1] is State.ZERO


def test_a_change_that_keeps_every_gradient_has_no_effect():
    other = apply(seed(), Connect(PortName("mul1", "out"), PortName("stop", "x"))).after
    assert compared(seed(), other, run=True).is_empty
