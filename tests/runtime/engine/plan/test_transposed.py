"""Copies of transposed arrays against those of numpy, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import gradwire as gw
from gradwire.runtime.engine.compiler.computing import Computation
from gradwire.runtime.engine.plan import tasks
from gradwire.runtime.engine.plan.tasks import copying, filling

Array = NDArray[Any]

CASES = [
    ((128, 16, 64), (1, 2, 0)),
    ((100, 70), (1, 0)),
    ((65, 1, 67), (2, 1, 0)),
    ((4, 30, 3, 33), (0, 3, 1, 2)),
    ((7, 40, 4, 9), (2, 1, 3, 0)),
    ((16, 4, 8, 32), (0, 2, 1, 3)),
    ((4, 2000), (1, 0)),
    ((2000, 4), (1, 0)),
]


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    """Any bits, also those of NaN."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.random.default_rng(0).integers(0, 256, count, dtype=np.uint8)
    return raw.view(dtype).reshape(shape)


@pytest.fixture(params=["a compiler", "none"])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether there is one."""
    if request.param == "none":
        monkeypatch.setattr(tasks, "installed", lambda: False)
    elif not tasks.installed():
        pytest.skip("needs the extra fast")
    return request.param == "a compiler"


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
@pytest.mark.parametrize(("shape", "order"), CASES, ids=str)
def test_every_element_is_in_its_place_and_nothing_else_is_written(
    shape: tuple[int, ...], order: tuple[int, ...], dtype: str, compiler: bool
) -> None:
    source = numbers(shape, "uint8").view(bool) if dtype == "bool" else numbers(shape, dtype)
    source = source.transpose(order)
    room = np.full(source.size + 64, 1, source.dtype)
    target = room[32:-32].reshape(source.shape)
    copying(source, target)()
    assert np.ascontiguousarray(source).tobytes() == target.tobytes()
    assert np.all(room[:32] == 1)
    assert np.all(room[-32:] == 1)


def test_targets_may_change() -> None:
    source = numbers((100, 70), "float32").T
    copy = filling(source, np.empty((70, 100), np.float32))
    first, second = np.zeros((2, 70, 100), np.float32)
    copy(first)
    copy(second)
    assert first.tobytes() == second.tobytes() == np.ascontiguousarray(source).tobytes()


def test_code_is_taken_where_axes_differ_and_are_long(compiler: bool) -> None:
    def is_turned(shape: tuple[int, ...], order: tuple[int, ...]) -> bool:
        source = np.zeros(shape, np.float32).transpose(order)
        return isinstance(filling(source, np.empty(source.shape, np.float32)), Computation)

    assert is_turned((100, 70), (1, 0)) is compiler
    assert is_turned((16, 30, 40), (0, 2, 1)) is compiler
    assert not is_turned((16, 30, 40), (1, 0, 2))
    assert not is_turned((20, 30), (1, 0))
    assert not is_turned((1000, 3), (1, 0))


def test_a_transposed_result_belongs_to_the_caller() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.random((200, 150), np.float32), rng.random((150, 200), np.float32)
    turned = gw.transpose(gw.variable("x", x), perm=[1, 0])
    loss = gw.loss(gw.sum(gw.exp(turned) * gw.constant("w", w)), name="loss")
    session = gw.Session(gw.build(loss))
    first = session.backward().gradients["x"]
    kept = first.copy()
    np.testing.assert_allclose(first, np.exp(x) * w.T, rtol=1e-6)
    session.set("x", np.zeros_like(x))
    second = session.backward().gradients["x"]
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(second, w.T)
