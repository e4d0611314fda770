"""Machine code in a session: asked for, switched off, missing; its sheets and its sums."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.blocks.errors import RunError
from gradwire.runtime.build import build, loss, mean, tanh, variable
from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.compiler.regions import compiled_region
from gradwire.runtime.engine.norms import norm_of, rms
from gradwire.runtime.engine.plan import jobs, native, threads
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.elementwise import fused as fused_tasks
from gradwire.runtime.engine.plan.passes.elementwise import rows, rowwise
from gradwire.runtime.engine.plan.passes.elementwise.fused import FusedTask
from gradwire.runtime.engine.plan.passes.elementwise.tiles import TiledTask
from gradwire.runtime.engine.plan.plan import Plan

if TYPE_CHECKING:
    from gradwire.runtime.engine.compiler.regions import Recipe
    from gradwire.runtime.engine.plan.native import Kernel

pytest.importorskip("llvmlite")

SIZE = 300_007


def seed_diagram() -> Any:
    x = variable("x", np.linspace(-3, 3, SIZE))
    return build(loss(mean(tanh(x * 1.5) * x)))


def tasks_of(plan: Plan) -> list[type]:
    return [type(task) for _, task in plan.parts]


def test_a_session_uses_it_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    diagram = seed_diagram()
    by_code = Session(diagram).prepare()
    by_numpy = Session(diagram, fast=False).prepare()
    assert FusedTask in tasks_of(by_code.plan)
    assert FusedTask not in tasks_of(by_numpy.plan)
    (found,), (expected,) = by_code(), by_numpy()
    assert found is not None and expected is not None
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-11)
    monkeypatch.setenv("GRADWIRE_FAST", "0")
    assert FusedTask not in tasks_of(Session(diagram).prepare().plan)
    assert FusedTask in tasks_of(Session(diagram, fast=True).prepare().plan)


def test_without_a_compiler_all_is_numpy_and_asking_for_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native, "installed", lambda: False)
    assert FusedTask not in tasks_of(Session(seed_diagram()).prepare().plan)
    with pytest.raises(RunError, match="no compiler") as caught:
        Session(seed_diagram(), fast=True)
    assert "gradwire[fast]" in str(caught.value.next_step)


def test_small_arrays_are_never_compiled() -> None:
    x = variable("x", np.linspace(-3, 3, 1000))
    assert FusedTask not in tasks_of(Session(build(loss(mean(tanh(x) * x)))).prepare().plan)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("gradwire.runtime.engine.plan.passes.elementwise.fused")
    for name, size in {"LARGE": 64, "SHORTEST": 5, "LONG": 20}.items():
        monkeypatch.setattr(module, name, size)
    monkeypatch.setattr(rows, "COLUMNS", 48)
    monkeypatch.setattr(jobs, "WAKE", 1)
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)


def run(outputs: list[Value], numbers: dict[Value, Any], *which: Any) -> list[Any]:
    plan = Plan(outputs, which)
    for leaf, array in numbers.items():
        plan.leaves[leaf][...] = array
    plan.run()
    return [plan.read(value) for value in outputs]


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("number", [1, 2, 3, 64])
@pytest.mark.parametrize("shape", [(64,), (95,), (96,), (1000,), (7, 13), (2, 3, 40), (1, 65, 1)])
def test_any_number_of_rows_on_any_number_of_threads(
    shape: tuple[int, ...], number: int, small: None
) -> None:
    trace = Trace()
    x, row = (trace.apply(LEAF, shape=s, dtype="float64") for s in (shape, shape[-1:]))
    y = (x * 3 - row) / (x * x + 1)
    total = trace.xp.sum(y)
    rng = np.random.default_rng(0)
    numbers = {x: rng.standard_normal(shape), row: rng.standard_normal(shape[-1:])}
    threads.limit(number)
    try:
        found = run([y, total], numbers, passes.fused)
    finally:
        threads.limit(None)
    expected = run([y, total], numbers)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
    threads.limit(1)
    try:
        assert run([total], numbers, passes.fused)[0] == found[1]
    finally:
        threads.limit(None)


@pytest.mark.parametrize("number", [1, 3])
def test_sheets_of_rows_need_no_tiles(
    number: int, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of images with a number for each channel, and with a mask for each image."""
    trace = Trace()
    shapes = (4, 2, 5, 30), (2, 5, 1), (4, 1, 1, 30)
    x, each, mask = leaves = [trace.apply(LEAF, shape=s, dtype="float64") for s in shapes]
    y = trace.xp.where(mask > 0, x * each, mask) - 1.5
    outputs = [y, trace.xp.sum(y)]
    rng = np.random.default_rng(0)
    numbers = {v: rng.standard_normal(v.shape) for v in leaves}
    expected = run(outputs, numbers)
    monkeypatch.delattr(TiledTask, "bind")
    threads.limit(number)
    try:
        found = run(outputs, numbers, passes.fused)
    finally:
        threads.limit(None)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


SHORT_ROWS = {
    "points and clusters": ((400, 8, 2), (400, 1, 2), (8, 2)),
    "threes": ((90, 7, 3), (90, 1, 3), (7, 1)),
    "cut": ((500, 3), (500, 1), (3,)),
    "many axes": ((5, 4, 3, 2, 2), (5, 1, 3, 1, 2), (4, 1, 2, 1)),
    "all in one row": ((3, 2, 2, 2, 3), (3, 1, 2, 1, 3), (2, 1, 2, 1)),
    "a long axis before": ((1, 300, 2), (1, 300, 1), (1, 1, 2)),
}


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("name", SHORT_ROWS)
def test_short_rows_are_written_out(
    name: str, number: int, dtype: str, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = Trace()
    x, one, other = leaves = [trace.apply(LEAF, shape=s, dtype=dtype) for s in SHORT_ROWS[name]]
    lying = trace.xp.flip(one, (len(one.shape) - 1,))
    y = trace.xp.where(other > 0, (x - lying) * other, one) * 2
    outputs = [y, trace.xp.sum(y), y > one]
    rng = np.random.default_rng(0)
    numbers = {v: rng.standard_normal(v.shape) for v in leaves}
    expected = run(outputs, numbers)
    monkeypatch.delattr(TiledTask, "bind")
    threads.limit(number)
    try:
        assert FusedTask in tasks_of(Plan(outputs, (passes.fused,)))
        found = run(outputs, numbers, passes.fused)
    finally:
        threads.limit(None)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[2], expected[2])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5 if dtype == "float32" else 1e-12)


def test_rows_that_are_too_short_or_whose_results_lie_apart_make_no_layout() -> None:
    x, out = np.zeros((30, 4, 2)), np.zeros((30, 4, 4))[..., :2]
    limits = rows.Limits(5, 20, 1000, 64)
    assert rows.layout_of([x, x], 1, limits) is not None
    assert rows.layout_of([x, out], 1, limits) is None


@pytest.mark.parametrize(
    ("name", "is_slow"),
    [("softplus", True), ("erf", True), ("relu", True), ("sqrt", True), ("square", False)],
)
def test_one_operation_is_compiled_where_numpy_is_slow(name: str, is_slow: bool) -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(5000,), dtype="float32")
    plan = Plan([getattr(trace.xp, name)(x)], (passes.fused,))
    assert (FusedTask in tasks_of(plan)) == is_slow


@pytest.mark.parametrize(
    ("shape", "is_slow"), [((100,), True), ((1, 1, 100), True), ((50, 1), False), ((), False)],
    ids=str,
)  # fmt: skip
def test_one_operation_with_a_row_for_all_is_compiled(
    shape: tuple[int, ...], is_slow: bool
) -> None:
    trace = Trace()
    x, row = (trace.apply(LEAF, shape=s, dtype="float32") for s in ((2, 50, 100), shape))
    y = x + row
    plan = Plan([y], (passes.fused,))
    assert (FusedTask in tasks_of(plan)) == is_slow
    numbers = {v: np.random.default_rng(0).standard_normal(v.shape) for v in (x, row)}
    np.testing.assert_array_equal(run([y], numbers, passes.fused)[0], run([y], numbers)[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(4096,), (40, 100), (3, 30, 60)], ids=str)
def test_what_is_read_may_lie_backwards_or_apart(
    shape: tuple[int, ...], dtype: str, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = Trace()
    xp = trace.xp
    x = trace.apply(LEAF, shape=shape, dtype=dtype)
    wide = trace.apply(LEAF, shape=(*shape[:-1], 9 * shape[-1]), dtype=dtype)
    y = x + xp.flip(x, -1) * xp.flip(x, 0)
    for step in (2, 3, 4, 9):
        part = wide[..., : step * shape[-1] : step]
        y = y * xp.where(part > 0, part, xp.flip(part, -1))
    outputs = [y, xp.sum(y)]
    rng = np.random.default_rng(0)
    numbers = {v: rng.standard_normal(v.shape) for v in (x, wide)}
    expected = run(outputs, numbers)
    monkeypatch.delattr(TiledTask, "bind")
    found = run(outputs, numbers, passes.fused)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-4)


def test_arrays_that_lie_in_no_rows_are_copied(small: None) -> None:
    """Of many small sheets, or transposed."""
    trace = Trace()
    x = trace.apply(LEAF, shape=(40, 2, 10), dtype="float32")
    sheets = trace.apply(LEAF, shape=(40, 1, 10), dtype="float32")
    turned = trace.xp.permute_dims(trace.apply(LEAF, shape=(10, 2, 40), dtype="float32"), (2, 1, 0))
    for other in (sheets, turned):
        outputs = [(x + other) * x - other]
        leaves = [v for v in trace.values if v.primitive is LEAF]
        numbers = {v: np.random.default_rng(1).standard_normal(v.shape) for v in leaves}
        needed = {v: a for v, a in numbers.items() if v in Plan(outputs).leaves}
        np.testing.assert_array_equal(run(outputs, needed, passes.fused), run(outputs, needed))


@pytest.mark.parametrize("is_view", [False, True], ids=["itself", "view"])
def test_a_region_takes_over_the_memory_of_what_it_reads_last(is_view: bool) -> None:
    trace = Trace()
    rows, columns = 300, 200
    x = trace.apply(LEAF, shape=(rows, 4), dtype="float32")
    w = trace.apply(LEAF, shape=(4, columns), dtype="float32")
    h = trace.xp.matmul(x, w)
    read = trace.xp.reshape(h, (3, rows // 3, columns)) if is_view else h
    y = trace.xp.exp(read) * read + 1
    end = trace.xp.matmul(y, trace.xp.permute_dims(w, (1, 0)))
    numbers = {v: np.random.default_rng(1).standard_normal(v.shape) for v in (x, w)}
    size = 4 * rows * columns
    assert Plan([end], (passes.fused,)).bytes < 1.1 * size
    assert Plan([end, h], (passes.fused,)).bytes > 1.9 * size
    for outputs in ([end], [end, h]):
        found, expected = run(outputs, numbers, passes.fused), run(outputs, numbers)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("lead", [1, 40], ids=["rows", "copies"])
def test_what_is_overwritten_is_read_before(
    lead: int, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one operation after another goes over tiles: the second one reads it again."""
    monkeypatch.setattr("gradwire.runtime.engine.plan.memory._SMALL", 0)
    trace = Trace()
    leaf = trace.apply(LEAF, shape=(40, 2, 24), dtype="float32")
    other = trace.apply(LEAF, shape=(lead, 1, 24), dtype="float32")
    x = trace.xp.matmul(leaf, trace.xp.permute_dims(leaf, (0, 2, 1)))
    x = trace.xp.matmul(x, leaf)
    first = x + other
    second = first * x - other
    outputs = [trace.xp.matmul(leaf, trace.xp.permute_dims(y, (0, 2, 1))) for y in (first, second)]
    numbers = {v: np.random.default_rng(1).standard_normal(v.shape) for v in (leaf, other)}
    plan = Plan(outputs, (passes.fused,))
    assert FusedTask in tasks_of(plan)
    np.testing.assert_array_equal(run(outputs, numbers, passes.fused), run(outputs, numbers))


@pytest.mark.parametrize("task_pass", [passes.tiles, passes.fused])
def test_norms_of_what_stays_inside_cost_no_memory(task_pass: Any) -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(SIZE,), dtype="float32")
    y = x
    inside = []
    for _ in range(4):
        y = y * 1.25 + 0.5
        inside.append(y)
    outputs = [y, *map(norm_of, inside)]
    plan = Plan(outputs, (task_pass,))
    assert plan.bytes < 2 * 4 * SIZE
    data = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
    for scale in (1e-30, 1.0, 1e30):
        plan.leaves[x][...] = scale * data
        plan.run()
        for value, norm in zip(inside, outputs[1:], strict=True):
            (array,) = run([value], {x: scale * data})
            np.testing.assert_allclose(plan.read(norm), rms(array), rtol=1e-5)


def test_a_long_chain_is_compiled_in_equal_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    recipes = []

    def noted(recipe: Recipe) -> Kernel:
        recipes.append(recipe)
        return compiled_region(recipe)

    monkeypatch.setattr(rowwise, "compiled_region", noted)
    monkeypatch.setattr(fused_tasks, "MOST", 12)
    x = end = variable("x", np.linspace(-1, 1, 5_000))
    for _ in range(60):
        end = end * x + 0.125
    diagram = build(loss(mean(end)))
    (found,) = Session(diagram).prepare()()
    (expected,) = Session(diagram, fast=False).prepare()()
    assert found is not None and expected is not None
    np.testing.assert_array_equal(found, expected)
    assert len(recipes) > 10 and max(len(recipe.operations) for recipe in recipes) == 12
    assert len(set(recipes)) < len(recipes) / 2
