"""Every pass against the kernels one by one: alone, all together, and none."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np
import pytest

from gradwire.blocks.errors import RunError
from gradwire.blocks.registry import registry
from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.calculus.primitives.reduce import CUMULATIVE_SUM
from gradwire.runtime.diagram import MAIN, Diagram, Page, PortName
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.chains import SumTask
from gradwire.runtime.engine.plan.passes.elementwise.fused import FusedTask
from gradwire.runtime.engine.plan.passes.elementwise.groups import GroupTask
from gradwire.runtime.engine.plan.passes.elementwise.rowwise import RowwiseTask
from gradwire.runtime.engine.plan.passes.scalars import ScalarTask
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.engine.plan.tasks import PlainTask, Task
from tests.golden.cases import DATA
from tests.golden.runner import cases, check
from tests.runtime.calculus.tracing import compute
from tests.runtime.engine.programs import FAMILIES, Array, Written, exact
from tests.together import together

EXACT = (
    "convolutions", "sums", "sums_of_others", "groups", "groups_of_few", "parts",
    "margins", "margins_shared",
)  # fmt: skip
CHOICES: dict[str, tuple[passes.Pass, ...]] = {
    "none": (),
    **{task_pass.__name__: (task_pass,) for task_pass in (*passes.DEFAULT, *passes.FAST)},
    "all": passes.FAST,
    "all of numpy": passes.DEFAULT,
}
CODE = (
    "fused", "rowwise", "columnwise", "components", "native_convolutions",
    "native_products", "small_products", "poolings", "short", "compiled", "solutions",
)  # fmt: skip
EAGER = {
    "lookups": {"LARGE": 0},
    "native_convolutions": {"LARGE": 1, "SHORTEST": 1},
    "products": {"LARGE": 1, "WIDE": 1, "FEWEST": 1, "DIFFERENT": 100, "FEWEST_TERMS": 2},
    "poolings": {"LARGE": 1, "SHORTEST": 2},
    "rowwise": {"LARGE": 8, "SHORTEST": 2, "BLOCK": (2, 16), "FEWEST": 2},
    "components": {"LARGE": 8, "SHORTEST": 2, "MOST": 8, "MANY": 2, "TURNED": 8},
    "compiled": {"LARGE": 1},
    "fused": {
        "LARGE": 64,
        "SMALLEST": 2,
        "SHORTEST": 5,
        "LONG": 12,
        "FEWEST": 2,
        "FEW": 6,
        "OFTEN": 1,
    },
    "tiles": {"TILE": 32, "LARGE": 64, "SMALLEST": 2},
    "groups": {"FEWEST": 3, "FEWEST_SCALARS": 5, "FEWEST_UNCOMPILED": 5},
    "chains": {"SHORTEST": 3, "FEWEST_SCALARS": 5, "LEAST": 100},
    "scalars": {"SMALLEST": 2, "WARM": 0},
}
"""Least sizes at which small arrays go through every pass."""
MODULES = {
    each.__module__.rpartition(".")[2]: importlib.import_module(each.__module__)
    for each in (*passes.DEFAULT, *passes.FAST)
}
"""The module of every pass, which has the least sizes of it."""
SEEDS = range(8)

compiler = pytest.mark.skipif(not native.installed(), reason="llvmlite is not installed")


def test_every_lowering_is_tried_alone():
    assert len(CHOICES) == len({*passes.DEFAULT, *passes.FAST}) + 3
    assert set(EXACT) <= set(CHOICES)


@pytest.fixture
def eager(monkeypatch):
    """Everything is large and many enough: small arrays go through every pass."""
    for name, values in EAGER.items():
        for constant, value in values.items():
            monkeypatch.setattr(MODULES[name], constant, value)
    monkeypatch.setattr("gradwire.runtime.engine.plan.passes.elementwise.rows.COLUMNS", 48)
    monkeypatch.setattr("gradwire.runtime.engine.plan.memory._SMALL", 0)
    monkeypatch.setattr("gradwire.runtime.engine.plan.tasks.JOINED", 2)
    monkeypatch.setattr("gradwire.runtime.engine.plan.plan.WORTH_GIVING", 1)


def leaf(trace: Trace, *shape: int, dtype: str = "float32") -> Value:
    return trace.apply(LEAF, shape=shape, dtype=dtype)


def results(plan: Plan, outputs: list[Value], numbers: dict[Value, Any]) -> list[Array]:
    for value, array in numbers.items():
        if value in plan.leaves:
            plan.leaves[value][...] = array
    plan.run()
    return [plan.read(value) for value in outputs]


def plain(outputs: list[Value], numbers: dict[Value, Any]) -> list[Array]:
    """Kernel by kernel, with none of the engine."""
    arrays = {x: np.asarray(array, x.dtype) for x, array in numbers.items()}
    return [np.array(compute(value, arrays)) for value in outputs]


@cache
def sample(family: str, seed: int) -> tuple[Written, list[tuple[dict[Value, Array], list[Array]]]]:
    """A trace, and numbers for it with what the kernels make of them."""
    written = FAMILIES[family](seed)
    numbers = [written.numbers(i) for i in (1, 2)]
    return written, [(some, plain(written.outputs, some)) for some in numbers]


def identical(found: list[Array], expected: list[Array]) -> bool:
    return all(
        a.dtype == b.dtype
        and a.shape == b.shape
        and np.array_equal(a, b, equal_nan=a.dtype != bool)
        for a, b in zip(found, expected, strict=True)
    )


def assert_close(
    found: list[Array], expected: list[Array], dtype: str, of_largest: bool = False
) -> None:
    """Within the bounds that the passes state, for chains of some ten operations; of the
    largest element where sums of functions that differ in their last digits may cancel.
    """
    bound = {"float16": 4e-3, "float32": 4e-6, "float64": 1e-13}[dtype]
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        finite = np.abs(b[np.isfinite(b)]) if of_largest else ()
        np.testing.assert_allclose(a, b, rtol=bound, atol=bound * np.max(finite, initial=1))


def coarsest(written: Written) -> str:
    floats = [x.dtype for x in written.trace.values if x.dtype.startswith("float")]
    return min(floats, key=lambda dtype: int(dtype[5:]), default="float64")


@pytest.mark.parametrize("seeds", [SEEDS[:1], pytest.param(SEEDS[1:], marks=pytest.mark.night)])
@pytest.mark.parametrize("family", FAMILIES)
@together("choice", CHOICES)
def test_results_are_those_of_the_kernels(
    family: str, choice: str, seeds: range, eager: None
) -> None:
    """Also when run again with the same and with other numbers: no buffer is used too soon."""
    for seed in seeds:
        written, samples = sample(family, seed)
        plan = Plan(written.outputs, CHOICES[choice])
        for numbers, expected in (*samples, samples[0]):
            for given in (numbers, {}):
                found = results(plan, written.outputs, given)
                if choice == "none" or choice in EXACT:
                    assert identical(found, expected), (seed, given == {})
                else:
                    code = choice in (*CODE, "all")
                    assert_close(found, expected, coarsest(written), of_largest=code)


@pytest.mark.sampled(one_in=3)
@compiler
@pytest.mark.parametrize("seed", SEEDS)
def test_machine_code_keeps_every_bit_of_arithmetic(seed: int, eager: None) -> None:
    """All that numpy and IEEE 754 define exactly, on rows, columns, scalars, views and booleans."""
    written = exact(seed)
    plan = Plan(written.outputs, (passes.fused,))
    assert any(isinstance(task, FusedTask) for _, task in plan.parts)
    for numbers in (written.numbers(1), written.numbers(2, spread=30)):
        assert identical(
            [x + 0 if x.dtype != bool else x for x in results(plan, written.outputs, numbers)],
            [x + 0 if x.dtype != bool else x for x in plain(written.outputs, numbers)],
        )


@pytest.mark.night
@pytest.mark.parametrize("family", ["chains", "large", "mixed"])
def test_tiles_keep_every_bit_that_is_no_total(family: str, eager: None) -> None:
    for seed in SEEDS:
        written = FAMILIES[family](seed)
        kept = [x for x in written.outputs if not _behind_a_total(x)]
        numbers = written.numbers(seed)
        plan = Plan(kept, (passes.tiles,))
        assert identical(results(plan, kept, numbers), plain(kept, numbers))


def _behind_a_total(value: Value) -> bool:
    seen, pending = {value}, [value]
    while pending:
        x = pending.pop()
        if x.primitive.name == "sum" and len(x.attributes["axes"]) == x.ndim:
            return True
        fresh = set(x.inputs) - seen
        seen |= fresh
        pending += fresh
    return False


@pytest.mark.night
def test_the_families_reach_their_lowerings(eager: None) -> None:
    """The tests above test something: each family's plan is shorter with its pass."""
    reached = {
        "scalars": passes.scalars,
        "chains": passes.groups,
        "long_sums": passes.sums,
        "large": passes.tiles,
    }
    if native.installed():
        reached["large "] = passes.fused
    for family, task_pass in reached.items():
        for seed in SEEDS:
            outputs = FAMILIES[family.strip()](seed).outputs
            if family.strip() == "large":
                assert len(Plan(outputs, (task_pass,))) < len(Plan(outputs, ()))
            else:
                assert len(Plan(outputs, (task_pass,))) < 0.9 * len(Plan(outputs, ()))


@compiler
@pytest.mark.parametrize("shape", [(600, 129), (30, 5, 1000), (70000,), (2000, 33)])
def test_softmaxes_of_machine_code(shape: tuple[int, ...]) -> None:
    """Within their bound, with what is no number where it belongs, of rows in any order; powers
    below e⁻⁸⁷ may be 0.
    """
    trace = Trace()
    x = leaf(trace, *shape[::-1])
    y = trace.xp.softmax(trace.xp.permute_dims(x, tuple(range(len(shape)))[::-1]), -1)
    plan = Plan([y], (passes.rowwise,))
    monstrous = 10 * np.random.default_rng(0).standard_normal(shape)
    (task,) = passes.rowwise([PlainTask(y, list(y.inputs))], ())
    assert isinstance(task, RowwiseTask)
    cases = [monstrous, monstrous + 1e4, -np.abs(monstrous) * 1e30]
    for n, odd in enumerate((np.nan, np.inf, -np.inf)):
        cases.append(monstrous.copy())
        cases[-1][..., n] = odd
    for case in cases:
        case = case.astype(np.float32)
        (found,) = results(plan, [y], {x: case.T})
        with np.errstate(all="ignore"):
            powers = np.exp((case - case.max(-1, keepdims=True)).astype(np.float64))
            expected = powers / powers.sum(-1, keepdims=True)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=np.exp(-87))


@compiler
@pytest.mark.parametrize("shape", [(600, 129), (3, 5, 20_000), (256, 300)])
def test_logarithms_of_softmaxes_of_machine_code(shape: tuple[int, ...]) -> None:
    """Within three units in the last place of the difference from the largest, in rows in order and
    transposed.
    """
    for turned in (False, True):
        trace = Trace()
        x = leaf(trace, *shape[:-2], *shape[:-3:-1]) if turned else leaf(trace, *shape)
        axes = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
        y = trace.xp.log_softmax(trace.xp.permute_dims(x, axes) if turned else x, -1)
        plan = Plan([y], (passes.rowwise,))
        (task,) = passes.rowwise([PlainTask(y, list(y.inputs))], ())
        assert isinstance(task, RowwiseTask)
        case = (30 * np.random.default_rng(0).standard_normal(shape)).astype(np.float32)
        case[..., 0, 3], case[..., 1, 4], case[..., 2, :] = np.nan, -np.inf, -np.inf
        case[..., 3, 5] = np.inf
        given = case.swapaxes(-1, -2) if turned else case
        (found,) = results(plan, [y], {x: given})
        with np.errstate(all="ignore"):
            away = (case - case.max(-1, keepdims=True)).astype(np.float64)
            expected = away - np.log(np.exp(away).sum(-1, keepdims=True))
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        np.testing.assert_allclose(found, expected, rtol=3e-7, atol=1e-15)


@pytest.mark.parametrize("task_pass", [passes.tiles, passes.fused])
def test_transposed_operands_of_regions_are_copied_first(task_pass: passes.Pass) -> None:
    trace = Trace()
    xp, x, y = trace.xp, leaf(trace, 3, 256, 160), leaf(trace, 3, 160, 256)
    outputs = [xp.square(xp.permute_dims(x, (0, 2, 1)) + y) * 0.5 - y]
    plan = Plan(outputs, (task_pass,))
    numbers = {v: np.random.default_rng(v.ndim).standard_normal(v.shape) for v in (x, y)}
    for _ in range(2):
        assert identical(results(plan, outputs, numbers), plain(outputs, numbers))


# ---- order of addition ------------------------------------------------------------------------


def columns(trace: Trace, matrix: Value) -> list[Value]:
    return [matrix[:, i] for i in range(matrix.shape[1])]


def total_of(terms: list[Value]) -> Value:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


@pytest.mark.night
def test_long_sums_of_columns_add_in_order():
    trace = Trace()
    matrix = leaf(trace, 30, 1000)
    numbers = {matrix: np.random.default_rng(0).standard_normal((30, 1000))}
    for terms in (columns(trace, matrix), columns(trace, matrix)[::-1]):
        outputs = [total_of(terms)]
        plan = Plan(outputs, (passes.sums,))
        assert len(plan) < 5
        assert identical(results(plan, outputs, numbers), plain(outputs, numbers))


def rows(matrix: Value) -> list[Value]:
    return [matrix[i] for i in range(matrix.shape[0])]


def test_before_machine_code_only_what_it_adds_more_slowly_is_summed():
    """That is: many small terms that are there already, but for rows that are very many."""
    trace = Trace()
    x, sums = leaf(trace, 64), (passes.sums,)
    made = [x * float(i) for i in range(2, 32)]
    cases = (
        (made, False),
        ([trace.apply(CUMULATIVE_SUM, each, axis=0) for each in made], False),
        (columns(trace, leaf(trace, 64, 30)), True),
        (columns(trace, leaf(trace, 64, 100)), True),
        (columns(trace, leaf(trace, 64, 12)), False),
        (columns(trace, leaf(trace, 2000, 30)), False),
        (rows(leaf(trace, 30, 64)), True),
        (rows(leaf(trace, 64, 64)), True),
        (rows(leaf(trace, 100, 64)), False),
    )
    for terms, replaced in cases:
        output = total_of(terms)
        plan = Plan([output], (passes.sums_of_others,))
        assert any(isinstance(task, SumTask) for _, task in plan.parts) == replaced, terms[0]
        assert any(isinstance(task, SumTask) for _, task in Plan([output], sums).parts)


def test_grouped_sums_of_columns_add_in_order():
    trace = Trace()
    matrix = leaf(trace, 300, 200)
    outputs = [trace.xp.stack([trace.xp.sum(column) for column in columns(trace, matrix)])]
    numbers = {matrix: np.random.default_rng(0).standard_normal((300, 200))}
    plan = Plan(outputs, (passes.groups,))
    assert identical(results(plan, outputs, numbers), plain(outputs, numbers))


def test_grouped_sums_over_narrow_rows_add_in_order():
    """Alone they are too small to be added half to half; stacked they would not be."""
    trace = Trace()
    leaves = [leaf(trace, 200, 4) for _ in range(16)]
    outputs = [trace.xp.stack([trace.xp.sum(x, 0) for x in leaves])]
    rng = np.random.default_rng(0)
    numbers = {x: rng.standard_normal(x.shape) for x in leaves}
    plan = Plan(outputs, (passes.groups,))
    assert any(isinstance(task, GroupTask) for _, task in plan.parts)
    assert identical(results(plan, outputs, numbers), plain(outputs, numbers))


def test_sums_of_small_integers_wrap_as_additions_do():
    trace = Trace()
    terms = [leaf(trace, dtype="int8") for _ in range(300)]
    outputs = [total_of(terms)]
    numbers = {x: np.int8(100) for x in terms}
    assert results(Plan(outputs, (passes.sums,)), outputs, numbers) == [np.int8(48)]


# ---- scalars ----------------------------------------------------------------------------------

SPECIAL = (0.0, -0.0, 1.0, -1.5, 0.5, 2.5, 1e-42, -1e-310, 3e38, 1e300, np.inf, -np.inf, np.nan)
UNARY = (
    "negative", "abs", "square", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan",
    "tanh", "sigmoid", "softplus", "relu", "erf", "sign", "floor", "ceil", "round",
)  # fmt: skip
BINARY = ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power",
          "maximum", "minimum", "arctan2", "equal", "not_equal", "less", "less_equal", "greater",
          "greater_equal")  # fmt: skip


@pytest.mark.night
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_special_numbers_are_those_of_ieee(dtype: str, eager: None) -> None:
    trace = Trace()
    xp, a, b = trace.xp, leaf(trace, dtype=dtype), leaf(trace, dtype=dtype)
    outputs = [getattr(xp, name)(a) for name in UNARY]
    outputs += [getattr(xp, name)(a, b) for name in BINARY]
    signed = [i for i, x in enumerate(outputs) if x.primitive.name not in ("maximum", "minimum")]
    plan = Plan(outputs, (passes.scalars,))
    assert len(plan) == 1
    with np.errstate(all="ignore"):
        some = [np.dtype(dtype).type(x) for x in SPECIAL]
    for x in some:
        for y in some:
            numbers = {a: x, b: y}
            found, expected = results(plan, outputs, numbers), plain(outputs, numbers)
            np.testing.assert_allclose(found, expected, rtol={"float32": 2e-6}.get(dtype, 1e-14))
            for i in signed:  # which zero is the larger is not told by IEEE 754
                if expected[i] == 0:
                    assert np.signbit(found[i]) == np.signbit(expected[i]), (outputs[i], x, y)


def test_one_special_number_does_not_spoil_the_next_run(eager: None) -> None:
    trace = Trace()
    xp, x = trace.xp, leaf(trace)
    y = xp.log(xp.square(x)) + 1
    plan = Plan([y], (passes.scalars,))
    assert [float(results(plan, [y], {x: n})[0]) for n in (1, 0, 1, 0)] == [1, -np.inf, 1, -np.inf]


def test_what_is_shown_as_equal_compares_as_equal(eager: None) -> None:
    """0.1 + 0.2 = 0.3 in float32, not in the float64 that a region rounds from."""
    trace = Trace()
    xp, a, b, c = trace.xp, *(leaf(trace) for _ in range(3))
    top = xp.maximum(a + b, c)
    gradients = sweep([(top, xp.ones_like(top))], [a, c])
    ratio = xp.divide(a, b) * b
    wide = xp.astype(a + b, "float64")
    outputs = [
        a + b, xp.equal(a + b, c), xp.equal(c, a + b), xp.less(a + b, c), xp.greater(c, a + b),
        xp.greater_equal(a + b, c), gradients[a], gradients[c], xp.floor(ratio * 10),
        xp.equal(wide, xp.astype(c, "float64")), xp.astype(ratio - a, "bool"),
    ]  # fmt: skip
    plan = Plan(outputs, (passes.scalars,))
    assert len(plan) == 1
    for x, y in [(0.1, 0.2), (0.7, 0.1), (0.3, 0.6), (1.1, 2.2)]:
        x, y = np.float32(x), np.float32(y)
        for z in (x + y, np.nextafter(x + y, np.float32(9)), np.nextafter(x + y, np.float32(-9))):
            numbers = {a: x, b: y, c: z}
            assert identical(results(plan, outputs, numbers), plain(outputs, numbers)), numbers


def test_names_in_a_region_are_its_own():
    """What runs is made of numbered names: nothing in a diagram can become code."""
    trace = Trace()
    trace.owner = '"+__import__("os").system("false")+"'
    x = leaf(trace)
    y = trace.xp.tanh(trace.xp.sin(trace.xp.exp(x)) + 1)
    assert np.isfinite(results(Plan([y], (passes.scalars,)), [y], {x: 1})[0])


@pytest.mark.parametrize(
    ("chosen", "kind"), [(passes.DEFAULT, GroupTask), (passes.FAST, ScalarTask)]
)
def test_a_hundred_scalars_alike_are_a_group_or_machine_code(
    chosen: tuple[passes.Pass, ...], kind: type[Task]
) -> None:
    """In Python they would be rounded one by one."""
    trace = Trace()
    outputs = [trace.xp.exp(leaf(trace)) for _ in range(100)]
    ((_, task),) = Plan(outputs, chosen).parts
    assert isinstance(task, kind)


# ---- memory -----------------------------------------------------------------------------------


def test_a_leaf_is_never_written_to():
    """A reshaped copy of a leaf ends its life with it: what follows must not take the leaf over."""
    trace = Trace()
    xp, x = trace.xp, leaf(trace, 64, 64, dtype="float64")
    turned = xp.reshape(xp.permute_dims(x, (1, 0)), (4096,))
    outputs = [xp.sum(turned * xp.arange(0, 4096)), xp.exp(x)]
    data = np.random.default_rng(0).standard_normal((64, 64))
    for choice in CHOICES.values():
        plan = Plan(outputs, choice)
        first = results(plan, outputs, {x: data})
        assert identical(results(plan, outputs, {}), first)
        assert np.array_equal(plan.leaves[x], data)


def chain(layers: int, size: int) -> tuple[Trace, Value, Value]:
    trace = Trace()
    x = y = leaf(trace, size)
    for i in range(layers):
        y = trace.xp.tanh(y * 1.01) if i % 2 else trace.xp.sin(y)
    return trace, x, y


@pytest.mark.night
@pytest.mark.parametrize("choice", ["none", "all"])
def test_a_chain_of_a_thousand_layers_needs_a_few_arrays(choice: str) -> None:
    _, _, y = chain(1000, 10_000)
    assert Plan([y], CHOICES[choice]).bytes <= 3 * 40_000


@pytest.mark.night
@pytest.mark.parametrize("choice", ["none", "all"])
def test_gradients_keep_what_they_read_and_little_more(choice: str) -> None:
    """sin keeps its input, tanh its result: 1,000 arrays live when the way back begins."""
    trace, x, y = chain(1000, 10_000)
    found = sweep([(y, trace.xp.ones_like(y))], [x])
    assert Plan([y, found[x]], CHOICES[choice]).bytes <= 1_005 * 40_000


def test_large_regions_keep_only_what_leaves_them():
    _, _, y = chain(20, 1_000_000)
    assert Plan([y], ()).bytes <= 3 * 4_000_000
    assert Plan([y], (passes.tiles,)).bytes == 4_000_000


@compiler
@pytest.mark.parametrize("task_pass", [passes.tiles, passes.fused])
def test_what_only_the_way_back_reads_is_computed_there(task_pass: passes.Pass) -> None:
    """The slope of tanh is neither written nor kept; its result is there anyway."""
    trace = Trace()
    x = leaf(trace, 300_000)
    y = trace.xp.tanh(x * 1.5)
    total = trace.xp.sum(trace.xp.square(trace.xp.cumulative_sum(y)))
    found = sweep([(total, trace.xp.ones_like(total))], [x])
    plan = Plan([total, found[x]], (task_pass,))
    written = {value.primitive.name for _, task in plan.parts for value in task.values}
    assert "tanh" in written
    assert "subtract" not in written
    assert plan.bytes < 5 * 4 * x.size
    data = np.random.default_rng(0).standard_normal(x.shape)
    expected = plain([found[x]], {x: data})
    assert_close(results(plan, [found[x]], {x: data}), expected, "float32", of_largest=True)


# ---- failures ---------------------------------------------------------------------------------


def powers(exponents: list[int], size: int) -> Diagram:
    """Integer powers of independent variables; a negative exponent fails."""
    get = registry().get
    blocks: dict[str, Any] = {}
    wires: dict[PortName, PortName] = {}
    for i, exponent in enumerate(exponents):
        blocks[f"v{i}"] = get("Variable")(value=[2] * size, dtype="int32")
        blocks[f"e{i}"] = get("Variable")(value=[exponent] * size, dtype="int32")
        blocks[f"p{i}"] = get("Pow")()
        for port, source in zip(get("Pow").inputs, ("v", "e"), strict=True):
            wires[PortName(f"p{i}", port.name)] = PortName(f"{source}{i}", "out")
    return Diagram({MAIN: Page(blocks, wires, {})})


def test_the_block_that_fails_is_named_among_many_alike():
    diagram = powers([1] * 9 + [-1] + [1] * 9, 2)
    with pytest.raises(RunError, match="negative integer powers") as caught:
        Session(diagram).run()
    assert caught.value.location.block == "p9"
    session = Session(diagram, partial=True)
    values = session.run().values
    assert [port for port in session.program.ports if port not in values] == ["p9.out"]


def test_the_block_that_fails_is_named_in_a_region_of_large_arrays(eager: None) -> None:
    get = registry().get
    blocks: dict[str, Any] = {
        "x": get("Variable")(value=[2] * 100, dtype="int32"),
        "e": get("Variable")(value=[1] * 99 + [-1], dtype="int32"),
    }
    wires: dict[PortName, PortName] = {}
    for name, kind, sources in [
        ("one", "Mul", "xx"), ("two", "Pow", ("one", "e")), ("three", "Mul", ("two", "x")),
    ]:  # fmt: skip
        blocks[name] = get(kind)()
        for port, source in zip(get(kind).inputs, sources, strict=False):
            wires[PortName(name, port.name)] = PortName(source, "out")
    with pytest.raises(RunError) as caught:
        Session(Diagram({MAIN: Page(blocks, wires, {})})).run()
    assert caught.value.location.block == "two"


def test_an_index_that_is_wrong_among_grouped_tasks_names_its_block(eager: None) -> None:
    get = registry().get
    blocks: dict[str, Any] = {"x": get("Variable")(value=list(range(40)))}
    wires: dict[PortName, PortName] = {}
    for i in range(10):
        blocks[f"t{i}"] = get("Gather")(indices=[0, 99 if i == 6 else i])
        blocks[f"s{i}"] = get("Tanh")()
        wires[PortName(f"t{i}", get("Gather").inputs[0].name)] = PortName("x", "out")
        wires[PortName(f"s{i}", "x")] = PortName(f"t{i}", "out")
    with pytest.raises(RunError) as caught:
        Session(Diagram({MAIN: Page(blocks, wires, {})})).run()
    assert caught.value.location.block == "t6"


# ---- golden numbers ---------------------------------------------------------------------------

GOLDEN = [case for path in sorted(DATA.glob("*.json")) for case in cases(path) if case.check]


@pytest.mark.night
@pytest.mark.parametrize("choice", ["none", "all"])
def test_the_golden_numbers_with_every_lowering_forced_off_and_on(
    choice: str, monkeypatch: pytest.MonkeyPatch, eager: None
) -> None:
    monkeypatch.setattr(
        "gradwire.runtime.engine.session.engines.select_passes", lambda fast: CHOICES[choice]
    )
    assert len(GOLDEN) > 200
    failed = {str(case): [str(d) for d in found] for case in GOLDEN if (found := check(case))}
    assert failed == {}
