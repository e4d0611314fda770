"""The entry point of the flow: what it takes, and what it says to a slip of the hand."""

from __future__ import annotations

from typing import Any

import pytest

from gradwire.blocks.errors import RunError
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State
from gradwire.runtime.flow.analyse import analyse

DIAGRAM = build(loss(variable("w", 1.0) * 2))


@pytest.mark.parametrize("subject", [DIAGRAM, Session(DIAGRAM), Session(DIAGRAM).program])
def test_whatever_has_a_program_can_be_analysed(subject: Any) -> None:
    flow = analyse(subject, "loss")
    assert flow.losses == ("loss.out",)
    assert flow.variable("w").state is State.CARRIES


def test_an_expression_is_refused_with_what_to_write() -> None:
    with pytest.raises(RunError, match=r"got Expression\. Write analyse\(build\(\.\.\.\)\)"):
        analyse(variable("w", 1.0))


def test_unknown_losses_and_wires_name_the_nearest() -> None:
    with pytest.raises(RunError, match=r"no loss 'los' .* Did you mean loss"):
        analyse(DIAGRAM, ["los"])
    with pytest.raises(RunError, match=r"no wire into 'los\.x'.* Did you mean loss\.x"):
        analyse(DIAGRAM).verdict("los.x")
