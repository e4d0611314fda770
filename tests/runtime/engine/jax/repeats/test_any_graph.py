"""Rolling is correct for every graph: random ones, with and without repetitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("jax")

from gradwire.runtime.engine.jax.repeats.rolling import Limits
from tests.runtime.engine.jax.repeats.rolling import assert_same, loops, of_values
from tests.runtime.engine.programs import BINARY, FAMILIES, Writer, Written

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

EAGER = Limits(steps=2, saved=1, access=0, row=0)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "convolutions"])
def test_random_programs_have_the_same_bits(family: str, seed: int) -> None:
    written = FAMILIES[family](seed)
    assert_same(of_values(written.outputs, written.numbers(seed)), EAGER)


def repeated(seed: int) -> Written:
    """A random step that is applied several times: it reads what the steps before gave, leaves
    of its own, rows of an array. Some steps do something else, and some results are read outside.
    """
    w = Writer(seed)
    rng, xp, steps = w.rng, w.xp, 12
    shape = w.choose([(), (3,), (2, 3)])
    names = [w.choose([*BINARY, "tanh", "sin", "relu", "square"]) for _ in range(6)]
    recipe = [(name, rng.integers(i + 6, size=2)) for i, name in enumerate(names)]
    shared, rows = w.leaf(shape), w.leaf((2 * steps, *shape))
    a, b, total = w.leaf(shape), w.leaf(shape), w.leaf(shape)
    place = [lambda t: t, lambda t: 2 * steps - 1 - t, lambda t: 2 * t + 1][seed % 3]
    odd = int(rng.integers(2 * steps))
    states, outputs = [], []
    for t in range(steps):
        found = [a, b, shared, rows[place(t)], w.leaf(shape) if seed % 2 else shared, total]
        if rng.random() < 0.05:
            found[3] = states[0] if states else shared
        for name, (i, j) in recipe:
            both = (found[i], found[j]) if name in BINARY else (found[j],)
            found.append(getattr(xp, name)(*both))
        a, b = xp.tanh(found[-1] + a), xp.sin(found[-2] if t == odd else found[-3] * b)
        total = total + found[-4]
        states.append(a)
        if rng.random() < 0.05:
            outputs.append(w.choose(found))
    stacked = xp.stack(states[1:][:: w.choose([1, -1])])
    ends = [stacked, total, b]
    return w.done([*outputs, *ends], sum(map(xp.sum, ends), xp.asarray(0.0)))


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("seed", range(10))
def test_random_repetitions_have_the_same_bits(seed: int) -> None:
    written = repeated(seed)
    assert_same(of_values(written.outputs, written.numbers(seed)), EAGER)


def test_most_random_repetitions_are_rolled() -> None:
    found = 0
    for seed in range(10):
        written = repeated(seed)
        c = of_values(written.outputs, dict.fromkeys(written.leaves, np.zeros(())))
        found += any(loop.steps >= 6 for loop in loops(c.rolled(EAGER)))
    assert found >= 5


def test_a_value_that_is_in_a_stack_twice_stands_for_nothing_else() -> None:
    w = Writer(0)
    xp, a, *others = w.xp, *(w.leaf((2,)) for _ in range(6))

    def chain(h: Value, reads: list[Value]) -> Value:
        for x in reads:
            h = xp.tanh(xp.sin(h + x) * 0.5)
        return h

    first = chain(others[0], [a, others[1], a, others[2], others[3]])
    second = xp.exp(chain(xp.cos(first), [a, others[4], others[1]]))
    c = of_values([first, second], w.done([]).numbers(0))
    assert [loop.steps for loop in loops(assert_same(c, EAGER))] == [5, 3]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [0, 2, 1, 3, 4], [0, 1, 2, 2, 3, 4]])
def test_only_a_sum_of_each_step_in_order_is_carried(order: list[int]) -> None:
    w = Writer(0)
    h, rows = w.leaf((3,)), w.leaf((5, 3))
    found = []
    for t in range(5):
        h = w.xp.tanh(w.xp.sin(h + rows[t]) * 0.5)
        found.append(w.xp.exp(h))
    total = found[order[0]]
    for t in order[1:]:
        total = total + found[t]
    c = of_values([total], w.done([]).numbers(0))
    loop = loops(assert_same(c, EAGER))[0]
    assert (not loop.single) == (order == [0, 1, 2, 3, 4])
