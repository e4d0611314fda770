"""What the wires of the examples say: where gradient passes, where it is stopped, and by what."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State, check_contracts, contracts_of, diagnose, fix
from gradwire.runtime.flow.analyse import analyse
from tests.examples.gallery import NAMES, TWINS, diagram, stops, wires_from

CARRIES, STOPPED, NO_RULE = State.CARRIES, State.STOPPED, State.NO_RULE
OFF_ROUTE, PLAIN = State.OFF_ROUTE, State.NOTHING_TO_TRAIN


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", NAMES)
def test_a_wire_carries_exactly_where_it_brings_something_back(name):
    session = Session(diagram(name))
    flow = analyse(session.program)
    for loss in (None, *session.losses):
        run = session.backward(None if loss is None else [loss])
        states = flow.states(loss)
        for wire, contribution in run.contributions.items():
            assert (contribution is not None) == (states[wire] is CARRIES), (loss, wire)
        for variable, gradient in run.gradients.items():
            assert (gradient is not None) == (flow.variable(variable, loss).state is CARRIES)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", NAMES)
def test_every_stop_cuts_something_and_is_named_as_the_cutter(name):
    flow = analyse(Session(diagram(name)).program)
    for stop in stops(name):
        for wire in stopped_wires(flow, stop):
            verdict = flow.verdict(wire)
            assert verdict.state is STOPPED
            assert [str(cutter) for cutter in verdict.cutters] == [stop]
            assert stop in verdict.sentence


def stopped_wires(flow, stop):
    """The wire into a stop; of one with a tree those of the leaves that it stops."""
    program = flow.program
    leaves = zip(program.leaf_wires(f"{stop}.x"), program.leaf_ports(f"{stop}.out"), strict=True)
    found = [wire for wire, port in leaves if program.ports[port].primitive.stops]
    assert found
    return found


def test_a_stop_on_a_tree_lets_the_leaves_pass_that_it_does_not_select():
    session = Session(diagram("freeze_encoder"))
    flow = analyse(session.program)
    leaves = flow.leaves("freeze.x")
    assert {path: verdict.state for path, verdict in leaves.items()} == {
        "encoder/weight": STOPPED, "encoder/bias": STOPPED, "head/weight": CARRIES,
        "head/bias": CARRIES,
    }  # fmt: skip
    assert flow.verdict("freeze.x").leaves == (2, 4)
    assert fix(session, "freeze.x").switches == ("freeze:encoder/weight", "freeze:encoder/bias")
    held = check_contracts(contracts_of(session.diagram), None, flow)
    assert len(held) == 2 and all(outcome.kept for outcome in held)
    assert diagnose(session) == []


@pytest.mark.parametrize("pair", TWINS)
def test_without_the_stop_the_same_wires_carry(pair):
    flow = analyse(Session(diagram(f"{pair}_unstopped")).program)
    for block in TWINS[pair]:
        assert flow.state(f"{block}.x") is CARRIES
        assert all(flow.state(str(t)) is CARRIES for t in wires_from(f"{pair}_unstopped", block))
    states = flow.states().values()
    assert STOPPED not in states


@pytest.mark.parametrize(
    ("name", "states"),
    {
        "mxnet_seed": {
            "triple.b": STOPPED, "stop.x": STOPPED, "plus.b": CARRIES, "loss.x": CARRIES,
        },
        "fan_out": {"product.a": CARRIES, "product.b": CARRIES, "copy.x": STOPPED},
        "em_stopped": {
            "responsibilities.x": STOPPED, "expected.b": CARRIES, "mixture.x": PLAIN,
            "goal.of": OFF_ROUTE, "mixture/sum.b": CARRIES,
        },
        "contrastive_divergence_stopped": {
            "gibbs.weight": STOPPED, "model_energy.weight": CARRIES, "data_energy.visible": PLAIN,
            "gibbs/echo.x": STOPPED, "model_energy/drive.weight": CARRIES,
        },
        "adversarial_training_stopped": {
            "step.gradient": STOPPED, "attacked.b": PLAIN, "gradient.wrt": OFF_ROUTE,
            "adversarial/layer.weight": CARRIES,
        },
        "adversarial_training_unstopped": {"step.gradient": CARRIES, "attacked.a": CARRIES},
        "straight_through": {
            "round_plain.x": CARRIES, "remainder.b": STOPPED, "rounded.b": CARRIES,
            "straight.hard": NO_RULE, "straight.soft": CARRIES,
        },
        "vq_vae": {
            "nearest.z": NO_RULE, "code.indices": NO_RULE, "quantised.soft": CARRIES,
            "code.x": CARRIES, "z_stopped.x": STOPPED, "commit_error.prediction": CARRIES,
        },
        "simsiam_stopped": {"branch_1/layer.weight": CARRIES, "branch_1/z.x": STOPPED},
        "dqn_target_stopped": {"Q.weight": CARRIES, "next_Q.weight": STOPPED, "best.x": STOPPED},
        "reinforce_baseline_stopped": {
            "squared.x": CARRIES, "weighted.b": STOPPED, "policy.x": PLAIN,
        },
        "gan": {"D_fake.sample": STOPPED, "D_fooled.sample": CARRIES, "D_fake.weight": CARRIES},
    }.items(),
)  # fmt: skip
def test_the_wires_that_tell_the_story(name, states):
    flow = analyse(Session(diagram(name)).program)
    assert {wire: flow.state(wire) for wire in states} == states


@pytest.mark.parametrize(
    ("name", "loss", "without"),
    [
        ("vq_vae", "recon_loss", {"codebook"}),
        ("vq_vae", "codebook_loss", {"encoder_weight", "decoder_weight"}),
        ("vq_vae", "commit_loss", {"decoder_weight", "codebook"}),
        ("gan", "D_loss", {"G_weight", "G_bias"}),
        ("gan", "G_loss", set()),
        ("reinforce_baseline_stopped", "policy_loss", {"value_weight"}),
        ("reinforce_baseline_stopped", "value_loss", {"policy_weight"}),
        ("reinforce_baseline_unstopped", "policy_loss", set()),
        ("mxnet_seed", "loss", {"b"}),
    ],
)
def test_which_variables_a_loss_leaves_alone(name, loss, without):
    gradients = Session(diagram(name)).backward([loss]).gradients
    assert {variable for variable, g in gradients.items() if g is None} == without
    assert all(np.any(g) for g in gradients.values() if g is not None)


def test_in_the_vq_vae_each_stop_keeps_one_loss_from_one_variable():
    flow = analyse(Session(diagram("vq_vae")).program)
    kept = flow.variable("codebook", "commit_loss.out")
    assert kept.state is STOPPED and "code_stopped" in kept.sentence
    kept = flow.variable("encoder_weight", "codebook_loss.out")
    assert kept.state is STOPPED and "z_stopped" in kept.sentence


def test_in_the_gan_the_fake_is_stopped_for_one_loss_and_open_for_the_other():
    flow = analyse(Session(diagram("gan")).program)
    assert flow.variable("G_weight", "D_loss.out").state is STOPPED
    assert "fake" in flow.variable("G_weight", "D_loss.out").sentence
    assert flow.variable("G_weight", "G_loss.out").state is CARRIES
