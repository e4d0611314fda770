"""A tape has every way that gradient may take, and computes equal values once."""

from __future__ import annotations

from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.publish.living.computing.switches import switches_of
from gradwire.runtime.publish.living.computing.tape import COLLECT, Tape, tape_of


def tape(stopped: bool) -> Tape:
    """The tape of (stop(w) or w)·w + w."""
    w = variable("w", 3.0)
    first = stop_gradient(w) if stopped else w
    diagram = build(loss(first * w + w))
    return tape_of(lower(diagram), switches_of(diagram).paths)


def test_what_comes_back_through_a_stop_is_a_part_that_may_be_missing() -> None:
    (collect,) = [op.value for op in tape(True).ops if op.value.primitive is COLLECT]
    gates = [gate for _, gate in collect.attributes["conditions"]]
    assert sorted(gates) == [-1, -1, -1]
    conditions = [c for _, found in tape(True).data["arrive"] for c in found]
    assert [gate for _, gate in conditions if gate >= 0] == [0]


def test_without_stops_nothing_is_gated() -> None:
    conditions = [c for _, found in tape(False).data["arrive"] for c in found]
    assert all(gate == -1 for _, gate in conditions)


def test_what_depends_on_no_gradient_has_no_guard() -> None:
    for op in tape(True).ops:
        if op.value.index < tape(True).data["size"]:
            assert op.guard == -1


def test_identities_are_no_operations() -> None:
    names = {op.value.primitive.name for op in tape(True).ops}
    assert not names & {"wire", "stop_gradient", "loss_head", "surrogate", "clip_gradient"}
