"""Equations, inverses and determinants by factors that are computed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.blocks.errors import RunError
from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes import solutions
from gradwire.runtime.engine.plan.passes.solutions import CheckTask, SolutionTask
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

SHAPES = [(1, 1), (2, 2), (9, 9), (33, 33), (5, 4, 4), (90, 3, 3)]


def program(
    shape: tuple[int, ...], columns: int, dtype: str
) -> tuple[list[Value], dict[Value, Any]]:
    """All that is computed of matrices, and its gradients."""
    trace = Trace()
    a = trace.apply(LEAF, shape=shape, dtype=dtype)
    b = trace.apply(LEAF, shape=(*shape[:-1], columns), dtype=dtype)
    xp = trace.xp
    ends = [
        xp.solve(a, b), xp.inverse(a), xp.determinant(a), xp.log_determinant(a),
        xp.determinant_sign(a), xp.solve(xp.permute_dims(a, _turned(len(shape))), b),
    ]  # fmt: skip
    loss = xp.sum(ends[0] * ends[5]) + xp.sum(ends[1]) + xp.sum(ends[3])
    gradients = sweep([(loss, xp.ones_like(loss))], [a, b])
    rng = np.random.default_rng(0)
    numbers = {a: rng.standard_normal(shape) + 3 * np.eye(shape[-1]),
               b: rng.standard_normal(b.shape)}  # fmt: skip
    return [*ends, *gradients.values()], numbers


def _turned(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)


def run(plan: Plan, numbers: dict[Value, Any]) -> Plan:
    for leaf, array in numbers.items():
        plan.leaves[leaf][...] = array
    plan.run()
    return plan


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 4, 37])
@pytest.mark.parametrize(
    "shape", [(1, 1), (2, 2), (9, 9), (33, 33), (5, 4, 4), (90, 3, 3)], ids=str
)
def test_numbers_are_numpys(shape: tuple[int, ...], columns: int, dtype: str) -> None:
    outputs, numbers = program(shape, columns, dtype)
    plan = Plan(outputs, (passes.solutions,))
    assert sum(isinstance(task, SolutionTask) for _, task in plan.parts) >= 6
    reference = run(Plan(outputs, ()), numbers)
    for _ in range(2):
        run(plan, numbers)
        for value in outputs:
            found, expected = plan.read(value), reference.read(value)
            bound = 1e-5 if dtype == "float32" else 1e-11
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(found, expected, bound, bound * np.abs(expected).max())


def test_determinants_of_singular_matrices_are_numpys() -> None:
    """Also where the pivot of 0 is not the last one, and beside others that are not singular."""
    trace = Trace()
    a = trace.apply(LEAF, shape=(4, 3, 3), dtype="float32")
    xp = trace.xp
    outputs = [xp.determinant(a), xp.log_determinant(a), xp.determinant_sign(a)]
    numbers = {a: np.stack([np.zeros((3, 3)), np.diag([2, 0, 3]), np.ones((3, 3)), -2 * np.eye(3)])}
    plan = run(Plan(outputs, (passes.solutions,)), numbers)
    for value, expected in zip(
        outputs,
        ([0, 0, 0, -8], [-np.inf, -np.inf, -np.inf, np.log(8)], [0, 0, 0, -1]),
        strict=True,
    ):
        np.testing.assert_allclose(plan.read(value), expected, 1e-6)


def test_a_matrix_is_factorised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    steps = solutions.Factors.steps
    monkeypatch.setattr(solutions.Factors, "steps", lambda *given: calls.append(1) or steps(*given))
    outputs, _ = program((4, 4), 2, "float32")
    Plan(outputs, (passes.solutions,))
    assert len(calls) == 1


def test_rows_change_places_where_a_pivot_would_be_0() -> None:
    outputs, numbers = program((3, 3), 2, "float64")
    a = next(iter(numbers))
    numbers[a] = np.array([[0.0, 2, 1], [1, 0, 0], [3, 0, 1]])
    plan, reference = (run(Plan(outputs, some), numbers) for some in ((passes.solutions,), ()))
    for value in outputs:
        np.testing.assert_allclose(plan.read(value), reference.read(value), 1e-12, 1e-12)


@pytest.mark.parametrize("name", ["solve", "inverse"])
def test_a_singular_matrix_is_refused_as_numpy_does(name: str) -> None:
    for shape in ((2, 2), (3, 2, 2)):
        trace = Trace()
        a = trace.apply(LEAF, shape=shape, dtype="float32")
        trace.owner = "the block"
        y = trace.xp.solve(a, a) if name == "solve" else trace.xp.inverse(a)
        errors = []
        for some in ((passes.solutions,), ()):
            plan = Plan([y], some)
            plan.leaves[a][...] = np.eye(2)
            plan.run()
            plan.leaves[a][..., 1, :] = 2 * np.eye(2)[0]
            with pytest.raises(RunError) as error:
                plan.run()
            errors.append((error.value.what, error.value.location))
            plan.leaves[a][...] = np.eye(2)
            plan.run()
        assert errors[0] == errors[1]


def test_determinants_of_singular_matrices_are_no_errors() -> None:
    trace = Trace()
    xp, a = trace.xp, trace.apply(LEAF, shape=(2, 2), dtype="float64")
    outputs = [xp.determinant(a), xp.log_determinant(a), xp.determinant_sign(a)]
    plan = Plan(outputs, (passes.solutions,))
    assert not any(isinstance(task, CheckTask) for _, task in plan.parts)
    run(plan, {a: np.ones((2, 2))})
    assert [float(plan.read(x)) for x in outputs] == [0, -np.inf, 0]


@pytest.mark.parametrize("shapes", [((257, 257), (257, 2)), ((3, 3), (5, 3, 2)), ((0, 0), (0, 2))])
def test_large_matrices_and_those_for_several_are_numpys(shapes: Any) -> None:
    trace = Trace()
    a, b = (trace.apply(LEAF, shape=shape, dtype="float64") for shape in shapes)
    plan = Plan([trace.xp.solve(a, b)], (passes.solutions,))
    assert not any(isinstance(task, SolutionTask) for _, task in plan.parts)


def test_without_a_compiler_all_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "installed", lambda: False)
    outputs, _ = program((4, 4), 2, "float32")
    for some in (passes.solutions, passes.compiled):
        kinds = {type(task).__name__ for _, task in Plan(outputs, (some,)).parts}
        assert kinds <= {"PlainTask"}
