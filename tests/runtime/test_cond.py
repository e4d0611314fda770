"""A choice between two pages: both run, a boolean says whose outputs count."""

from __future__ import annotations

import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import BuildError
from gradwire.runtime.engine import Session


@b.page("double")
def _double(x, w=2.0):
    return {"y": x * w, "z": x}


@b.page("square")
def _square(x, w=2.0):
    return {"z": -x, "y": x * x}


@pytest.mark.parametrize(("number", "value", "slope"), [(3.0, 6.0, 2.0), (-3.0, 9.0, -6.0)])
def test_a_choice_runs_both_pages_and_takes_one(number, value, slope):
    x = b.variable("x", number)
    chosen = b.cond(x > 0.0, _double, _square, x, name="choice")
    session = Session(b.build(b.loss(chosen["y"], name="loss"), b.display(chosen["z"])))
    assert {"choice/then", "choice/otherwise"} <= set(
        use for uses in session.program.flat.uses.values() for use in uses
    )
    run = session.backward()
    assert (run.values["loss.out"], run.gradients["x"]) == (value, slope)


def test_a_choice_is_between_pages_with_the_same_outputs():
    x = b.variable("x", 1.0)
    other = b.page("other")(lambda x: x)
    with pytest.raises(BuildError, match="different outputs"):
        b.cond(x > 0.0, _double, other, x)
    with pytest.raises(BuildError, match="between pages"):
        b.cond(x > 0.0, _double, abs, x)
