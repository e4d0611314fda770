"""Networks that repeat themselves give the same bits rolled, and programs of one size."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("jax")

from gradwire.runtime.engine.jax.repeats.rolling import Limits
from tests.runtime.engine.jax.repeats import networks
from tests.runtime.engine.jax.repeats.rolling import FORCED, assert_same, loops, of_diagram

if TYPE_CHECKING:
    import gradwire as gw

NETWORKS: dict[str, Callable[[int], gw.Diagram]] = {
    **{kind: partial(networks.recurrent, kind) for kind in networks.LAYERS},
    "last": partial(networks.recurrent, "lstm", last=True),
    "reversed": partial(networks.recurrent, "gru", reverse=True),
    "perceptron": networks.perceptron,
    "shared weights": partial(networks.perceptron, shared=True),
    "independent pages": partial(networks.encoder, independent=True),
    "shared pages": partial(networks.encoder, independent=False),
}


@pytest.mark.night
@pytest.mark.parametrize("name", NETWORKS)
def test_a_rolled_network_has_the_same_bits(name: str) -> None:
    parts = assert_same(of_diagram(NETWORKS[name](7)))
    assert sum(loop.steps >= 5 for loop in loops(parts)) >= 2  # forward and backward


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", NETWORKS)
def test_repetitions_add_to_a_program_only_the_gradients_of_their_own_weights(name: str) -> None:
    few, many = (of_diagram(NETWORKS[name](n)) for n in (8, 16))
    sizes = [len(c.equations(c.rolled())) for c in (few, many)]
    gradients = len(many.outputs) - len(few.outputs)
    assert sizes[1] - sizes[0] == 2 * gradients  # each is taken from a stack, and reshaped
    assert len(many.equations(many.computed)) - len(few.equations(few.computed)) > 50


@pytest.mark.night
def test_what_the_backward_loop_reads_is_never_taken_apart() -> None:
    c = of_diagram(networks.recurrent("lstm", 100))
    names = c.equations(c.rolled())
    assert names.count("scan") == 2
    assert names.count("slice") + names.count("concatenate") < 30
    assert len(c.equations(c.computed)) > 20 * len(names)


@pytest.mark.night
def test_a_compiled_loop_is_within_rounding_of_the_flat_program() -> None:
    c = of_diagram(networks.recurrent("lstm", 7))
    for found, want in zip(c.compiled(c.rolled()), c.compiled(c.computed), strict=True):
        np.testing.assert_allclose(found, want, rtol=2e-6, atol=2e-6 * np.abs(want).max())


def test_only_what_pays_is_rolled() -> None:
    c = of_diagram(networks.recurrent("rnn", 8))
    assert loops(c.rolled(FORCED._replace(steps=9))) == []
    assert loops(c.rolled(FORCED._replace(saved=10_000))) == []
    assert c.rolled(FORCED._replace(steps=9)) == c.computed
    assert len(loops(of_diagram(networks.recurrent("lstm", 20)).rolled(Limits()))) == 2


def test_results_that_are_read_one_by_one_count_against_a_loop() -> None:
    blocks = ("linear1", "linear2", "tanh1")
    ports = [f"layer/{i}/{name}.out" for i in range(8) for name in blocks]
    few, many = (of_diagram(networks.recurrent("rnn", 8), *read) for read in ([], ports))
    limits = Limits(steps=3, saved=7 * 6, access=0, row=10)
    assert [loop.steps for loop in loops(few.rolled(limits))] == [8, 7]
    assert loops(many.rolled(limits)) == []
