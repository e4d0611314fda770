"""Products that are ended in registers against the same ones, ended by a pass over them."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.compiler.computing import product
from gradwire.runtime.engine.compiler.front import Ending
from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.jobs import Job
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.products.layers import LayerTask
from gradwire.runtime.engine.plan.plan import Plan
from tests.runtime.engine.plan.passes.products.test_native_products import TURNED, guarded

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.night

Array = np.ndarray[Any, Any]
PRODUCTS, FUSED = (
    importlib.import_module(f"gradwire.runtime.engine.plan.passes.{name}")
    for name in ("products.native_products", "elementwise.fused")
)
APART = passes.fused, passes.native_products
LAYERS = (*APART, passes.layers)
SIZES = [(16, 16, 32), (27, 41, 33), (40, 97, 64), (50, 30, 10), (131, 200, 45)]


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch, vectors: str, cut: None) -> None:
    """Small matrices are cut into many parts and blocks, on any processor."""
    for module, sizes in (
        (PRODUCTS, {"LARGE": 1, "WIDE": 1}),
        (FUSED, {"LARGE": 64, "SHORTEST": 5}),
    ):
        for name, size in sizes.items():
            monkeypatch.setattr(module, name, size)


class Dense:
    """A dense layer of leaves: a product, of which each operand may be transposed, and more."""

    def __init__(
        self,
        size: tuple[int, int, int],
        *,
        dtype: str = "float32",
        turned: tuple[bool, bool] = (False, False),
    ) -> None:
        rows, terms, columns = size
        self.trace = Trace()
        self.xp = self.trace.xp
        shapes = [(rows, terms), (terms, columns)]
        self.operands = []
        self.leaves: list[Value] = []
        for shape, is_turned in zip(shapes, turned, strict=True):
            x = self.leaf(*(shape[::-1] if is_turned else shape), dtype=dtype)
            self.operands.append(self.xp.permute_dims(x, (1, 0)) if is_turned else x)
        self.product = self.xp.matmul(*self.operands)
        self.row = self.leaf(columns, dtype=dtype)

    def leaf(self, *shape: int, dtype: str = "float32") -> Value:
        self.leaves.append(self.trace.apply(LEAF, shape=shape, dtype=dtype))
        return self.leaves[-1]

    def run(self, plan: Plan, *outputs: Value, seed: int = 0) -> list[Array]:
        rng = np.random.default_rng(seed)
        for leaf in self.leaves:
            numbers = rng.standard_normal(leaf.shape)
            if leaf in plan.leaves:
                plan.leaves[leaf][...] = numbers
        plan.run()
        return [plan.read(x) for x in outputs]

    def assert_same(self, *outputs: Value, layers: int) -> Plan:
        """So many layers, with the bits of what they replace, also when run again."""
        plan, apart = Plan(outputs, LAYERS), Plan(outputs, APART)
        found = {task for _, task in plan.parts if isinstance(task, LayerTask)}
        assert len(found) == layers
        for seed in (1, 1, 2):
            ours, theirs = (self.run(x, *outputs, seed=seed) for x in (plan, apart))
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(a, b)
        return plan


def is_code(plan: Plan) -> bool:
    """Whether the only step is machine code."""
    ((step, _),) = plan.parts
    return isinstance(getattr(step, "func", step), Job)


@pytest.mark.sampled(one_in=17)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ending", ["bias", "relu", "both"])
@pytest.mark.parametrize("turned", TURNED, ids=["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_layer_is_one_call_with_the_same_bits(
    size: tuple[int, int, int], turned: tuple[bool, bool], ending: str, dtype: str
) -> None:
    dense = Dense(size, dtype=dtype, turned=turned)
    value = dense.product if ending == "relu" else dense.product + dense.row
    value = value if ending == "bias" else dense.xp.relu(value)
    plan = dense.assert_same(value, layers=1)
    assert is_code(plan)
    (found,) = dense.run(plan, value, seed=3)
    arrays = [plan.leaves[x].astype(np.float64) for x in dense.leaves if x in plan.leaves]
    left, right = (x.T if is_turned else x for x, is_turned in zip(arrays[:2], turned, strict=True))
    expected = left @ right + (0 if ending == "relu" else arrays[2])
    expected = expected if ending == "bias" else np.maximum(expected, 0)
    bound = {"float32": 1e-4, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(found, expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("first", [True, False])
def test_a_bias_may_stand_first_and_a_layer_may_have_another_shape(first: bool) -> None:
    dense = Dense((40, 50, 64))
    shaped = dense.xp.reshape(dense.product, (8, 5, 64))
    row = dense.xp.reshape(dense.row, (1, 1, 64))
    value = dense.xp.relu(row + shaped if first else shaped + row)
    assert is_code(dense.assert_same(value, layers=1))


def test_several_layers_that_were_one_region() -> None:
    dense = Dense((40, 50, 64))
    others = [dense.xp.matmul(dense.operands[0], dense.leaf(50, 64)) for _ in range(2)]
    outputs = [x + dense.leaf(64) for x in (dense.product, *others)]
    plan = dense.assert_same(*outputs, layers=3)
    assert len(plan) == 3


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize(
    "case",
    [
        "numbers",
        "kept",
        "read twice",
        "matrix",
        "column",
        "number",
        "more",
        "other shape",
        "added up",
    ],
)
def test_what_does_more_than_end_a_product_is_left(case: str) -> None:
    dense = Dense((40, 50, 64))
    xp, product = dense.xp, dense.product
    outputs = {
        "numbers": lambda: [xp.relu(product[0, 0] + dense.leaf()), product],
        "kept": lambda: [xp.relu(product), product],
        "read twice": lambda: [xp.relu(product), xp.sum(product, 0)],
        "matrix": lambda: [xp.relu(product + dense.leaf(40, 64))],
        "column": lambda: [xp.relu(product + dense.leaf(40, 1))],
        "number": lambda: [xp.relu(product + dense.leaf())],
        "more": lambda: [xp.relu(product) * 2],
        "other shape": lambda: [xp.relu(xp.reshape(product, (80, 32)) + dense.leaf(32))],
        "added up": lambda: [xp.sum(xp.relu(product)), xp.relu(product)],
    }[case]()
    dense.assert_same(*outputs, layers=0)


def test_a_sum_of_two_products_is_left() -> None:
    dense = Dense((40, 50, 64))
    other = dense.xp.matmul(dense.operands[0], dense.leaf(50, 64))
    dense.assert_same(dense.xp.relu(dense.product + other), layers=0)


def test_few_rows_and_irregular_operands_are_ended_in_registers() -> None:
    few = Dense((5, 300, 64))
    plan = few.assert_same(few.xp.relu(few.product + few.row), layers=1)
    assert is_code(plan)
    dense = Dense((40, 100, 64))
    odd = dense.xp.matmul(dense.operands[0][:, ::2], dense.operands[1][::2])
    plan = dense.assert_same(dense.xp.relu(odd + dense.row), layers=1)
    assert is_code(plan)


def test_a_bias_whose_elements_lie_apart_is_added_apart() -> None:
    dense = Dense((40, 100, 64))
    every_second = dense.leaf(128)[::2]
    assert len(dense.assert_same(dense.product + every_second, layers=1)) == 2


@pytest.mark.parametrize("rows", [40, 5])
def test_a_layer_in_new_memory_stays_as_it_was(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradwire.runtime.engine.plan.plan.WORTH_GIVING", 1)
    dense = Dense((rows, 300, 64))
    value = dense.xp.relu(dense.product + dense.row)
    plan, apart = Plan([value], LAYERS), Plan([value], APART)
    found = [dense.run(plan, value, seed=seed)[0] for seed in range(4)]
    expected = [dense.run(apart, value, seed=seed)[0] for seed in range(4)]
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    assert not any(np.shares_memory(a, b) for a, b in itertools.pairwise(found))


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("size", "turned"),
    [
        ((200, 600, 70), (False, False)),
        ((17, 50, 400), (True, True)),
        ((90, 50, 180), (False, True)),
    ],
    ids=["tall", "wide", "turned"],
)
def test_the_number_of_threads_changes_no_bit(
    size: tuple[int, int, int], turned: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "WAKE", 1)
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    dense = Dense(size, turned=turned)
    value = dense.xp.relu(dense.product + dense.row)
    found = []
    try:
        for count in (1, 2, 3, 7):
            threads.limit(count)
            found += dense.run(Plan([value], LAYERS), value)
    finally:
        threads.limit(None)
    assert all(np.array_equal(x, found[0]) for x in found)


def test_a_layer_hands_nan_on() -> None:
    dense = Dense((40, 50, 64))
    value = dense.xp.relu(dense.product + dense.row)
    plan = Plan([value], LAYERS)
    for leaf in dense.leaves:
        plan.leaves[leaf][...] = 1
    plan.leaves[dense.leaves[0]][7, 3] = np.nan
    plan.leaves[dense.row][5] = -np.inf
    plan.run()
    found = plan.read(value)
    assert np.isnan(found[7]).all()
    others = np.delete(found, 7, axis=0)
    assert (others[:, 5] == 0).all()
    assert (np.delete(others, 5, axis=1) == 51).all()


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("at_end", [False, True], ids=["start", "end"])
@pytest.mark.parametrize("turned", TURNED, ids=["nn", "nt", "tn", "tt"])
def test_nothing_beyond_a_bias_is_touched(turned: tuple[bool, bool], at_end: bool) -> None:
    """Pages before and after each array may not be read: reading would end the process."""
    rng = np.random.default_rng(0)
    for rows, terms, columns in SIZES:
        shapes = [(rows, terms), (terms, columns), (columns,), (rows, columns)]
        numbers = [rng.standard_normal(s).astype(np.float32) for s in shapes]
        left, right, bias, out = (
            guarded(x.T, at_end).T if is_turned else guarded(x, at_end)
            for x, is_turned in zip(numbers, (*turned, False, False), strict=True)
        )
        layer = product(left, right, out.shape, out.strides, Ending(bias, True))
        assert layer is not None
        layer(out)
        expected = np.maximum(numbers[0] @ numbers[1] + bias, 0)
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)
