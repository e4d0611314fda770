"""Recorded arithmetic that is planned in place, and results that are left where a leaf was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.numpy_engine import ArrayUpdate
from gradwire.runtime.engine.plan.passes import DEFAULT
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.engine.plan.recording import InPlace, NotRecorded, Number, Recording, record


def _grown(arrays: Any, rooms: Any) -> None:
    """``a = a * (number 1) + b``, where b is changed before it is read."""
    a, b = arrays
    np.add(b, 1.0, out=b)
    np.multiply(a, Number(1), out=rooms[0])
    np.add(rooms[0], b, out=a)


def test_every_run_takes_other_numbers() -> None:
    a, b = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    update = ArrayUpdate(record(_grown, 2, 1), (a, b), DEFAULT)
    assert update.run([7.0, 2.0]) == np.sum((2 * np.arange(5) + 1) ** 2)
    np.testing.assert_array_equal(a, 2 * np.arange(5) + 1)
    update.run([7.0, 0.5])
    np.testing.assert_array_equal(a, np.arange(5) + 2.5)
    np.testing.assert_array_equal(b, np.full(5, 2.0))


def test_numbers_are_filled_in() -> None:
    assert record(_grown, 2, 1).filled([7.0, 2.0]).scalars == (1.0, 2.0)


def test_numpy_does_in_place_what_is_recorded() -> None:
    a, b = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    InPlace(record(_grown, 2, 1), 2).run((a, b), [7.0, 2.0])
    np.testing.assert_array_equal(a, 2 * np.arange(5) + 1)
    np.testing.assert_array_equal(b, np.full(5, 1.0))


def test_arrays_may_take_over_what_others_had() -> None:
    a, b, c = (np.full(3, float(n)) for n in range(3))
    swapped = Recording((("add", (0, -1)),), (10.0,), {0: 1, 1: 2, 2: 3})
    InPlace(swapped, 3).run((a, b, c), [])
    assert [x.tolist() for x in (a, b, c)] == [[1.0] * 3, [2.0] * 3, [10.0] * 3]


def test_what_has_no_primitive_is_not_recorded() -> None:
    def sine(arrays: Any, rooms: Any) -> None:
        np.sin(arrays[0], out=arrays[0])

    def unwritten(arrays: Any, rooms: Any) -> None:
        np.add(arrays[0], rooms[0], out=arrays[0])

    for work in (sine, unwritten):
        with pytest.raises(NotRecorded):
            record(work, 1, 1)


@pytest.mark.parametrize("order", ["read before", "read later", "read through a view"])
def test_a_leaf_is_overwritten_only_once_nothing_reads_it(order: str) -> None:
    trace = Trace()
    xp = trace.xp
    x = trace.apply(LEAF, shape=(2, 2), dtype="float32")
    if order == "read before":
        other = x * 3.0
        new = x + 1.0
    elif order == "read later":
        new = x + 1.0
        other = x * 3.0
    else:
        new = xp.permute_dims(x, (1, 0)) + 1.0
        other = x * 3.0
    array = np.array([[1, 2], [3, 4]], np.float32)
    before = array.copy()
    plan = Plan([new, other], (), {x: array}, [(new, array)])
    plan.run()
    is_turned = order == "read through a view"
    np.testing.assert_array_equal(array, (before.T if is_turned else before) + 1)
    np.testing.assert_array_equal(plan.read(other), 3 * before)
    assert (plan.array(new) is array) == (order == "read before")
