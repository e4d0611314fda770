"""Scalars in a region have the numbers that they have one by one, in every dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gradwire.runtime.build import block, build, loss, variable
from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.memory import BlockArrays
from gradwire.runtime.engine.plan.passes.scalars import scalar_function
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.engine.plan.tasks import PlainTask
from gradwire.runtime.flow.tools.doctor import diagnose
from tests.runtime.calculus.tracing import compute
from tests.runtime.engine.plan.passes.test_passes import MODULES

Array = NDArray[Any]
InRegion = Callable[[Sequence[Value]], Plan]

EXACT = ("add", "subtract", "multiply", "divide", "sqrt", "square", "negative", "abs", "maximum",
         "minimum", "relu", "sign", "floor", "ceil", "round")  # fmt: skip
BY_KERNEL = ("floor_divide", "remainder")
FUNCTIONS = ("sin", "cos", "tan", "tanh", "erf", "exp", "expm1", "log", "log1p", "sigmoid",
             "softplus", "power", "arctan2")  # fmt: skip
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "floor_divide",
          "remainder", "arctan2", "power")  # fmt: skip
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, -1e-39, 1.1754944e-38, 88.72284, -103.97, 1e8,
           1.8446744e19, 3.4028235e38, -3.4028235e38, 5e-324, 1.7e308, 709.79, np.inf, -np.inf,
           np.nan)  # fmt: skip

numbers = st.sampled_from(SPECIAL) | st.floats(-4, 4) | st.floats()
operations = st.lists(
    st.tuples(
        st.sampled_from((*EXACT, *BY_KERNEL, *FUNCTIONS, "where", "float32", "float64")),
        st.integers(0, 10**6),
        st.integers(0, 10**6),
    ),
    min_size=4,
    max_size=40,
)


@pytest.fixture(scope="module", params=[("scalars", 10**9), ("scalars", 0), ("native_scalars", 0)])
def in_region(request: Any) -> Iterator[InRegion]:
    """Makes plans, with everything in one region however small: operation by operation, of one
    Python function at once, and of machine code at once.
    """
    name, warm = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULES["scalars"], "SMALLEST", 1)
        patch.setattr(MODULES["scalars"], "WARM", warm)
        yield lambda outputs: Plan(outputs, (getattr(MODULES["scalars"], name),))


def run(plan: Plan, leaves: dict[Value, Array], wanted: Sequence[Value]) -> list[Array]:
    for leaf, array in leaves.items():
        if leaf in plan.leaves:
            plan.leaves[leaf][...] = array
    plan.run()
    return [plan.read(value) for value in wanted]


def written(
    program: Sequence[tuple[str, int, int]],
    given: Sequence[float],
    names: Sequence[str],
    dtypes: Sequence[str] = ("float32", "float64"),
) -> tuple[dict[Value, Array], list[Value]]:
    """Leaves with their numbers, and the values of a program that reads what stands before."""
    trace = Trace()
    xp, leaves = trace.xp, {}
    with np.errstate(all="ignore"):
        for i, number in enumerate(given):
            dtype = dtypes[i % len(dtypes)]
            leaves[trace.apply(LEAF, shape=(), dtype=dtype)] = np.array(number, dtype)
    pool = list(leaves)
    made = []
    for name, i, j in program:
        x = pool[i % len(pool)]
        y = [other for other in pool if other.dtype == x.dtype][j % 3 - 1 if len(pool) > 6 else 0]
        if name in dtypes:
            value = xp.astype(x, name)
        elif name == "where":
            value = xp.where(xp.less(x, y), x, y)
        elif name not in names:
            continue
        else:
            value = getattr(xp, name)(*((x, y) if name in BINARY else (x,)))
        if all(value is not other for other in pool):
            pool.append(value)
            made.append(value)
    return leaves, made


def ordered(x: Array) -> int:
    """The place of a float among all of its dtype."""
    bits = int(x.view(f"i{x.itemsize}"))
    return bits if bits >= 0 else -(bits & (2 ** (8 * x.itemsize - 1) - 1))


def apart(found: Array, expected: Array) -> int:
    """How many units in the last place lie between two floats."""
    if np.isnan(found) or np.isnan(expected):
        return 0 if np.isnan(found) and np.isnan(expected) else 2**62
    return abs(ordered(found) - ordered(expected))


def same_bits(found: Array, expected: Array) -> bool:
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    return found.tobytes() == expected.tobytes() or bool(np.isnan(found) and np.isnan(expected))


@pytest.mark.night
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=operations, given=st.lists(numbers, min_size=4, max_size=4))
def test_exact_arithmetic_has_the_bits_of_the_kernels(
    in_region: InRegion, program: list[tuple[str, int, int]], given: list[float]
) -> None:
    """Whatever leaves the region: everything, or the last value alone."""
    for names in (EXACT, (*EXACT, *BY_KERNEL)):
        leaves, made = written(program, given, names)
        assert_identical(in_region, leaves, made)
        assert_identical(in_region, leaves, made[-1:])


def assert_identical(
    in_region: InRegion, leaves: dict[Value, Array], wanted: Sequence[Value]
) -> None:
    if wanted:
        expected = run(Plan(wanted, ()), leaves, wanted)
        found = run(in_region(wanted), leaves, wanted)
        for a, b, value in zip(found, expected, wanted, strict=True):
            assert same_bits(a, b), (value, a, b)


@pytest.mark.night
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=operations, given=st.lists(numbers, min_size=4, max_size=4))
def test_functions_are_within_a_unit_of_their_kernels(
    in_region: InRegion, program: list[tuple[str, int, int]], given: list[float]
) -> None:
    """Each value is compared with its kernel's of the operands that the region computed."""
    leaves, made = written(program, given, (*EXACT, *BY_KERNEL, *FUNCTIONS))
    found = dict(zip(made, run(in_region(made), leaves, made), strict=True)) | leaves
    for value in made:
        others = {x: array for x, array in found.items() if x is not value}
        expected = np.array(compute(value, others))
        bound = 1 if value.primitive.name in FUNCTIONS else 0
        assert apart(found[value], expected) <= bound, (value, found[value], expected)


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_many_numbers_are_within_a_unit_of_their_kernels(
    name: str, in_region: InRegion
) -> None:
    """So many that one in some hundreds shows."""
    trace = Trace()
    leaves = [trace.apply(LEAF, shape=(), dtype="float64") for _ in range(2)]
    value = getattr(trace.xp, name)(*(leaves if name in BINARY else leaves[:1]))
    plan, rng = in_region([value]), np.random.default_rng(0)
    expected = np.empty(())
    for a, b in zip(rng.normal(0, 3, 3000), rng.normal(0, 3, 3000), strict=True):
        given = {leaves[0]: np.array(a), leaves[1]: np.array(b)}
        with np.errstate(all="ignore"):
            value.kernel(*(given[x] for x in value.inputs), out=expected)
        (found,) = run(plan, given, [value])
        assert apart(found, expected) <= 1, (a, b)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scalars_are_at_most_a_few_units_from_elements_of_arrays(name: str) -> None:
    """Scalars are the more precise: they have the nearest float32, but for rare ties."""
    bits = np.random.default_rng(0).integers(0, 2**32, (2, 1 << 16), dtype=np.uint32)
    some = np.concatenate(
        [
            bits.view(np.float32),
            np.array([np.linspace(-20, 20, 1 << 16), np.linspace(20, -3, 1 << 16)], np.float32),
        ],
        axis=1,
    )
    operands = tuple(some) if name in BINARY else (some[0],)
    trace = Trace()
    leaves = [trace.apply(LEAF, shape=(), dtype="float32") for _ in operands]
    value = getattr(trace.xp, name)(*leaves)
    found, array = np.empty_like(some[0]), np.empty_like(some[0])
    exact = np.empty(found.shape)
    with np.errstate(all="ignore"):
        value.kernel(*operands, out=found)
        value.primitive.kernel(*operands, out=array)
        value.primitive.kernel(*(x.astype(np.float64) for x in operands), out=exact)
        assert np.array_equal(found, exact.astype(np.float32), equal_nan=True)
        normal = np.isfinite(found) & (np.abs(found) >= np.finfo(np.float32).tiny)
        far = np.abs(array[normal] - exact[normal]) / np.spacing(np.abs(found[normal]))
    assert far.max() <= 4


@pytest.mark.parametrize("fast", [False, None])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_overflow_shows_alike_in_every_shape(shape: tuple[int, ...], fast: bool | None) -> None:
    """log(exp(200)) is not 200 in float32, whatever is computed together with it."""
    x = variable("a", np.full(shape, 200, np.float32))
    top = block("Exp", x, name="exp")
    end = block("Log", top, name="log")
    diagram = build(loss(end if not shape else block("Sum", end), name="loss"))
    session = Session(diagram, fast=fast)
    result = session.backward()
    assert np.all(result.values["exp.out"] == np.inf)
    assert np.all(result.values["log.out"] == np.inf)
    gradient = result.gradients["a"]
    assert gradient is not None and np.all(np.isnan(gradient))
    assert diagnose(session)


@pytest.mark.parametrize("fast", [False, None])
def test_what_float32_loses_a_scalar_loses(fast: bool | None) -> None:
    """(a + 1) − a is 0 at 10⁸, as every value between has the precision of its dtype."""
    for shape in ((), (1,)):
        a = variable("a", np.full(shape, 1e8, np.float32))
        end = block("Sum", ((a + 1) - a) * 1 + 0 * a)
        session = Session(build(loss(end, name="loss")), fast=fast)
        for ports in (None, ("loss.out",)):
            assert session.backward(ports=ports).values["loss.out"] == 0


@pytest.mark.night
@pytest.mark.parametrize("name", ["scalars", "native_scalars"])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=operations, given=st.lists(numbers, min_size=4, max_size=4))
def test_compiled_functions_have_the_bits_of_their_operations(
    name: str, program: list[tuple[str, int, int]], given: list[float]
) -> None:
    """Numbers stay as they were when a region is compiled in the middle of its runs.

    Where one is not finite, the kernels one by one may stand in for the function.
    """
    by_kernel = BY_KERNEL if name == "scalars" else ()
    names = (*EXACT, *by_kernel, *FUNCTIONS)
    assert_unchanged(name, *written(program, given, names))
    assert_unchanged(name, *written(program, given, names, ["float64"]))


def assert_unchanged(name: str, leaves: dict[Value, Array], wanted: Sequence[Value]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULES["scalars"], "WARM", 1)
        plan = Plan(wanted, (getattr(MODULES["scalars"], name),))
        before, after = run(plan, leaves, wanted), run(plan, leaves, wanted)
    if all(map(np.isfinite, before)):
        assert all(starmap(same_bits, zip(before, after, strict=True)))


def chain(names: Sequence[str], length: int = 300) -> tuple[Value, Value]:
    """A leaf and the last of a chain of functions of it."""
    trace = Trace()
    x = y = trace.apply(LEAF, shape=(), dtype="float32")
    for i in range(length):
        y = getattr(trace.xp, names[i % len(names)])(y)
    return x, y


@pytest.mark.skipif(not native.installed(), reason="llvmlite is not installed")
@pytest.mark.parametrize("name", FUNCTIONS[:-2])
def test_functions_of_float32_become_machine_code(name: str) -> None:
    module = MODULES["scalars"]
    _, y = chain((name,), 5)
    (_, task), *others = Plan([y], (module.native_scalars,)).parts
    assert isinstance(task, module.NativeScalarTask)
    assert not others


def function_of(wanted: Sequence[Value]) -> Any:
    tasks = [PlainTask(v, v.inputs) for v in wanted[0].trace.values if v.primitive is not LEAF]
    leaves = Plan(wanted, ()).leaves
    arrays = BlockArrays()
    arrays.lay(wanted)
    arrays |= leaves
    return scalar_function(tasks, list(leaves), wanted, arrays)


def test_variables_are_reused_once_their_values_are_dead() -> None:
    """A function of thousands of variables runs slowly."""
    _, y = chain(("sin", "negative", "tanh"))
    code = function_of([y]).__code__
    assert code.co_nlocals - code.co_argcount <= 2


def test_arguments_do_not_grow_with_the_results() -> None:
    """They are copied at every call."""
    _, y = chain(("sin", "negative", "tanh"))
    values = [value for value in y.trace.values if value.primitive is not LEAF]
    few, many = (function_of(some).__code__.co_argcount for some in (values[:1], values))
    assert many == few


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_inputs_that_lie_side_by_side_are_read_anew_when_they_change(dtype: str) -> None:
    """Also when a number only changes its sign, or is not a number."""
    trace = Trace()
    leaves = [trace.apply(LEAF, shape=(), dtype=dtype) for _ in range(9)]
    wanted = [trace.xp.astype(x, "float32") for x in leaves] + [2 * x * x for x in leaves]
    plan = Plan(wanted, (MODULES["scalars"].scalars,))
    assert len(plan) == 1
    numbers = dict.fromkeys(leaves, np.array(0.1, dtype))
    for change in (0.0, -0.0, 1 / 3, np.nan, 1e30, 1e-40):
        numbers[leaves[4]] = np.array(change, dtype)
        expected = run(Plan(wanted, ()), numbers, wanted)
        assert all(map(same_bits, run(plan, numbers, wanted), expected))
