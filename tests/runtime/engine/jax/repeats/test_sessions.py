"""Sessions of the JAX engine roll what repeats: runs, training, and the block that failed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

import gradwire as gw
from gradwire.blocks.errors import RunError
from gradwire.runtime.engine.jax.traced import Traced
from gradwire.runtime.training.optimisers import SGD
from tests.runtime.engine.jax.repeats.networks import drawn, mean_square, recurrent


@pytest.mark.night
def test_a_run_on_jax_has_the_numbers_of_numpy() -> None:
    diagram = recurrent("lstm", 24)
    wanted, found = (
        gw.Session(diagram, engine=engine).backward(contributions=False)
        for engine in ("numpy", "jax")
    )
    assert wanted.gradients.keys() == found.gradients.keys()
    for table in ("values", "gradients"):
        for name, want in getattr(wanted, table).items():
            got = getattr(found, table)[name]
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6 * np.abs(want).max())


def test_training_steps_roll_what_repeats() -> None:
    numpy, jax = (gw.Session(recurrent("gru", 24), engine=name) for name in ("numpy", "jax"))
    for _ in range(3):
        numpy.step(SGD(0.1))
        jax.step(SGD(0.1))
    for name, want in numpy.values.items():
        np.testing.assert_allclose(jax.values[name], want, rtol=1e-4, atol=1e-6)


def test_a_program_has_the_operations_of_a_step_once() -> None:
    program = gw.Session(recurrent("lstm", 60)).program
    traced = Traced([program.ports[head] for head in program.heads()])
    assert traced.operations < len(traced.values) / 8


def test_the_step_that_failed_is_named() -> None:
    @gw.page("cell")
    def cell(i: gw.Expression, h: gw.Expression, k: gw.Expression) -> dict[str, gw.Expression]:
        return {"next": gw.tanh(h + gw.block("Embedding", i, k)), "y": h}

    i = gw.input("i", value=np.zeros(60), dtype="int64")
    h, k = gw.variable("h", drawn(3)), gw.variable("k", drawn(4, 3))
    found = gw.scan(cell, i, h, k, steps=60, carry={"h": "next"}, over="i", name="scan")
    session = gw.Session(mean_square(found["next"]), engine="jax")
    session.run()
    indices = np.zeros(60)
    indices[[33, 41]] = 4
    with pytest.raises(RunError, match="out of range") as caught:
        session.run(feeds={"i": indices})
    assert caught.value.location is not None
    assert caught.value.location.block == "scan/33/embedding1"
