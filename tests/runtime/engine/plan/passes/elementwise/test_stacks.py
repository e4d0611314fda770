"""Stacks of values that are rows of blocks: views where rows are even, else copies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.memory import BlockArrays
from gradwire.runtime.engine.plan.passes.elementwise.groups import are_contiguous, stacked_values


def laid(*shapes: tuple[int, ...]) -> tuple[list[Value], BlockArrays]:
    """Values of these shapes in blocks, each with numbers of its own."""
    trace, arrays = Trace(), BlockArrays()
    values = [trace.apply(LEAF, shape=shape, dtype="float32") for shape in shapes]
    assert arrays.lay(values) == sum(4 * value.size for value in values)
    for number, value in enumerate(values):
        arrays[value][...] = number
    return values, arrays


def numbers(values: Sequence[Value], arrays: BlockArrays) -> list[float]:
    """The first number of each part of a stack, as runs find it after a change."""
    steps, whole = stacked_values(values, arrays)
    for value in dict.fromkeys(values):
        arrays[value][...] += 100
    for step in steps:
        step()
    assert whole.shape == (len(values), *values[0].shape)
    return [float(part.flat[0]) - 100 for part in whole.reshape(len(values), -1)]


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("shape", [(), (3,), (1, 2)], ids=str)
@pytest.mark.parametrize(
    ("rows", "is_view"),
    [
        ([0, 1, 2, 3], True),
        ([1, 3, 5], True),
        ([4, 3, 2], True),
        ([5, 3, 1], True),
        ([2, 1, 0], True),
        ([2, 2, 2], True),
        ([0, 1, 3], False),
        ([2, 2, 3], False),
        ([3, 0], True),
    ],
    ids=str,
)
def test_rows_of_one_block(shape: tuple[int, ...], rows: list[int], is_view: bool) -> None:
    values, arrays = laid(*[shape] * 6)
    chosen = [values[row] for row in rows]
    assert (not stacked_values(chosen, arrays)[0]) is is_view
    assert numbers(chosen, arrays) == rows


def test_rows_of_several_blocks_and_other_arrays() -> None:
    values, arrays = laid((2,), (2,), (3,), (2,))
    other, *_ = laid((2,))[0]
    arrays[other] = np.full(2, 7, np.float32)
    assert numbers([values[0], other, values[3]], arrays) == [0, 7, 3]
    late = values[0].trace.apply(LEAF, shape=(2,), dtype="float32")
    arrays.lay([late])
    arrays[late][...] = 9
    assert numbers([values[1], late], arrays) == [1, 9]


def test_arrays_are_made_once_and_only_where_they_are_asked_for() -> None:
    values, arrays = laid((2,), (2,))
    assert arrays[values[0]] is arrays[values[0]]
    kept = arrays.only([values[1]])
    assert [*kept] == [values[1]]
    assert kept[values[1]] is arrays[values[1]]
    with pytest.raises(KeyError):
        kept[values[0]]


def test_arrays_that_are_not_rows_may_have_gaps() -> None:
    values, arrays = laid((2,), (2,))
    assert are_contiguous(values, arrays)
    arrays[values[1]] = np.zeros(4, np.float32)[::2]
    other, *_ = laid((2,))[0]
    arrays[other] = arrays[values[1]]
    assert not are_contiguous([values[0], other], arrays)
