"""Scans against the same steps one after the other: values, and gradients of two orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.calculus.scan import Body, Carried, result
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine

Step = Callable[[Any, Sequence[Value], Sequence[Value], Sequence[Value]], tuple[Any, Any]]
SHAPE = (2, 3)


class Case(NamedTuple):
    """A step with so many carried values, rows, fixed values and stacked results."""

    step: Step
    carried: int
    rows: int
    fixed: int


def _leaf(trace: Trace, shape: tuple[int, ...]) -> Value:
    return trace.apply(LEAF, shape=shape, dtype="float64")


def _leaves(trace: Trace, case: Case, steps: int) -> tuple[list[Value], list[Value], list[Value]]:
    return (
        [_leaf(trace, SHAPE) for _ in range(case.carried)],
        [_leaf(trace, (steps, *SHAPE)) for _ in range(case.rows)],
        [_leaf(trace, SHAPE) for _ in range(case.fixed)],
    )


def rolled(case: Case, steps: int, reverse: bool, parts: Any) -> list[Value]:
    """The results of a scan: what is carried out, stacks, and sums of the first stacked value."""
    carried, rows, fixed = parts
    inner = Trace()
    leaves = _leaves(inner, case, steps)
    leaves = leaves[0], [_leaf(inner, SHAPE) for _ in rows], leaves[2]
    after, stacked = case.step(inner.xp, *leaves)
    pairs = [Carried(b, a) for b, a in zip(leaves[0], after, strict=True)]
    body = Body(inner, steps, reverse, pairs, leaves[1], leaves[2])
    inputs = [*carried, *rows, *fixed]
    found = [result(body, inputs, "last", a) for a in after]
    found += [result(body, inputs, "stack", v) for v in stacked]
    return [*found, *(result(body, inputs, "sum", v) for v in stacked[:1])]


def unrolled(case: Case, steps: int, reverse: bool, parts: Any) -> list[Value]:
    """The same results, of steps one after the other."""
    carried, rows, fixed = parts
    xp = (carried + rows + fixed)[0].trace.xp
    stacks: dict[int, Any] = {}
    for step in range(steps)[:: -1 if reverse else 1]:
        carried, stacks[step] = case.step(xp, carried, [x[step] for x in rows], fixed)
    columns = [[stacks[step][i] for step in range(steps)] for i in range(len(stacks[0]))]
    found = [*carried, *(xp.stack(column) for column in columns)]
    total = [sum(column[1:], start=column[0]) for column in columns[:1]]
    return [*found, *total]


def _lstm(xp: Any, carried: Any, rows: Any, fixed: Any) -> Any:
    h, c = carried
    new = xp.sigmoid(rows[0] + h * fixed[0]) * c + xp.tanh(h * rows[1])
    out = xp.tanh(new) * fixed[1]
    return [out, new], [out, new * h]


def _sums(xp: Any, carried: Any, rows: Any, fixed: Any) -> Any:
    (h,) = carried
    square = xp.matmul(h, xp.permute_dims(fixed[0], (1, 0)))
    return [xp.matmul(xp.tanh(square), rows[0])], [h]


def _swapped(xp: Any, carried: Any, rows: Any, fixed: Any) -> Any:
    a, b, c = carried
    return [b * fixed[0], xp.exp(-c * c), a + c], [xp.stop_gradient(a) * b]


def _carried_twice(xp: Any, carried: Any, rows: Any, fixed: Any) -> Any:
    a, b = carried
    new = xp.sin(a) * b + rows[0]
    return [new, new], [new * a]


def _nothing_carried(xp: Any, carried: Any, rows: Any, fixed: Any) -> Any:
    return [], [rows[0] * fixed[0], xp.square(rows[1])]


CASES = {
    "lstm": Case(_lstm, 2, 2, 2),
    "sums": Case(_sums, 1, 1, 1),
    "swapped": Case(_swapped, 3, 0, 1),
    "carried twice": Case(_carried_twice, 2, 1, 0),
    "nothing carried": Case(_nothing_carried, 0, 2, 1),
}


def drawn_case(seed: int) -> Case:
    """A random step: some operations on what it gets, of which some are carried, some stacked."""
    draw = Random(seed)
    counts = draw.randint(0, 3), draw.randint(0, 2), draw.randint(1, 2)
    operations = [(draw.randrange(8), draw.random(), draw.random()) for _ in range(7)]
    chosen = [draw.random() for _ in range(counts[0] + 2)]

    def step(xp: Any, carried: Any, rows: Any, fixed: Any) -> Any:
        pool = [*carried, *rows, *fixed]
        for number, one, other in operations:
            a, b = (pool[int(place * len(pool))] for place in (one, other))
            pool.append(OPERATIONS[number](xp, a, b))
        picked = [pool[int(place * len(pool))] for place in chosen]
        return picked[: counts[0]], picked[counts[0] :]

    return Case(step, *counts)


OPERATIONS: tuple[Callable[..., Any], ...] = (
    lambda xp, a, b: a + b,
    lambda xp, a, b: xp.sin(a) * b,
    lambda xp, a, b: xp.tanh(a),
    lambda xp, a, b: xp.stop_gradient(a) - b,
    lambda xp, a, b: xp.matmul(xp.tanh(a), xp.matmul(xp.permute_dims(b, (1, 0)), xp.sin(a))),
    lambda xp, a, b: xp.sum(a, 1, keepdims=True) * xp.cos(b),
    lambda xp, a, b: xp.where(a > b, a, xp.sin(b)),
    lambda xp, a, b: xp.astype(a > b, "float64") + a,
)


def _numbers(leaves: Sequence[Value], outputs: Sequence[Value]) -> list[Any]:
    plan = NumpyEngine(()).plan(outputs)
    rng = np.random.default_rng(1)
    for leaf in leaves:
        array = rng.standard_normal(leaf.shape)
        if leaf in plan.leaves:
            plan.writer(leaf)(array)
    plan.run()
    return [plan.read(value) for value in outputs]


def _derivatives(make: Any, case: Case, steps: int, reverse: bool, chosen: Sequence[int]) -> Any:
    trace = Trace()
    parts = _leaves(trace, case, steps)
    leaves = [*parts[0], *parts[1], *parts[2]]
    outputs = make(case, steps, reverse, parts)
    xp = trace.xp
    loss = sum((xp.sum(xp.sin(outputs[i])) for i in chosen), start=xp.asarray(0.0))
    first = sweep([(loss, trace.xp.ones_like(loss))], leaves)
    names = [i for i, leaf in enumerate(leaves) if leaf in first]
    wanted = [first[leaves[i]] for i in names]
    second: list[Value] = []
    connected: list[int] = []
    if wanted:
        total = sum((trace.xp.sum(g * g) for g in wanted), start=trace.xp.asarray(0.0))
        again = sweep([(total, trace.xp.ones_like(total))], leaves)
        connected = [i for i, leaf in enumerate(leaves) if leaf in again]
        second = [again[leaves[i]] for i in connected]
    found = iter(_numbers(leaves, [*outputs, *wanted, *second]))
    values = [next(found) for _ in outputs]
    firsts = {i: next(found) for i in names}
    return values, firsts, {i: next(found) for i in connected}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_has_the_numbers_and_gradients_of_its_steps(
    name: str, steps: int, reverse: bool
) -> None:
    case = CASES[name]
    count = len(unrolled(case, steps, reverse, _leaves(Trace(), case, steps)))
    for chosen in (*([i] for i in range(count)), list(range(count))):
        require_same(case, steps, reverse, chosen)


@given(seed=st.integers(0, 9999), steps=st.integers(1, 6), reverse=st.booleans())
def test_a_scan_of_any_body_has_the_numbers_and_gradients_of_its_steps(
    seed: int, steps: int, reverse: bool
) -> None:
    case = drawn_case(seed)
    count = len(unrolled(case, steps, reverse, _leaves(Trace(), case, steps)))
    require_same(case, steps, reverse, Random(seed).sample(range(count), 2))


def require_same(case: Case, steps: int, reverse: bool, chosen: Sequence[int]) -> None:
    """A loss of some results has the same values and gradients by a scan and by its steps."""
    got = _derivatives(rolled, case, steps, reverse, chosen)
    expected = _derivatives(unrolled, case, steps, reverse, chosen)
    for one, other in zip(got[0], expected[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
    assert got[1].keys() == expected[1].keys()
    # What is 0 after the last step counts as connected; of few steps nothing may come of it.
    assert got[2].keys() >= expected[2].keys()
    for order in (1, 2):
        for i, found in got[order].items():
            same = expected[order].get(i, 0.0)
            scale = max(1.0, float(np.abs(same).max(initial=0.0)))
            np.testing.assert_allclose(found, same, rtol=1e-7, atol=1e-9 * scale)
