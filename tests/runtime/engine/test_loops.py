"""Long Scans as loops: the numbers of their steps, in a time and memory that don't grow with them.

``Session.program`` has all steps; it is lowered where somebody asks for one of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram import SetParameters, apply
from gradwire.runtime.engine.flat import COMPILED, IN_ROWS, Loops
from gradwire.runtime.training.trainer import Trainer

STEPS = IN_ROWS.long + 7
"""No multiple of the steps of one plan."""
FEW = COMPILED.long + 3
BATCH, FEATURES, UNITS = 2, 3, 4


@pytest.fixture(autouse=True)
def loops_of_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Loops(IN_ROWS.long, IN_ROWS.long)
    monkeypatch.setattr("gradwire.runtime.engine.session.session.IN_ROWS", few)


def layer(kind: str, steps: int = STEPS, **how: Any) -> gw.Diagram:
    x = gw.variable("x", drawn(steps, BATCH, FEATURES))
    made = getattr(gw, kind)(x, steps=steps, units=UNITS, batch=BATCH, **how)
    parts = []
    for name in made.node.outputs:
        shape = (steps, BATCH, UNITS) if name == "y" else (BATCH, UNITS)
        parts.append(gw.sum(made[name] * gw.constant(f"k_{name}", drawn(*shape))))
    return gw.build(gw.loss(sum(parts[1:], start=parts[0]), name="loss"))


def drawn(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def lowered(session: gw.Session) -> bool:
    """Whether the steps were ever asked for."""
    return "base" in vars(session._programs)


def with_steps(session: gw.Session) -> gw.Session:
    """A session that computes all steps one after the other."""
    session._programs._loops = None
    session._programs.first = session._programs._first()
    return session


@pytest.mark.parametrize(
    ("engine", "kind", "reverse"),
    [("numpy", "lstm", False), ("numpy", "gru", True), ("jax", "lstm", True)],
)
def test_a_loop_has_the_numbers_of_its_steps(engine: str, kind: str, reverse: bool) -> None:
    if engine == "jax":
        pytest.importorskip("jax")
    diagram = layer(kind, reverse=reverse)
    how = {"fast": False} if kind == "gru" else {}
    session, steps = gw.Session(diagram, engine=engine, **how), with_steps(gw.Session(diagram))
    wrt = ["x", *steps.program.trainable]
    found, wanted = session.backward(wrt=wrt), steps.backward(wrt=wrt)
    for name in wanted.gradients:
        np.testing.assert_allclose(
            found.gradients[name], wanted.gradients[name], rtol=2e-4, atol=2e-5
        )
    for name in (f"{kind}.y", f"{kind}.h_n", "loss.out"):
        run = session.run(ports=[name])
        np.testing.assert_allclose(run.values[name], wanted.values[name], rtol=1e-4, atol=1e-5)
        assert list(run.values) == list(steps.run(ports=[name]).values)
    assert not lowered(session)
    assert found.gradients[f"{kind}/3/bias_hh"] is not None


def test_the_arithmetic_does_not_grow_with_the_steps() -> None:
    sizes = []
    for steps in (2 * STEPS, 20 * STEPS):
        session = gw.Session(layer("lstm", steps))
        call = session.prepare()
        call()
        sizes.append((len(session.rolled.trace.values), len(call.plan)))
        assert not lowered(session)
    assert sizes[0] == sizes[1]


def test_jax_compiles_one_step_of_short_scans_too() -> None:
    pytest.importorskip("jax")
    from gradwire.runtime.engine.jax.traced import Traced

    traced = []
    for steps in (COMPILED.long, COMPILED.long + 1, 4 * COMPILED.long):
        session = gw.Session(layer("lstm", steps), engine="jax")
        traced.append(Traced([session.rolled.ports[head] for head in session.losses]).operations)
    assert traced[0] > 2 * traced[1] == 2 * traced[2]


def test_steps_have_values_and_contributions_where_they_are_read() -> None:
    session = gw.Session(layer("lstm"))
    run = session.backward()
    assert not lowered(session)
    last = run.values[f"lstm/{STEPS - 1}/h_n.out"]
    assert lowered(session)
    np.testing.assert_allclose(last, run.values["lstm.h_n"], rtol=1e-6)
    whole = with_steps(gw.Session(layer("lstm"))).backward()
    assert run.values.keys() == whole.values.keys()
    assert run.contributions.keys() == whole.contributions.keys()
    wire = "lstm/5/linear1.weight"
    np.testing.assert_allclose(run.contributions[wire], whole.contributions[wire], rtol=1e-4)


def test_late_values_are_of_the_diagram_that_ran() -> None:
    session = gw.Session(layer("rnn"))
    run = session.backward()
    assert not session.update(layer("gru"))
    wanted = gw.Session(layer("rnn")).run().values["rnn/5/h_n.out"]
    np.testing.assert_allclose(run.values["rnn/5/h_n.out"], wanted, rtol=1e-5, atol=1e-6)


def test_a_step_can_be_asked_for_by_name() -> None:
    session = gw.Session(layer("gru"))
    call = session.prepare(values=["gru/9/y.out"], wrt=["gru/5/weight_hh"])
    whole = with_steps(gw.Session(layer("gru"))).prepare(
        values=["gru/9/y.out"], wrt=["gru/5/weight_hh"]
    )
    for one, other in zip(call(), whole(), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(RunError, match="There is no block or output"):
        session.run(ports=["gru/9/nope.out"])


def test_variables_have_their_names_in_all_steps() -> None:
    session = gw.Session(layer("rnn"))
    new = drawn(UNITS, UNITS)
    session.set("rnn/7/weight_hh", new)
    np.testing.assert_array_equal(session.values["rnn/0/weight_hh"], new)
    np.testing.assert_array_equal(session.values["rnn/11/weight_hh"], new)
    assert not lowered(session)
    assert session.rolled.flat.names("rnn/3/bias_ih") == session.program.flat.names("rnn/0/bias_ih")


def test_training_is_that_of_the_steps() -> None:
    found, wanted = gw.Session(layer("lstm")), with_steps(gw.Session(layer("lstm")))
    for session in (found, wanted):
        trainer = Trainer(session)
        for _ in range(3):
            trainer.step()
    assert not lowered(found)
    for name, array in wanted.values.items():
        np.testing.assert_allclose(found.values[name], array, rtol=1e-4, atol=1e-5)


def test_new_numbers_reach_a_loop() -> None:
    before, after = layer("rnn"), layer("rnn")
    session = gw.Session(before)
    first = session.run(ports=["loss.out"]).values["loss.out"]
    assert session.update(doubled(after))
    second = session.run(ports=["loss.out"]).values["loss.out"]
    assert session.rolled.flat.loops
    assert first != second
    np.testing.assert_allclose(
        second, gw.Session(doubled(after)).run().values["loss.out"], rtol=1e-4
    )


def doubled(diagram: gw.Diagram) -> gw.Diagram:
    x = diagram.pages["main"].blocks["x"]
    return apply(diagram, SetParameters("x", {"value": 2 * x.value.array})).after


def noisy(condition: str, number: bool, reverse: bool) -> gw.Diagram:
    """A loop that draws numbers, of what changes from step to step and of what does not, which may
    end in the middle and begin with a number.
    """

    @gw.page("noisy")
    def page(x: gw.Expression, h: gw.Expression) -> dict[str, gw.Expression]:
        weight = gw.dropout(gw.variable("w", drawn(3)), rate=0.4)
        new = gw.tanh(weight * x + gw.dropout(h, rate=0.4) + gw.random_normal(shape=(3,)) * 0.3)
        drawn_again = gw.random_uniform(shape=(3,), seed=4)
        return {"h_n": new, "y": new * drawn_again, "goes": gw.less(gw.sum(x), 3.0)}

    x = gw.variable("x", np.clip(drawn(FEW, 3), -0.9, 0.9))
    big = gw.constant("big", np.eye(FEW, 1, k=-7, dtype=np.float32) * 4.0)
    found = gw.scan(
        page, x + big, 0.5 if number else gw.variable("h", drawn(3)), steps=FEW, over="x",
        carry={"h": "h_n"}, condition=condition, reverse=reverse, name="rnn",
    )  # fmt: skip
    return gw.build(gw.loss(gw.sum(gw.square(found["y"])) + gw.sum(found["h_n"]), name="loss"))


@pytest.mark.parametrize("engine", ["numpy", "jax"])
@pytest.mark.parametrize(
    ("condition", "number", "reverse"),
    [("", False, False), ("", True, True), ("goes", False, True), ("goes", True, False)],
)
def test_conditions_random_numbers_and_first_steps_of_another_kind(
    condition: str, number: bool, reverse: bool, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "jax":
        pytest.importorskip("jax")
    monkeypatch.setattr("gradwire.runtime.engine.session.session.IN_ROWS", COMPILED)
    diagram = noisy(condition, number, reverse)
    session, steps = gw.Session(diagram, engine=engine), with_steps(gw.Session(diagram))
    for _ in range(2):
        found, wanted = session.backward(), steps.backward()
        for name, gradient in wanted.gradients.items():
            np.testing.assert_allclose(found.gradients[name], gradient, rtol=2e-4, atol=2e-5)
        for name in ("loss.out", "rnn.y", "rnn.h_n"):
            values = session.run(ports=[name]).values
            np.testing.assert_allclose(values[name], wanted.values[name], rtol=1e-4, atol=1e-5)
        session.step_number = steps.step_number = 7
    assert session.rolled.flat.loops
    assert not lowered(session)


def test_what_a_condition_leaves_alone_has_no_gradient() -> None:
    """What is carried into the first step, which always runs, is not what the step gives."""

    @gw.page("cell")
    def cell(h: gw.Expression, k: gw.Expression) -> dict[str, gw.Expression]:
        return {"h_n": k * 2.0, "goes": gw.less(gw.sum(h), 5.0)}

    h, k = gw.variable("h", drawn(3)), gw.variable("k", drawn(3))
    out = gw.scan(cell, h, k, steps=STEPS, carry={"h": "h_n"}, condition="goes", name="s")["h_n"]
    session = gw.Session(gw.build(gw.loss(gw.sum(out), name="loss")))
    run = session.backward()
    assert run.gradients["h"] is None
    np.testing.assert_array_equal(run.gradients["k"], [2.0, 2.0, 2.0])
    assert session.rolled.flat.loops


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_a_failure_names_the_step(engine: str) -> None:
    if engine == "jax":
        pytest.importorskip("jax")

    @gw.page("cell")
    def cell(i: gw.Expression, table: gw.Expression) -> dict[str, gw.Expression]:
        return {"y": gw.gather(table, i, name="look")}

    places = np.zeros(STEPS, np.int64)
    places[STEPS - 3] = 9
    out = gw.scan(
        cell,
        gw.constant("places", places, dtype="int64"),
        gw.variable("table", drawn(4, 2)),
        steps=STEPS,
        over="i",
        name="rnn",
    )
    session = gw.Session(gw.build(gw.loss(gw.sum(out), name="loss")), engine=engine)
    with pytest.raises(RunError, match="out of range") as caught:
        session.run(ports=["loss.out"])
    assert caught.value.location is not None
    assert caught.value.location.block == f"rnn/{STEPS - 3}/look"
    assert session.rolled.flat.loops


def test_what_is_the_same_in_all_steps_is_stacked() -> None:
    @gw.page("cell")
    def cell(a: gw.Expression, b: gw.Expression, x: gw.Expression) -> dict[str, gw.Expression]:
        return {"same": gw.mul(a, b), "y": x * a}

    def made() -> gw.Diagram:
        a, b = gw.variable("a", drawn(2)), gw.variable("b", drawn(2) + 1)
        x = gw.variable("x", drawn(STEPS, 2))
        out = gw.scan(cell, a, b, x, steps=STEPS, over="x", name="rnn")
        return gw.build(gw.loss(gw.sum(out["same"] * out["y"]), name="loss"))

    found, wanted = gw.Session(made()), with_steps(gw.Session(made()))
    run, whole = found.backward(ports=["rnn.same"]), wanted.backward(ports=["rnn.same"])
    np.testing.assert_array_equal(run.values["rnn.same"], whole.values["rnn.same"])
    for name, gradient in whole.gradients.items():
        np.testing.assert_allclose(run.gradients[name], gradient, rtol=1e-4)
    assert not lowered(found)
