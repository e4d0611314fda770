"""Sessions on JAX: the tests of sessions, and what is of JAX alone: when it compiles, and where."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax

import gradwire as gw
from gradwire.blocks.errors import RunError
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.compilation import Compilation, listening
from gradwire.runtime.engine.session.engines import open_engine
from tests.runtime.engine.jax.alike import compiled_quickly, engine_of_all_sessions
from tests.runtime.engine.session import test_asked, test_data, test_prepared, test_session

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGINE = open_engine("jax")
OTHERWISE = {
    "test_a_failing_run_names_its_block_and_a_partial_one_goes_on": "an index is not told",
    "test_memory_may_end_while_results_are_copied": "of arrays that are not planned by NumPy",
    "test_blocks_that_only_together_need_too_much_memory": "as a whole program is planned by XLA",
}
"""Tests that hold for NumPy alone, and why."""

globals().update(
    {
        name: test
        for module in (test_session, test_asked, test_prepared, test_data)
        for name, test in vars(module).items()
        if name.startswith("test_") and name not in OTHERWISE
    }
)


@pytest.fixture(autouse=True, scope="module")
def every_session_has_the_engine() -> Iterator[None]:
    with engine_of_all_sessions(ENGINE), compiled_quickly():
        yield


@pytest.fixture
def compilations() -> Iterator[list[Compilation]]:
    """All that are made in the test."""
    found: list[Compilation] = []
    with listening(found.append):
        yield found


def network(*numbers: float, rows: int | None = None) -> gw.Diagram:
    x, w = gw.input("x", shape=[rows, 2]), gw.variable("w", [list(numbers)] * 2)
    return gw.build(gw.loss(gw.mean(gw.square(gw.matmul(x, w))), name="loss"))


def test_it_is_jax_that_computes(compilations: list[Compilation]) -> None:
    session = Session(network(1.0, 2.0))
    assert session.engine is ENGINE
    session.backward(feeds={"x": np.ones((3, 2))})
    assert [each.seconds is None for each in compilations] == [True, False]
    assert compilations[0].operations > 3


def test_other_numbers_compile_nothing(compilations: list[Compilation]) -> None:
    session = Session(network(1.0, 2.0))
    how: Any = {"contributions": False}
    feeds: Any = {"x": np.ones((3, 2))}
    session.backward(feeds=feeds, **how)
    compilations.clear()
    assert session.update(network(3.0, 4.0))
    assert session.backward(feeds=feeds, **how).values["loss.out"] == 4 * (9 + 16) / 2
    session.set("w", [[1.0, 1.0], [1.0, 1.0]])
    session.step_number += 1
    assert session.backward(feeds={"x": np.ones((3, 2))}, **how).values["loss.out"] == 4
    assert compilations == []
    session.backward(feeds={"x": np.ones((4, 2))}, **how)
    assert len(compilations) == 2


def test_a_block_that_fails_in_a_partial_session_leaves_the_rest() -> None:
    x, i = gw.variable("x", [1.0, 2.0]), gw.input("i", 5, dtype="int64")
    taken = gw.gather(x, i, name="taken")
    diagram = gw.build(gw.loss(taken, name="broken"), gw.loss(gw.sum(x), name="whole"))
    session = Session(diagram, partial=True)
    run = session.backward()
    assert "taken.out" not in run.values and run.values["whole.out"] == 3
    assert [problem.location.block for problem in session.diagnostics] == ["taken"]
    session.set("i", 1)
    gradient = session.backward().gradients["x"]
    assert gradient is not None and gradient.tolist() == [1, 2]
    assert session.diagnostics == []


@pytest.mark.parametrize("device", ["cpu", "cpu:0", "cpu:0,0"])
def test_a_device_that_is_there(device: str) -> None:
    session = Session(gw.build(gw.loss(gw.variable("x", 2.0) * 3)), engine="jax", device=device)
    assert session.backward().gradients["x"] == 3


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cpu:9999", "There is no cpu:9999"),
        ("tpu", "JAX finds no tpu here"),
        ("nonsense", "This is no device"),
        ("cpu:-1", "This is no device"),
        ("", "This is no device"),
        (0, "This is no device"),
    ],
    ids=["number", "kind", "word", "negative", "nothing", "integer"],
)
def test_a_device_that_is_not_there(device: Any, message: str) -> None:
    if device == "tpu" and any(found.platform == "tpu" for found in jax.devices()):
        pytest.skip("there is one")
    with pytest.raises(RunError, match=message):
        Session(network(1.0, 2.0), engine="jax", device=device)


def test_threads_are_told_before_jax_starts() -> None:
    jax.devices()
    with pytest.raises(RunError, match="JAX has started already"):
        Session(network(1.0, 2.0), engine="jax", threads=1)


@pytest.mark.night
def test_a_process_has_the_threads_of_its_first_session() -> None:
    script = (
        "import gradwire as gw; from gradwire.blocks.errors import RunError\n"
        "d = gw.build(gw.loss(gw.variable('x', 2.0) * 3))\n"
        "for threads in (1, None, 1):\n"
        "    s = gw.Session(d, engine='jax', threads=threads)\n"
        "    assert s.backward().gradients['x'] == 3\n"
        "try: gw.Session(d, engine='jax', threads=2)\n"
        "except RunError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False
    )
    assert "Expected threads=1, got threads=2" in done.stdout, done.stderr
