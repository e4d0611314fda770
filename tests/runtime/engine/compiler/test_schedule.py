"""Which loops are chosen, and what they share."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.engine.compiler.computing import Computation, copy
from gradwire.runtime.engine.compiler.front import copy_of, store_of
from gradwire.runtime.engine.compiler.schedule import PART, WORTH, Schedule, scheduled
from gradwire.runtime.engine.compiler.terms import Store, merged
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


def test_vectors_lie_along_neighbours() -> None:
    columns, rows = best("sum", 100, 1000, axes=(0,)), best("sum", 100, 1000, axes=(1,))
    assert not columns.nest.is_along
    assert rows.nest.is_along
    turned = best("cumulative_sum", 100, 1000, axis=1).nest
    assert turned.turned is not None
    assert best("cumulative_sum", 100, 1000, axis=0).nest.turned is None


def test_several_vectors_at_once_waste_little() -> None:
    """33 elements are five vectors, and a turn has five of them."""
    assert best("sum", 1000, 33, axes=(0,)).nest.units == 5


def test_only_short_folds_of_many_elements_are_written_out() -> None:
    def lengths(*shape: int) -> list[int]:
        return [axis.extent for axis in best("sum", *shape, axes=(1,)).nest.store.term.axes]

    assert lengths(WORTH, 10) == [10]
    assert lengths(5, 10) == [0]
    assert lengths(WORTH, 1000) == [0]


def test_sums_of_many_steps_go_in_parts() -> None:
    assert best("sum", PART + 1, 8, axes=(0,)).nest.in_parts
    assert not best("sum", PART, 8, axes=(0,)).nest.in_parts


def test_one_code_serves_all_lengths() -> None:
    assert best("sum", 1000, 64, axes=(0,)).nest == best("sum", 2000, 128, axes=(0,)).nest


def test_long_folds_of_what_lies_apart_are_left_to_numpy() -> None:
    x = np.zeros((100, 300), np.float32)[:, ::2]
    apart = store_of("sum", {"axes": (1,)}, x, (4, 4))
    assert not scheduled(apart).is_fast
    assert best("sum", 100, 300, axes=(1,)).is_fast


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
    assert best("sum", 3, 800, 83, axes=(1,)).nest.joined
    assert not best("sum", 300, 800, 83, axes=(1,)).nest.joined
    assert not best("sum", 3, 8, 83, axes=(1,)).nest.joined


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
