"""Matrix products of machine code against numpy's, however operands lie."""

from __future__ import annotations

import ctypes
import importlib
import itertools
import mmap
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.compiler.computing import product
from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.jobs import Job
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.products import ProductTask, multiplying
from gradwire.runtime.engine.plan.plan import Plan
from tests.runtime.engine.compiler.products import in_small_parts

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.night

Array = np.ndarray[Any, Any]
MODULE = importlib.import_module("gradwire.runtime.engine.plan.passes.products")
BOUND = {"float32": 1e-6, "float64": 2e-15}
"""Of the sum of magnitudes."""


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch, vectors: str, cut: None) -> None:
    """Small matrices are cut into many parts and blocks, on any processor."""
    for name in ("LARGE", "WIDE"):
        monkeypatch.setattr(MODULE, name, 1)


@pytest.fixture
def limited() -> Iterator[Callable[[int], None]]:
    """Sets the number of threads for plans."""
    yield threads.limit
    threads.limit(None)


class Product:
    """``a @ b`` of leaves, each of which may be transposed."""

    def __init__(self, a: tuple[int, ...], b: tuple[int, ...], dtype: str = "float32",
                 turned: tuple[bool, bool] = (False, False)) -> None:  # fmt: skip
        trace = Trace()
        self.leaves = [
            trace.apply(LEAF, shape=_turn(shape) if is_turned else shape, dtype=dtype)
            for shape, is_turned in zip((a, b), turned, strict=True)
        ]
        left, right = (
            trace.xp.permute_dims(x, _turn(tuple(range(x.ndim)))) if is_turned else x
            for x, is_turned in zip(self.leaves, turned, strict=True)
        )
        self.value: Value = trace.xp.matmul(left, right)
        self.operands = left, right
        self.turned = turned

    def assert_right(self, plan: Plan, seed: int = 0) -> Array:
        rng = np.random.default_rng(seed)
        numbers = [rng.standard_normal(x.shape).astype(x.dtype) for x in self.leaves]
        for leaf, array in zip(self.leaves, numbers, strict=True):
            plan.leaves[leaf][...] = array
        plan.run()
        found = plan.read(self.value)
        a, b = (
            (x.swapaxes(-1, -2) if is_turned else x).astype(np.float64)
            for x, is_turned in zip(numbers, self.turned, strict=True)
        )
        assert found.dtype == self.value.dtype
        error = np.abs(found - a @ b)
        assert np.all(error <= BOUND[self.value.dtype] * (np.abs(a) @ np.abs(b)))
        return found


def _turn(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2])


def tasks(plan: Plan) -> set[type]:
    return {type(task) for _, task in plan.parts}


def is_code(plan: Plan) -> bool:
    """Whether the only step is machine code."""
    ((step, _),) = plan.parts
    return isinstance(step, Job)


TURNED = [(False, False), (False, True), (True, False), (True, True)]


SIZES = [(16, 16, 32), (16, 70, 150), (25, 16, 70), (27, 41, 33), (40, 97, 64), (50, 30, 10),
         (131, 200, 45)]  # fmt: skip
FEW = [(2, 70, 150), (5, 600, 41), (8, 17, 1100), (15, 64, 1024), (13, 1024, 33), (200, 5, 45),
       (17, 1, 600), (20, 15, 512), (64, 7, 16)]  # fmt: skip
"""Few rows, or few terms."""


@pytest.mark.sampled(one_in=17)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("packed", [False, True], ids=["there", "packed"])
@pytest.mark.parametrize("turned", TURNED, ids=["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("size", [*SIZES, *FEW], ids=str)
def test_products_are_those_of_numpy(
    size: tuple[int, int, int],
    turned: tuple[bool, bool],
    packed: bool,
    dtype: str,
) -> None:
    rows, terms, columns = size
    product = Product((rows, terms), (terms, columns), dtype, turned)
    with in_small_parts(PAGE=1 if packed else 1 << 12):
        plan = Plan([product.value], (passes.native_products,))
    assert is_code(plan)
    product.assert_right(plan, 1)
    product.assert_right(plan, 2)


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("at_end", [False, True], ids=["start", "end"])
@pytest.mark.parametrize("packed", [False, True], ids=["there", "packed"])
@pytest.mark.parametrize("turned", TURNED, ids=["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("count", [1, 3])
def test_nothing_beyond_an_array_is_touched(
    count: int,
    turned: tuple[bool, bool],
    packed: bool,
    at_end: bool,
    limited: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pages before and after each array may not be read: reading would end the process."""
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    limited(count)
    rng = np.random.default_rng(0)
    for rows, terms, columns in [*SIZES, *FEW]:
        shapes = [(rows, terms), (terms, columns), (rows, columns)]
        numbers = [rng.standard_normal(s).astype(np.float32) for s in shapes]
        left, right, out = (
            guarded(x.T, at_end).T if is_turned else guarded(x, at_end)
            for x, is_turned in zip(numbers, (*turned, False), strict=True)
        )
        with in_small_parts(PAGE=1 if packed else 1 << 12):
            found = product(left, right, out.shape, out.strides)
        assert found is not None
        found(out)
        np.testing.assert_allclose(out, numbers[0] @ numbers[1], rtol=1e-4, atol=1e-4)


def guarded(x: Array, at_end: bool) -> Array:
    """A copy that begins after a page that may not be touched, or ends before one: on Linux. Other
    systems protect no pages here, and their tests compare numbers alone.
    """
    if sys.platform != "linux":
        return x.copy()
    page = mmap.PAGESIZE
    inner = -(-x.nbytes // page) * page
    memory = mmap.mmap(-1, inner + 2 * page)
    whole = np.frombuffer(memory, np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for place in (whole.ctypes.data, whole.ctypes.data + page + inner):
        assert protect(ctypes.c_void_p(place), ctypes.c_size_t(page), 0) == 0
    start = page + (inner - x.nbytes if at_end else 0)
    found = whole[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


@pytest.mark.parametrize("b", [(3, 2, 50, 40), (3, 1, 50, 40), (50, 40)])
def test_stacks_of_matrices_repeat_what_is_broadcast(b: tuple[int, ...]) -> None:
    product = Product((3, 2, 20, 50), b)
    product.assert_right(Plan([product.value], (passes.native_products,)))


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("turned", TURNED, ids=["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("columns", [64, 40, 75], ids=["whole", "narrow", "cut"])
def test_a_product_does_not_disturb_the_one_before(columns: int, turned: tuple[bool, bool]) -> None:
    product = Product((5, 45, 50), (5, 50, columns), turned=turned)
    for part in (1 << 14, 1 << 10):
        with in_small_parts(PART=part):
            plan = Plan([product.value], (passes.native_products,))
        product.assert_right(plan)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("a", "b", "turned"),
    [
        ((5, 30, 60), (5, 60, 100), (False, True)),
        ((200, 600), (600, 70), (False, False)),
        ((203, 60), (60, 70), (True, False)),
        ((90, 50), (50, 180), (False, True)),
        ((17, 50), (50, 400), (True, True)),
        ((6, 90), (90, 2100), (False, False)),
        ((14, 90), (90, 210), (False, True)),
        ((60, 6), (6, 250), (False, False)),
    ],
    ids=["several", "tall", "from columns", "turned", "wide", "few", "few turned", "few terms"],
)
def test_the_number_of_threads_changes_no_bit(
    a: tuple[int, ...],
    b: tuple[int, ...],
    turned: tuple[bool, bool],
    limited: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "WAKE", 1)
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    product = Product(a, b, turned=turned)
    found = []
    for count in (1, 2, 3, 7):
        limited(count)
        plan = Plan([product.value], (passes.native_products,))
        assert is_code(plan)
        found.append(product.assert_right(plan))
    assert all(np.array_equal(x, found[0]) for x in found)


@pytest.mark.parametrize("size", [(30, 60, 100), (5, 60, 100), (60, 1, 100)], ids=str)
def test_a_result_in_new_memory_stays_as_it_was(
    size: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradwire.runtime.engine.plan.plan.WORTH_GIVING", 1)
    rows, terms, columns = size
    product = Product((rows, terms), (terms, columns))
    plan = Plan([product.value], (passes.native_products,))
    found = [product.assert_right(plan, seed) for seed in range(4)]
    copies = [x.copy() for x in found]
    product.assert_right(plan, 9)
    assert all(np.array_equal(a, b) for a, b in zip(found, copies, strict=True))
    assert not any(np.shares_memory(a, b) for a, b in itertools.pairwise(found))


def test_no_number_spreads_from_row_and_column_alone() -> None:
    """What lies beyond a cut tile is never read into a result."""
    product = Product((29, 50), (50, 37))
    plan = Plan([product.value], (passes.native_products,))
    a, b = (np.ones(x.shape, np.float32) for x in product.leaves)
    a[28, 7], b[3, 36] = np.nan, np.inf
    for leaf, array in zip(product.leaves, (a, b), strict=True):
        plan.leaves[leaf][...] = array
    plan.run()
    found = plan.read(product.value)
    assert np.isnan(found[28]).all()
    assert np.isinf(found[:28, 36]).all()
    assert (found[:28, :36] == 50).all()


def test_a_result_that_overwrites_an_operand_is_left_to_numpy() -> None:
    product = Product((96, 96), (96, 96))
    data = np.random.default_rng(0).standard_normal((96, 96)).astype(np.float32)
    given = dict.fromkeys(product.leaves[:1], data.copy())
    target = given[product.leaves[0]]
    plan = Plan([product.value], (passes.native_products,), given, [(product.value, target)])
    plan.leaves[product.leaves[1]][...] = data
    plan.run()
    np.testing.assert_allclose(target, data @ data, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sizes", [(1, 64, 64), (64, 64, 1)], ids=str)
def test_a_matrix_by_a_vector_is_left_to_numpy(sizes: tuple[int, int, int]) -> None:
    rows, terms, columns = sizes
    product = Product((rows, terms), (terms, columns))
    plan = Plan([product.value], (passes.native_products,))
    assert ProductTask not in tasks(plan)
    product.assert_right(plan)


@pytest.mark.parametrize("terms", [63, 64])
def test_small_products_are_left_to_numpy(terms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "LARGE", 64**3)
    product = Product((64, terms), (terms, 64))
    plan = Plan([product.value], (passes.native_products,))
    assert is_code(plan) == (terms == 64)
    product.assert_right(plan)


@pytest.mark.parametrize("rows", [2, 5, 20])
def test_a_large_matrix_is_read_as_it_lies(rows: int) -> None:
    product = Product((rows, 75), (75, 1100))
    with in_small_parts(LARGE=1):
        plan = Plan([product.value], (passes.native_products,))
    product.assert_right(plan)


def test_a_result_of_columns_is_that_of_rows() -> None:
    product = Product((5, 300), (300, 70))
    out = np.empty((70, 5), np.float32).T
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal(x.shape).astype(np.float32) for x in product.leaves)
    step = multiplying(left, right, out)
    assert isinstance(step, Job)
    step()
    np.testing.assert_allclose(out, left @ right, rtol=1e-4, atol=1e-4)


def test_operands_of_which_no_neighbours_lie_side_by_side() -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(40, 100), dtype="float32")
    y = trace.xp.matmul(x[:, ::2], trace.xp.permute_dims(x[:, ::2], (1, 0)))
    plan = Plan([y], (passes.native_products,))
    data = np.random.default_rng(0).standard_normal((40, 100)).astype(np.float32)
    plan.leaves[x][...] = data
    plan.run()
    step, task = plan.parts[-1]
    assert isinstance(task, ProductTask)
    assert isinstance(step, Job)
    np.testing.assert_allclose(plan.read(y), data[:, ::2] @ data[:, ::2].T, rtol=1e-4, atol=1e-4)


def test_products_are_left_to_numpy_where_sums_of_products_take_two_instructions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "fuses", lambda: False)
    product = Product((64, 70), (70, 80))
    plan = Plan([product.value], (passes.native_products,))
    assert ProductTask not in tasks(plan)
    product.assert_right(plan)
