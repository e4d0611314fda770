"""Updates as one compiled loop: the bits of numpy's, for every method and option."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from runtime.diagram.training import (
    AdadeltaMethod,
    AdagradMethod,
    AdamaxMethod,
    AdamMethod,
    AdamWMethod,
    AnyMethod,
    LionMethod,
    NAdamMethod,
    OptimiserRule,
    RAdamMethod,
    RMSpropMethod,
    SGDMethod,
    Training,
)
from runtime.engine import Session
from runtime.engine.plan.native import in_place
from runtime.engine.plan.native.in_place import LARGE, run_in_place
from runtime.training.optimisers import arithmetic, arithmetic_of
from runtime.training.trainer import Trainer
from tests.benchmarks.workloads import w4

pytest.importorskip("llvmlite")

Array = NDArray[Any]
COMPILED = [
    SGDMethod(momentum=0.9, nesterov=True, weight_decay=0.01),
    SGDMethod(momentum=0.9, dampening=0.1, maximize=True, weight_decay=0.01),
    AdamMethod(weight_decay=0.01),
    AdamWMethod(weight_decay=0.01),
    RMSpropMethod(weight_decay=0.01),
    AdagradMethod(lr_decay=0.1),
    AdadeltaMethod(),
    NAdamMethod(),
    RAdamMethod(),
]
BY_NUMPY = [
    SGDMethod(),
    AdamMethod(amsgrad=True),
    RMSpropMethod(centered=True, momentum=0.9),
    LionMethod(),
    AdamaxMethod(),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("method", "compiled"),
    [*((method, True) for method in COMPILED), *((method, False) for method in BY_NUMPY)],
)
def test_bits(
    method: AnyMethod, compiled: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []

    def run(*given: Any) -> bool:
        done.append(run_in_place(*given))
        return done[-1]

    monkeypatch.setattr(arithmetic, "run_in_place", run)
    found = []
    for compiles in (True, False):
        rng = np.random.default_rng(3)
        how = arithmetic_of(method)
        how.compiles = compiles
        values = rng.standard_normal(LARGE + 11).astype(dtype)
        slots = how.slots(values)
        for count in range(1, 9):
            gradient = rng.standard_normal(values.size).astype(dtype)
            gradient[:: count + 1] = 0
            gradient[1] = np.inf
            before = gradient.tobytes()
            with np.errstate(all="ignore"):
                how.update(
                    values, gradient, slots, count=count, lr=0.01, weight_decay=method.weight_decay
                )
            assert gradient.tobytes() == before
        found.append([np.nan_to_num(array, nan=7).tobytes() for array in (values, *slots.values())])
    assert found[0] == found[1]
    assert done[1:] == [compiled] * 7  # a first update may be shorter


def test_a_training_of_many_variables_has_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    work = w4(batch=4)
    states = []
    for compiles in (True, False):
        session = Session(work.diagram, fast=True)
        for name, array in work.data.items():
            session.set(name, array)
        rule = OptimiserRule(name="adam", method=AdamMethod(lr=1e-3))
        trainer = Trainer(session, Training(optimisers=(rule,)))
        if not compiles:
            monkeypatch.setattr(arithmetic, "run_in_place", lambda *_: False)
        for _ in range(3):
            trainer.step()
        states.append({name: array.tobytes() for name, array in session.values.items()})
    assert states[0] == states[1]


def _twice(arrays: Sequence[Any], _: Sequence[Any]) -> None:
    for _ in range(in_place.FEWEST):
        np.add(arrays[0], arrays[0], out=arrays[0])


def test_what_can_not_be_compiled_is_left_alone() -> None:
    def work(arrays: Sequence[Any], rooms: Sequence[Any]) -> None:
        _twice(arrays, rooms)
        np.sin(arrays[0], out=arrays[0])

    def unwritten(arrays: Sequence[Any], rooms: Sequence[Any]) -> None:
        _twice(arrays, rooms)
        np.add(arrays[0], rooms[0], out=arrays[0])

    def summed(arrays: Sequence[Any], rooms: Sequence[Any]) -> None:
        _twice(arrays, rooms)
        np.sum(arrays[0])

    x = np.ones(100, np.float32)
    for what in (work, unwritten, summed):
        assert not run_in_place(what, [x], 1)
    assert not run_in_place(_twice, [np.ones(100, np.int64)], 0)
    assert not run_in_place(_twice, [np.ones(200, np.float32)[::2]], 0)
    assert np.array_equal(x, np.ones(100))
    assert run_in_place(_twice, [x], 0)
    assert np.array_equal(x, np.full(100, 2.0**in_place.FEWEST))
