"""What a wire with a tree says about its gradient: one answer a leaf, and one for the wire."""

from __future__ import annotations

from typing import Any

import pytest

from gradwire.runtime.build import Expression, block, build, constant, loss, variable
from gradwire.runtime.diagram import apply
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import (
    Flow,
    ObservedFlow,
    State,
    WhatIf,
    check_contracts,
    diagnose,
    fix,
    ledger,
    observe,
    parse_contracts,
)
from gradwire.runtime.flow.analyse import analyse


def flow_of(*outputs: Expression, **losses: Any) -> Flow:
    session = Session(build(*outputs))
    assert [str(d) for d in session.diagnostics if d.severity == "error"] == []
    return analyse(session.program)


def packed() -> Expression:
    """{enc: {w, b}, dec, data, kept}: three trained, one constant, one frozen variable."""
    frozen = variable("kept", 1.0, trainable=False)
    items = variable("w", 1.0), variable("b", 2.0), variable("dec", 3.0), constant("data", 4.0)
    return block("Pack", *items, frozen, keys="enc/w, enc/b, dec, data, kept", name="pack")


def read(tree: Expression, *paths: str) -> Expression:
    """A loss that adds up those leaves."""
    parts = block("Unpack", tree, paths=list(paths), name="parts")
    return loss(block("AddN", *(parts[path] for path in paths)), name="loss")


def test_every_leaf_has_its_own_state() -> None:
    stop = block("StopGradient", packed(), only="enc", name="stop")
    flow = flow_of(read(stop, "enc/w", "dec", "data", "kept"))
    states = {path: verdict.state for path, verdict in flow.leaves("stop.x").items()}
    assert states == {
        "enc/w": State.STOPPED,
        "enc/b": State.OFF_ROUTE,
        "dec": State.CARRIES,
        "data": State.NOTHING_TO_TRAIN,
        "kept": State.FROZEN,
    }
    assert flow.states()["stop.x:enc/w"] is State.STOPPED
    assert flow.states()["stop.x"] is flow.state("stop.x") is State.CARRIES


def test_the_wire_says_how_many_leaves_carry_and_why_the_others_do_not() -> None:
    stop = block("StopGradient", packed(), only="enc", name="stop")
    verdict = flow_of(read(stop, "enc/w", "enc/b", "dec")).verdict("stop.x")
    assert verdict.leaves == (1, 5)
    assert verdict.sentence.startswith(
        "1 of 5 leaves carries. enc/w and enc/b: stop stops every route to loss. dec: Carries"
    )
    assert [(c.block, c.port, c.kind) for c in verdict.cutters] == [("stop", "x", "stop")]


def test_a_wire_of_which_no_leaf_carries_is_in_the_best_of_their_states() -> None:
    stop = block("StopGradient", packed(), name="stop")
    verdict = flow_of(read(stop, "enc/w", "data")).verdict("pack.items.0")
    assert (verdict.state, verdict.leaves) == (State.STOPPED, None)
    verdict = flow_of(read(block("StopGradient", packed(), name="stop"), "enc/w")).verdict("stop.x")
    assert verdict.state is State.STOPPED
    assert verdict.sentence.startswith("0 of 5 leaves carry.")


def test_a_tree_without_arrays_trains_nothing() -> None:
    empty = block("Display", block("Pack", extras={"n": None}), name="show")
    flow = flow_of(empty, loss(variable("v", 1.0), name="loss"))
    verdict = flow.verdict("show.x")
    assert (verdict.state, verdict.leaves) == (State.NOTHING_TO_TRAIN, (0, 0))
    assert verdict.sentence == "There are no arrays in this tree."
    assert flow.leaves("show.x") == {}


def test_a_wire_with_an_array_has_no_leaves() -> None:
    flow = flow_of(loss(variable("v", 1.0), name="loss"))
    assert flow.leaves("loss.x") == {}
    assert flow.verdict("loss.x").leaves is None


def test_the_cutter_of_one_leaf_is_found_at_the_port_of_the_tree() -> None:
    """A comparison of trees cuts every leaf, and says at which input."""
    masks = block("Greater", packed(), 1.5, name="mask")
    cast = block("Cast", masks, dtype="float32", name="cast")
    verdict = flow_of(read(cast, "dec")).verdict("mask.a:dec")
    assert verdict.state is State.NO_RULE
    assert ("mask", "a") in {(c.block, c.port) for c in verdict.cutters}


def test_a_tree_named_as_a_loss_is_all_of_its_leaves() -> None:
    session = Session(build(loss(packed(), name="loss")))
    flow = analyse(session.program, ["loss"])
    assert flow.losses == tuple(f"loss.out:{p}" for p in ("enc/w", "enc/b", "dec", "data", "kept"))
    assert flow.state("loss.x:dec", "loss.out:dec") is State.CARRIES
    assert flow.state("loss.x:dec", "loss.out:enc/w") is State.OFF_ROUTE


# ---- after a run ------------------------------------------------------------------------------


def observed(tree: Expression, *paths: str) -> tuple[Session, ObservedFlow]:
    session = Session(build(read(tree, *paths)))
    return session, observe(session)


def test_a_run_refines_the_leaves_and_the_wire() -> None:
    """relu is off at b and on elsewhere: one leaf of three brings back 0."""
    signs = block("Sub", packed(), 2.5, name="shifted")
    _, flow = observed(block("Relu", signs, name="relu"), "enc/w", "enc/b", "dec")
    states = flow.states()
    assert states["relu.x:enc/w"] is State.ZERO
    assert states["relu.x:dec"] is State.CARRIES
    assert states["relu.x"] is State.PARTIAL
    verdict = flow.verdict("relu.x")
    assert (verdict.state, verdict.leaves) == (State.PARTIAL, (3, 5))
    assert "relu" in flow.leaves("relu.x")["enc/b"].sentence


def test_a_fix_opens_only_the_leaf_that_is_asked_for() -> None:
    stop = block("StopGradient", packed(), only="enc, dec", name="stop")
    session, _ = observed(stop, "enc/w", "dec")
    found = fix(session, "stop.x:enc/w")
    assert found is not None and found.opened == ("stop",) and found.gradient == 1.0
    assert found.switches == ("stop:enc/w",)
    assert found.sentence == "Without stop on enc/w: 1."
    repaired = Session(apply(session.diagram, found.change).after).backward().gradients
    assert (repaired["w"], repaired["dec"]) == (1.0, None)
    assert fix(session, "w").switches == ("stop:enc/w",)
    (cutter,) = analyse(session.program).verdict("stop.x:enc/w").repair
    assert (cutter.block, cutter.port, cutter.leaf) == ("stop", "x", "enc/w")


def test_the_fix_of_a_tree_promises_a_number_for_each_leaf_that_is_stopped() -> None:
    doubled = block("Mul", packed(), 2.0, name="doubled")
    stop = block("StopGradient", doubled, only="enc, kept", name="stop")
    session, _ = observed(stop, "enc/w", "enc/b", "dec", "kept")
    flow = analyse(session.program)
    assert flow.state("stop.x") is State.CARRIES
    found = fix(session, "doubled.a")
    assert found.sentence == "Without stop on enc/w and enc/b: enc/w 2 and enc/b 2."
    assert found.leaves == {"enc/w": 2.0, "enc/b": 2.0} and found.gradient is None
    assert found.rms == 2.0 and found.change.label == "Open stop on enc/w, Open stop on enc/b"
    gradients = Session(apply(session.diagram, found.change).after).backward().gradients
    assert (gradients["w"], gradients["b"], gradients["dec"]) == (2.0, 2.0, 2.0)


def test_the_repair_of_a_wire_is_that_of_its_leaves() -> None:
    stop = block("StopGradient", packed(), name="stop")
    session, _ = observed(stop, "enc/w", "dec")
    flow = analyse(session.program)
    assert flow.state("stop.x:enc/w") is State.STOPPED
    assert [(c.block, c.leaf) for c in flow.repairs()["pack.items.0"]] == [("stop", "enc/w")]
    for wire, cutters in flow.repairs().items():
        assert flow.verdict(wire).repair == cutters


@pytest.mark.parametrize(
    ("parameters", "leaf"),
    [
        ({"only": "layers/1", "prune": True}, "layers/1"),
        ({"sequences": "stacked"}, "layers"),
        ({"sequences": "stacked", "only": "layers", "prune": True}, "layers"),
    ],
)
def test_a_leaf_is_opened_by_the_path_that_its_stop_selects_by(parameters, leaf) -> None:
    """Pruning counts a sequence anew, stacking makes one leaf of it; neither may change a value."""
    layers = block("Pack", variable("one", [1.0]), variable("two", [2.0]))
    tree = block("Pack", layers, variable("bias", [3.0]), keys="layers, bias")
    stop = block("StopGradient", tree, name="stop", **parameters)
    path = "layers" if leaf == "layers" else "layers/0"
    session, _ = observed(block("Pack", block("Pick", stop, path=path), keys="s"), "s")
    found = fix(session, "two")
    assert found.switches == (f"stop:{leaf}",) and found.gradient.tolist() == [1.0]
    after = Session(apply(session.diagram, found.change).after).run().values
    for port, value in session.run().values.items():
        assert after[port].tolist() == value.tolist()


def test_a_stop_that_selects_leaves_in_vain_cuts_nothing() -> None:
    for only, told in (
        ("data", "trained variable"),
        ("nothing", "spares every array"),
        ("enc/b", "no loss"),
    ):
        stop = block("StopGradient", packed(), only=only, name="stop")
        _, flow = observed(stop, "enc/w", "data")
        assert told in flow.idle_stops()["stop"]
    _, flow = observed(block("StopGradient", packed(), only="enc", name="stop"), "enc/w")
    assert flow.idle_stops() == {}


def test_norms_alone_are_those_of_the_contributions() -> None:
    session, _ = observed(block("Square", packed(), name="sq"), "enc/w", "dec")
    full = session.backward()
    alone = session.backward(contributions=False, norms=True)
    assert alone.contributions == {}
    assert alone.norms["sq.x"] == full.norms["sq.x"]
    watched = session.backward(contributions=["sq.x"])
    assert {k for k, v in watched.contributions.items() if v is not None} == {
        "sq.x:enc/w", "sq.x:dec"
    }  # fmt: skip
    assert watched.norms["sq.x"] == full.norms["sq.x"]


def test_a_trial_cuts_and_opens_wires_with_trees() -> None:
    session, _ = observed(block("StopGradient", packed(), only="enc", name="stop"), "enc/w", "dec")
    opened = WhatIf(session).open("stop").compare().variables()
    assert (opened["w"].before, opened["w"].after) == (None, 1.0)
    cut = WhatIf(session).cut("stop.x").compare()
    assert (cut.variables()["dec"].before, cut.variables()["dec"].after) == (1.0, None)
    assert cut.states()["parts.x:dec"] == (State.CARRIES, State.STOPPED)


def test_the_ledger_has_an_account_for_each_leaf() -> None:
    doubled = block("Mul", packed(), 2.0, name="doubled")
    session, _ = observed(block("Add", doubled, doubled, name="twice"), "enc/w", "dec")
    run = session.backward(adjoints="all")
    accounts = ledger(session.program, run)
    rows = accounts["doubled.out:dec"].entries
    assert {row.by for row in rows} == {"twice.a:dec", "twice.b:dec"}
    assert accounts["doubled.out:dec"].total == run.adjoints["doubled.out:dec"] == 2.0


def test_the_doctor_and_contracts_speak_of_leaves() -> None:
    session, flow = observed(block("StopGradient", packed(), only="enc", name="stop"), "enc/w")
    keys = {finding.key for finding in diagnose(session)}
    assert {"w", "b", "dec"} <= keys
    contracts = parse_contracts("blocked(loss -> stop.x:enc/*)\nflows(loss -> stop.x:dec)")
    held = check_contracts(contracts, flow, flow.flow)
    assert [bool(outcome.breaches) for outcome in held] == [False, True]


def test_the_sentence_of_a_leaf_that_carries_names_the_leaf() -> None:
    session = Session(build(read(packed(), "enc/w", "dec")))
    told = observe(session).leaves("parts.x")
    assert told["enc/w"].sentence == ("Carries ∂loss/∂pack:enc/w: 1. Route: loss ← add_n1 ← parts.")
