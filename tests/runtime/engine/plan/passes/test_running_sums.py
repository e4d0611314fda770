"""Running sums by machine code: the bits of numpy, whatever lies where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.running_sums import RunningSums, RunningSumsTask
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")


def drawn(*shape: int, dtype: str = "float32") -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


@pytest.mark.night
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("rows", [1, 5, 16, 33])
@pytest.mark.parametrize("columns", [1, 7, 16, 32, 53])
def test_any_shape_in_either_order(
    rows: int, columns: int, lanes: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing beside the result is written."""
    monkeypatch.setattr(machine, "lanes", lambda: lanes)
    x = drawn(rows, columns, dtype=dtype)
    for each in (x, x[:, ::-1], x[::-1]):
        memory = np.full((rows + 2, columns), 7, dtype)
        RunningSums(each)(memory[1:-1])
        np.testing.assert_array_equal(memory[1:-1], np.cumsum(each, axis=1))
        assert (memory[[0, -1]] == 7).all()


def test_rows_of_views_with_gaps() -> None:
    x = drawn(4, 9, 5, 20).transpose(2, 0, 1, 3)[::2, :, 1:, 2:]
    out = np.empty(x.shape, x.dtype)
    RunningSums(x)(out)
    np.testing.assert_array_equal(out, np.cumsum(x, axis=-1))


def test_what_is_no_number_and_the_sign_of_zero_are_those_of_numpy() -> None:
    x = drawn(20, 40)
    x[3, 5], x[4, 6], x[5, 7], x[5, 9] = np.nan, np.inf, np.inf, -np.inf
    x[6, :20], x[7, :3] = -0.0, 0.0
    out = np.empty_like(x)
    with np.errstate(invalid="ignore"):
        expected = np.cumsum(x, axis=1)
    RunningSums(x)(out)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out[6]), np.signbit(expected[6]))


class Summed:
    """Running sums of one array along an axis, and their gradient."""

    def __init__(self, axis: int, *shape: int) -> None:
        trace = Trace()
        self.x = trace.apply(LEAF, shape=shape, dtype="float32")
        sums = trace.xp.cumulative_sum(self.x, axis)
        back = trace.xp.flip(trace.xp.cumulative_sum(trace.xp.flip(sums, axis), axis), axis)
        self.outputs: list[Value] = [sums, back]

    def types(self) -> set[type]:
        """Compare with numpy; returns the types of tasks."""
        plan = Plan(self.outputs, (passes.running_sums,))
        for seed in (1, 2):
            x = np.random.default_rng(seed).standard_normal(self.x.shape).astype(np.float32)
            plan.leaves[self.x][...] = x
            plan.run()
        plain = Plan(self.outputs, ())
        plain.leaves[self.x][...] = x
        plain.run()
        for value in self.outputs:
            np.testing.assert_array_equal(plan.read(value), plain.read(value))
        return {type(task) for _, task in plan.parts}


def test_many_rows_are_compiled() -> None:
    assert RunningSumsTask in Summed(1, 64, 70).types()
    assert RunningSumsTask in Summed(2, 8, 20, 30).types()


@pytest.mark.parametrize(("axis", "shape"), [(0, (64, 70)), (1, (2, 9000)), (1, (8, 8))])
def test_others_are_left_to_numpy(axis: int, shape: tuple[int, ...]) -> None:
    assert RunningSumsTask not in Summed(axis, *shape).types()
