"""Which loops are chosen, and what they share."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.engine.compiler.computing import (
    SHORT,
    Computation,
    copy,
    copy_of,
    folded,
    store_of,
)
from gradwire.runtime.engine.compiler.schedule import Schedule, Store, merged, scheduled
from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.native import machine
from tests.runtime.engine.compiler.stores import ways


@pytest.fixture(autouse=True)
def lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is chosen is the same on any machine."""
    monkeypatch.setattr(machine, "lanes", lambda: 8)


def store(name: str, *shape: int, order: tuple[int, ...] = (), **attributes: Any) -> Store:
    x = np.zeros(shape, np.float32)
    x = x.transpose(order) if order else x
    lengths = [1 if i in attributes.get("axes", ()) else n for i, n in enumerate(x.shape)]
    return store_of(name, attributes, x, np.empty(lengths, x.dtype).strides)


def best(name: str, *shape: int, **attributes: Any) -> Schedule:
    return scheduled(store(name, *shape, **attributes))


def test_axes_in_one_stretch_are_one() -> None:
    found = merged(store("max", 4, 5, 6, 7, axes=(2, 3)))
    assert [axis.extent for axis, _ in found.steps] == [20]
    assert [axis.extent for axis in found.term.axes] == [42]
    found = merged(store("max", 4, 5, 6, order=(1, 0, 2), axes=(2,)))
    assert sorted(axis.extent for axis, _ in found.steps) == [4, 5]
    found = merged(store("cumulative_sum", 4, 5, 6, axis=1))
    assert [axis.extent for axis, _ in found.steps] == [4, 5, 6]


def test_running_sums_of_rows_go_through_squares() -> None:
    assert best("cumulative_sum", 100, 1000, axis=1).nest.turned is not None
    assert best("cumulative_sum", 100, 1000, axis=0).nest.turned is None


def test_several_vectors_at_once_waste_little() -> None:
    """33 elements are five vectors, and a turn has five of them."""
    assert best("cumulative_sum", 1000, 33, axis=0).nest.units == 5


def test_one_code_serves_all_lengths() -> None:
    first, second = (best("cumulative_sum", *shape, axis=0) for shape in ((1000, 64), (2000, 128)))
    assert first.nest == second.nest
    rows = [folded(store("sum", 9, columns, axes=(1,))) for columns in (1000, 1001)]
    assert rows[0] and rows[1] and rows[0].recipe == rows[1].recipe


def test_folds_of_what_lies_apart_are_left_to_numpy() -> None:
    x = np.zeros((100, 300), np.float32)
    assert folded(store_of("sum", {"axes": (1,)}, x[:, ::2], (4, 4))) is None
    assert folded(store_of("sum", {"axes": (1,)}, x, (4, 4))) is not None
    assert folded(store("max", 3, 4, 5, 6, axes=(0, 2))) is None


def test_long_sums_are_added_in_float64() -> None:
    def how(*shape: int, axis: int = 0) -> str:
        found = folded(store("sum", *shape, axes=(axis,)))
        assert found is not None
        return found.recipe.operations[0].name

    assert [how(SHORT, 8), how(SHORT + 1, 8)] == ["short_sum", "sum"]
    assert [how(2, 8192, axis=1), how(2, 8193, axis=1)] == ["short_sum", "sum"]


def test_threads_share_the_columns_of_one_row() -> None:
    found = folded(store("sum", 90, 640, axes=(0,)))
    assert found is not None
    assert found.turns == 10


@pytest.mark.parametrize(
    ("name", "attributes", "shape"),
    [
        ("sum", {"axes": (0,)}, (60, 70, 83)),
        ("sum", {"axes": (1,)}, (3, 800, 83)),
        ("sum", {"axes": (2,)}, (60, 70, 83)),
        ("cumulative_sum", {"axis": 2}, (60, 70, 83)),
        ("copy", {}, (3, 130, 150)),
    ],
)
def test_bits_are_the_same_for_any_number_of_threads(
    name: str, attributes: Any, shape: tuple[int, ...]
) -> None:
    pytest.importorskip("llvmlite")
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x = x.transpose(0, 2, 1) if name == "copy" else x
    lengths = [1 if i in attributes.get("axes", ()) else n for i, n in enumerate(x.shape)]
    for schedule in ways(name, x, **attributes):
        found = []
        for count in (1, 2, 3):
            threads.limit(count)
            out = np.full(lengths, np.nan, x.dtype)
            Computation(schedule, x, x.size)(out)
            found.append(out)
        threads.limit(None)
        assert not np.isnan(found[0]).any()
        assert all((out == found[0]).all() for out in found)


def test_short_loops_are_one_with_the_next_for_threads_to_share() -> None:
    assert best("cumulative_sum", 3, 83, 800, axis=1).nest.joined
    assert not best("cumulative_sum", 300, 83, 800, axis=1).nest.joined
    assert not best("cumulative_sum", 3, 8, 83, axis=1).nest.joined


def test_copies_between_different_axes_go_through_squares() -> None:
    x = np.zeros((100, 70), np.float32)
    nest = scheduled(copy_of(x.T, (400, 4), "float32")).nest
    assert nest.turned is not None
    assert scheduled(copy_of(x[:, 3:], (400, 4), "float32")).nest.turned is None


def test_a_job_keeps_its_arrays() -> None:
    pytest.importorskip("llvmlite")
    arrays = [np.ones((30, 40), np.float32), np.empty((30, 40), np.float32)]
    computation = copy(arrays[0], arrays[1].strides)
    assert computation is not None
    job, kept = computation.into(arrays[1]), [weakref.ref(array) for array in arrays]
    del arrays, computation
    gc.collect()
    job()
    assert all(array() is not None for array in kept)
