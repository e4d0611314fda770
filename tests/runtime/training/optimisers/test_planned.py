"""Updates as plans: numpy's bits, for every method and option, wherever they are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradwire.runtime.diagram.optimisers import (
    AdadeltaMethod,
    AdagradMethod,
    AdamaxMethod,
    AdamMethod,
    AdamWMethod,
    LionMethod,
    Method,
    NAdamMethod,
    RAdamMethod,
    RMSpropMethod,
    SGDMethod,
)
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.numpy_engine import ArrayUpdate
from gradwire.runtime.engine.plan.passes import DEFAULT, FAST
from gradwire.runtime.engine.plan.passes.elementwise import fused, tiles
from gradwire.runtime.training.optimisers.arithmetic import Arithmetic
from gradwire.runtime.training.trainer import Trainer
from tests.benchmarks.workloads import w4

Array = NDArray[Any]
METHODS: list[Method] = [
    SGDMethod(),
    SGDMethod(momentum=0.9, nesterov=True, weight_decay=0.01),
    SGDMethod(momentum=0.9, dampening=0.1, maximize=True, weight_decay=0.01),
    AdamMethod(weight_decay=0.01),
    AdamMethod(amsgrad=True),
    AdamWMethod(weight_decay=0.01),
    RMSpropMethod(weight_decay=0.01),
    RMSpropMethod(centered=True, momentum=0.9),
    AdagradMethod(lr_decay=0.1),
    AdadeltaMethod(),
    LionMethod(),
    NAdamMethod(),
    RAdamMethod(),
    AdamaxMethod(),
]
SIZES = [1, 11, fused.LARGE + 11, tiles.LARGE + 11]
PASSES = {"reference": (), "numpy": DEFAULT, "machine code": FAST}


@pytest.mark.night
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", METHODS)
def test_bits(method: Method, dtype: str, size: int) -> None:
    rng = np.random.default_rng(3)
    start = rng.standard_normal(size).astype(dtype)
    gradients = rng.standard_normal((8, size)).astype(dtype)
    for count, gradient in enumerate(gradients, start=1):
        gradient[:: count + 1] = 0
        gradient[-1] = np.inf
    wanted, *found = (_updated(method, passes, start, gradients) for passes in (None, *_passes()))
    for arrays, squares in found:
        assert arrays == wanted[0]
        np.testing.assert_allclose(squares, wanted[1], rtol=1e-5)


def _passes() -> list[Any]:
    compiles = native.installed()
    return [passes for name, passes in PASSES.items() if compiles or name != "machine code"]


def _updated(method: Method, passes: Any, start: Array, gradients: Array) -> Any:
    """All arrays after some updates, and the sums of squares; with numpy at once without passes."""
    how = Arithmetic(method)
    values, gradient, decay = start.copy(), start.copy(), method.weight_decay
    slots = how.slots(values)
    plans: dict[Any, ArrayUpdate] = {}
    squares = []
    for count, each in enumerate(gradients, start=1):
        gradient[:] = each
        with np.errstate(all="ignore"):
            if passes is None:
                how.update(values, gradient, slots, count=count, lr=0.01, weight_decay=decay)
                squares.append(float(np.sum(values.astype(np.float64) ** 2)))
                continue
            program = how.program(count, decay)
            arrays = (values, gradient, *slots.values())
            if program not in plans:
                plans[program] = ArrayUpdate(program.recording, arrays, passes)
            squares.append(plans[program].run(program.numbers(count, 0.01, decay)))
        assert gradient.tobytes() == each.tobytes()
    return [np.nan_to_num(x, nan=7).tobytes() for x in (values, *slots.values())], squares


def test_a_training_has_the_same_bits_with_machine_code_for_its_updates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("llvmlite")
    work = w4(batch=4)
    states = []
    for passes in (FAST, ()):
        session = Session(work.diagram, fast=True)
        for name, array in work.data.items():
            session.set(name, array)
        rule = OptimiserRule(name="adam", method=AdamMethod(lr=1e-3))
        trainer = Trainer(session, Training(optimisers=(rule,)))
        monkeypatch.setattr(
            "gradwire.runtime.engine.plan.numpy_engine.ArrayUpdate",
            lambda recording, arrays, _, passes=passes: ArrayUpdate(recording, arrays, passes),
        )
        for _ in range(3):
            trainer.step()
        states.append({name: array.tobytes() for name, array in session.values.items()})
    assert states[0] == states[1]
