"""A decay along a sequence is said of every wire and variable that it makes too small."""

from __future__ import annotations

import pytest

from gradwire.runtime.engine import Session
from gradwire.runtime.flow import observe, with_fix
from gradwire.runtime.flow.words.states import State
from tests.runtime.publish.living.hard import specimens

SAID = "The gradient decays along the sequence: that of step 1 is 1.814e−11 of step 20's, in what"
CURE = "Use an LSTM or a GRU"


@pytest.mark.parametrize("key", ["x", "sequence.parts.0"])
def test_why_says_so_of_a_variable_and_of_a_wire(key):
    session = Session(specimens()["decays"])
    observed = observe(session)
    verdict = observed.explain(key)
    assert verdict.state is State.VANISHING
    assert verdict.sentence.startswith(SAID) and verdict.cure.startswith(CURE)
    assert CURE in with_fix(session, verdict).sentence
    assert observed.culprits(key) == {}


def test_a_wire_behind_the_sequence_is_no_part_of_it():
    observed = observe(Session(specimens()["decays"]))
    assert "decays" not in observed.verdict("tanh1.x").sentence
