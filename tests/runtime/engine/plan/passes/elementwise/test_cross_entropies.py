"""Cross-entropies with their gradients as one loop: classes, probabilities, rows of any length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.blocks.errors import RunError
from gradwire.blocks.registry import registry
from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.diagram import MAIN, Diagram, Page, PortName
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.elementwise.rowwise import RowwiseTask
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

SHAPES = [(64, 10), (300, 2), (3, 50, 33), (8, 5000), (2, 3, 16_384)]


def leaf(trace: Trace, *shape: int, dtype: str = "float32") -> Value:
    return trace.apply(LEAF, shape=shape, dtype=dtype)


def run(plan: Plan, outputs: list[Value], numbers: dict[Value, Any]) -> list[Any]:
    for value in plan.leaves:
        plan.leaves[value][...] = numbers[value]
    plan.run()
    return [plan.read(value) for value in outputs]


def chosen(trace: Trace, x: Value, classes: Value) -> list[Value]:
    """The cross-entropy of each row, and the gradient of their mean."""
    xp = trace.xp
    found = -xp.take_along_axis(xp.log_softmax(x, -1), xp.expand_dims(classes, -1), -1)
    return [found, sweep([(found, xp.full_like(found, 1 / found.size))], [x])[x]]


def check(outputs: list[Value], numbers: dict[Value, Any]) -> None:
    """Compare with the kernels one by one; nothing but the loop touches whole rows."""
    plan = Plan(outputs, (passes.rowwise,))
    whole = [t for _, t in plan.parts if t.values[0].size == outputs[-1].size]
    assert all(isinstance(task, RowwiseTask) for task in whole)
    expected = run(Plan(outputs, ()), outputs, numbers)
    for _ in range(2):
        for a, b in zip(run(plan, outputs, numbers), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=3e-6, atol=3e-7 * np.abs(b).max())


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_classes(shape: tuple[int, ...], dtype: str) -> None:
    trace = Trace()
    x, classes = leaf(trace, *shape), leaf(trace, *shape[:-1], dtype=dtype)
    rng = np.random.default_rng(0)
    least = 0 if dtype == "uint16" else -2  # the last class but one
    labels = rng.integers(least, min(shape[-1], 127), shape[:-1])
    numbers = {x: 3 * rng.standard_normal(shape), classes: labels}
    check(chosen(trace, x, classes), numbers)


@pytest.mark.parametrize("shape", SHAPES)
def test_probabilities(shape: tuple[int, ...]) -> None:
    trace = Trace()
    xp, x, p = trace.xp, leaf(trace, *shape), leaf(trace, *shape)
    found = -xp.sum(p * xp.log_softmax(x, -1), -1)
    grads = sweep([(found, xp.ones_like(found))], [x, p])
    rng = np.random.default_rng(0)
    numbers = {x: 3 * rng.standard_normal(shape), p: rng.random(shape)}
    check([found, grads[p], grads[x]], numbers)


def test_a_row_that_is_sure_has_the_digits_of_its_small_loss() -> None:
    trace = Trace()
    x, classes = leaf(trace, 32, 10), leaf(trace, 32, dtype="int64")
    case = np.zeros((32, 10), np.float32)
    case[:24, 4] = np.arange(24)
    outputs = chosen(trace, x, classes)
    found, _ = run(Plan(outputs, (passes.rowwise,)), outputs, {x: case, classes: 4})
    exact = np.log1p(9 * np.exp(-case[:, 4].astype(np.float64)))
    np.testing.assert_allclose(found[:, 0], exact, rtol=1e-6)


def test_what_is_no_number_stays_in_its_row() -> None:
    trace = Trace()
    x, classes = leaf(trace, 40, 12), leaf(trace, 40, dtype="int64")
    case = np.random.default_rng(0).standard_normal((40, 12)).astype(np.float32)
    case[0, 3], case[1, 3], case[2, 3], case[3] = np.nan, np.inf, -np.inf, -np.inf
    numbers = {x: case, classes: np.full(40, 3)}
    outputs = chosen(trace, x, classes)
    expected = run(Plan(outputs, ()), outputs, numbers)
    found = run(Plan(outputs, (passes.rowwise,)), outputs, numbers)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-6, atol=1e-7)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_long_rows_are_shared_by_threads(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has scratch memory of its own."""
    monkeypatch.setattr(jobs, "WAKE", 1)
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    trace = Trace()
    x, classes = leaf(trace, 9, 5000), leaf(trace, 9, dtype="int64")
    rng = np.random.default_rng(0)
    numbers = {x: rng.standard_normal(x.shape), classes: rng.integers(0, 5000, 9)}
    outputs = [*chosen(trace, x, classes), trace.xp.softmax(x * 2, -1)]
    expected = run(Plan(outputs, (passes.rowwise,)), outputs, numbers)
    threads.limit(number)
    try:
        found = run(Plan(outputs, (passes.rowwise,)), outputs, numbers)
    finally:
        threads.limit(None)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_elements_in_other_places_are_left_alone() -> None:
    """Several of each row, along another axis, or added to what is not 0."""
    trace = Trace()
    xp, x = trace.xp, leaf(trace, 64, 40)
    rng = np.random.default_rng(0)
    some, down = leaf(trace, 64, 3, dtype="int64"), leaf(trace, 1, 40, dtype="int64")
    one = leaf(trace, 64, 1, dtype="int64")
    scores = xp.log_softmax(x, -1)
    ends = [xp.take_along_axis(scores, i, axis) for i, axis in ((some, -1), (down, 0), (one, -1))]
    loss = sum((xp.sum(xp.square(end)) for end in ends[1:]), start=xp.sum(ends[0]))
    more = xp.add_along_axis(scores, one, ends[2], -1)
    outputs = [*ends, sweep([(loss, xp.ones_like(loss))], [x])[x], xp.sum(more, -1)]
    numbers = {x: rng.standard_normal(x.shape)}
    numbers |= {i: rng.integers(0, 40, i.shape) for i in (some, down, one)}
    expected = run(Plan(outputs, ()), outputs, numbers)
    found = run(Plan(outputs, (passes.rowwise,)), outputs, numbers)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-6, atol=3e-6)


def test_a_wrong_class_names_its_block() -> None:
    get = registry().get
    rng = np.random.default_rng(0)
    blocks: dict[str, Any] = {
        "x": get("Variable")(value=rng.standard_normal((40, 10)).tolist()),
        "b": get("Variable")(value=[0.0] * 10),
        "t": get("Constant")(value=[3] * 39 + [10], dtype="int64"),
        "sum": get("Add")(),
        "loss": get("CrossEntropy")(),
    }
    names = {"sum": ("x", "b"), "loss": ("sum", "t")}
    wires = {
        PortName(block, port.name): PortName(source, "out")
        for block, sources in names.items()
        for port, source in zip(blocks[block].inputs, sources, strict=True)
    }
    diagram = Diagram({MAIN: Page(blocks, wires, {})})
    with pytest.raises(RunError, match="index 10 is out of range") as caught:
        Session(diagram, fast=True).backward()
    assert caught.value.location is not None
    assert caught.value.location.block == "loss"
