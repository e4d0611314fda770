"""What sessions need of an engine: the contract that each of them keeps, and a third would."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import NotRunnableError, RunError
from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.engine import Engine, LoopingEngine, LoopPhase
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine
from gradwire.runtime.engine.session.engines import NAMES, EngineChoice, open_engine
from tests.assets.examples import MANUAL, run_python

if TYPE_CHECKING:
    from collections.abc import Sequence


class Kernels(NumpyEngine):
    """A third engine: one kernel after the other."""

    name = "kernels"

    def __init__(self) -> None:
        super().__init__(())


@cache
def of_the_manual() -> Engine:
    """The engine that the manual writes."""
    names, _ = run_python(MANUAL / "extend" / "engine.md")
    made: Engine = names["PlainEngine"]()
    return made


@pytest.fixture(params=[*NAMES, "kernels", "of the manual"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "jax" and find_spec("jax") is None:
        pytest.skip("JAX is not installed")
    made = {"kernels": Kernels, "of the manual": of_the_manual}
    return made[request.param]() if request.param in made else open_engine(request.param)


looping = pytest.mark.parametrize("engine", ["jax", "of the manual"], indirect=True)
"""Engines that keep the variables."""


def leaf(trace: Trace, *shape: int, dtype: str = "float32") -> Value:
    return trace.apply(LEAF, shape=shape, dtype=dtype)


def test_a_plan_computes_its_outputs_as_often_as_it_is_run(engine: Engine) -> None:
    trace = Trace()
    x, y = leaf(trace, 3), leaf(trace, 2, 3, dtype="float64")
    outputs = [trace.xp.sum(x * y), trace.xp.astype(x, "int64"), x]
    plan = engine.plan(outputs, rows=[y])
    assert set(plan.leaves) == {x, y}
    plan.writer(x)(np.array([1, 2, 3]))
    plan.writer(y)(np.ones((2, 3)))
    plan.run()
    total, whole, same = (plan.read(value) for value in outputs)
    assert (total.dtype, total.shape, total) == (np.float64, (), 12.0)
    assert whole.dtype == np.int64 and whole.tolist() == [1, 2, 3]
    assert same.dtype == np.float32 and same.tolist() == [1, 2, 3]
    plan.writer(x)(np.zeros(3))
    plan.run()
    assert plan.read(outputs[0]) == 0.0 and plan.reader(outputs[1])().tolist() == [0, 0, 0]
    assert whole.tolist() == [1, 2, 3]
    assert len(plan) == len(plan.parts) >= 1
    assert outputs[1] in {value for _, work in plan.parts for value in work.covers}


def test_what_is_written_and_read_belongs_to_the_caller(engine: Engine) -> None:
    trace = Trace()
    x = leaf(trace, 4)
    plan = engine.plan([x + 1, x])
    given = np.arange(4, dtype=np.float32)
    plan.writer(x)(given)
    given[:] = -1
    plan.run()
    found = plan.read(x)
    assert found.tolist() == [0, 1, 2, 3] and found.flags.writeable
    found[:] = 7
    plan.run()
    assert plan.read(x).tolist() == [0, 1, 2, 3]


def test_a_run_that_fails_names_the_block(engine: Engine) -> None:
    x, i = gw.input("x", [1.0, 2.0]), gw.input("i", 5, dtype="int64")
    session = gw.Session(gw.build(gw.loss(gw.gather(x, i, name="taken"))), engine=engine)
    with pytest.raises(RunError, match="out of") as error:
        session.run()
    assert error.value.location is not None and error.value.location.block == "taken"
    session.set("i", 1)
    assert session.run().values["taken.out"] == 2.0


@looping
def test_a_loop_keeps_what_it_writes_between_calls(engine: LoopingEngine) -> None:
    trace = Trace()
    total, row, fixed, seen = leaf(trace, 2), leaf(trace, 2), leaf(trace), leaf(trace)
    grow = LoopPhase({total: total + row * fixed}, (trace.xp.sum(total),), (row,), times=2)
    count = LoopPhase({seen: seen + trace.xp.max(total)}, (seen,))
    memory = engine.memory()
    for value, number in ((total, [0, 0]), (fixed, 10.0), (seen, 0.0)):
        memory.writer(value)(np.array(number))
    loop = engine.loop([grow, count], memory)
    assert set(loop.leaves) == {total, fixed, seen}

    def call(numbers: Sequence[Any]) -> list[list[Any]]:
        rows = np.array(numbers, np.float64).reshape(-1, 2, 1).repeat(2, axis=2)
        return [[array.tolist() for array in stage] for stage in loop.start([[rows], []])()]

    assert call([1, 2, 3, 4, 5, 6]) == [
        [[[0, 20], [60, 120], [200, 300]]],
        [[[0], [30], [130]]],
    ]
    assert memory.read(total).tolist() == [210, 210] and memory.read(seen) == 340
    assert call([1, 1]) == [[[[420, 440]]], [[[340]]]]
    memory.writer(fixed)(np.array(0.0))
    assert call([1, 1]) == [[[[460, 460]]], [[[570]]]]


@looping
def test_two_loops_share_a_memory(engine: LoopingEngine) -> None:
    trace = Trace()
    x = leaf(trace)
    memory = engine.memory()
    memory.writer(x)(np.array(1.0))
    loops = [engine.loop([LoopPhase({x: x * 3}, (x,))], memory) for _ in range(2)]
    assert [float(loop.start([[]])()[0][0][0, 0]) for loop in (*loops, *loops)] == [1, 3, 9, 27]


@pytest.mark.sampled(one_in=3)
def test_a_session_gives_the_same_on_each_engine(engine: Engine) -> None:
    w, b = gw.variable("w", [[0.5, -1.0], [2.0, 0.25]]), gw.variable("b", [0.5, -0.5])
    unused = gw.variable("unused", [1.0])
    x = gw.input("x", shape=[None, 2])
    y = gw.tanh(gw.linear(x, gw.stop_gradient(w), b), name="y")
    diagram = gw.build(gw.loss(gw.mean(gw.square(y)), name="loss"), unused)
    expected, found = gw.Session(diagram, fast=False), gw.Session(diagram, engine=engine)
    with pytest.raises(NotRunnableError, match="left open"):
        found.backward()
    for rows in (3, 1):
        feeds = {"x": np.linspace(-1, 1, 2 * rows).reshape(rows, 2)}
        how: Any = {"feeds": feeds, "adjoints": "all", "contributions": True, "norms": True}
        one, other = expected.backward(**how), found.backward(**how)
        for table in ("values", "gradients", "adjoints", "contributions", "norms"):
            numbers, wanted = getattr(other, table), getattr(one, table)
            assert numbers.keys() == wanted.keys()
            for name, array in wanted.items():
                if array is None:
                    assert numbers[name] is None, (table, name)
                else:
                    np.testing.assert_allclose(numbers[name], array, rtol=2e-6, atol=1e-7)
                    assert np.asarray(numbers[name]).dtype == np.asarray(array).dtype
    call, other_call = (
        s.prepare(["x"], values=["loss"], shapes={"x": [2, 2]}) for s in (expected, found)
    )
    fed = np.ones((2, 2), np.float32)
    for wanted, number in zip(call(fed), other_call(fed), strict=True):
        np.testing.assert_allclose(number, wanted, rtol=2e-6) if wanted is not None else None
        assert (number is None) == (wanted is None)


def test_random_uniform_numbers_have_equal_bits_on_each_engine(engine: Engine) -> None:
    noise = [gw.random_uniform(shape=[257], seed=s, name=f"noise{s}") for s in (1, 2)]
    diagram = gw.build(*noise)
    expected, found = gw.Session(diagram, fast=False), gw.Session(diagram, engine=engine)
    for _ in range(3):
        one, other = expected.run().values, found.run().values
        assert all(np.array_equal(one[name], other[name]) for name in one)
        expected.step_number += 1
        found.step_number += 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": "tensorflow"}, "no engine 'tensorflow'"),
        ({"engine": "numpi"}, "numpy"),
        ({"device": "gpu"}, "takes no device"),
        ({"threads": 0}, "number of threads"),
        ({"threads": True}, "number of threads"),
        ({"engine": NumpyEngine(), "fast": True}, "takes no fast"),
    ],
    ids=["unknown", "misspelt", "device", "no thread", "no number", "made already"],
)
def test_arguments_that_no_engine_takes_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(RunError, match=message):
        gw.Session(gw.build(gw.variable("x", 1.0)), **arguments)


@pytest.mark.night
def test_thousands_of_small_operations_stay_with_numpy_which_says_why() -> None:
    pytest.importorskip("jax")
    x, functions = gw.variable("x", 0.5), (gw.sin, gw.tanh, gw.square)
    mixed = x
    for choice in np.random.default_rng(0).integers(0, 3, 5000):
        mixed = functions[choice](mixed)
    session = gw.Session(gw.build(gw.loss(mixed)), engine="jax")
    (told,) = session.diagnostics
    assert session.engine.name == "numpy" and told.code == "unfit-engine"
    assert "NumPy computes this diagram: JAX would compile 5," in str(told)
    session.update(gw.build(gw.loss(gw.sin(x))))
    assert session.engine.name == "jax" and not session.diagnostics


@pytest.mark.night
def test_thousands_of_steps_of_a_scan_are_one_loop_for_jax() -> None:
    pytest.importorskip("jax")

    @gw.page
    def cell(h):
        return {"h_n": gw.tanh(h)}

    start = gw.variable("y", 0.5)
    last = gw.scan(cell, start, steps=6000, carry={"h": "h_n"}, name="s")["h_n"]
    session = gw.Session(gw.build(gw.loss(last)), engine="jax")
    assert session.engine.name == "jax" and not session.diagnostics
    found = session.backward().gradients["y"]
    expected = gw.Session(gw.build(gw.loss(last))).backward().gradients["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_a_choice_can_divide_weights_on_jax_alone() -> None:
    pytest.importorskip("jax")
    assert EngineChoice("jax", divide_weights=True).open().name == "jax"
    with pytest.raises(RunError, match="takes no divide_weights"):
        EngineChoice("numpy", divide_weights=True).open()
