"""The contracts that hold today."""

from __future__ import annotations

import pytest

from gradwire.runtime.diagram import load
from gradwire.runtime.flow import check_contracts
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.programs.inferring import inferred
from tests.examples.gallery import path


def lines(name: str) -> list[str]:
    diagram = load(path(name))
    return [str(contract) for contract in inferred(analyse(diagram), diagram.training, {})]


@pytest.mark.parametrize("name", ["vq_vae", "gan", "training_gan", "freeze_encoder"])
def test_they_hold_and_say_everything(name):
    diagram = load(path(name))
    flow = analyse(diagram)
    found = inferred(flow, diagram.training, {})
    assert all(outcome.kept for outcome in check_contracts(found, None, flow, diagram.training))
    for loss in flow.losses:
        said = {
            subject
            for contract in found
            if contract.kind != "updates" and contract.loss == loss.block
            for subject in flow.program.trainable
            if check_contracts([contract], None, flow)[0].kept
        }
        assert said == set(flow.program.trainable)


def test_one_line_is_about_all_of_a_page_that_do_the_same():
    found = lines("training_gan")
    assert len(found) < 10 and any(line.startswith("updates(") for line in found)


def test_each_variable_by_itself_where_they_differ():
    assert lines("vq_vae")[:2] == [
        "flows(recon_loss -> encoder_weight)",
        "blocked(recon_loss -> codebook)",
    ]
