"""The trainer: rounds, what they record, and that the session keeps up."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.diagram.optimisers import AdamMethod, AdamWMethod, SGDMethod
from gradwire.runtime.diagram.training import (
    Average,
    Clip,
    Group,
    OptimiserRule,
    StepSchedule,
    Training,
)
from gradwire.runtime.engine import Session
from gradwire.runtime.training.trainer import NO_RECIPE

variable = partial(gw.variable, dtype="float64")
constant = partial(gw.constant, dtype="float64")


def player(name: str, variables: str, loss: str, **more: Any) -> OptimiserRule:
    more.setdefault("method", SGDMethod(lr=0.1))
    return OptimiserRule(name=name, variables=(variables,), losses=(loss,), **more)


def one(**more: Any) -> Training:
    """A recipe of one optimiser."""
    more.setdefault("method", SGDMethod(lr=0.1))
    return Training(optimisers=(OptimiserRule(name="opt", **more),))


def regression() -> gw.Diagram:
    x = constant("x", np.linspace(-1, 1, 12, dtype=np.float64).reshape(6, 2))
    w = variable("w", np.array([[0.5, -0.25]]))
    b = variable("b", np.array([0.125]))
    y = gw.tanh(gw.linear(x, w, b), name="y")
    return gw.build(gw.loss(gw.mean(gw.square(y - 1.0)), name="loss"))


def noisy() -> gw.Diagram:
    """A loss that is another one at every step: ``w * noise``, so the gradient is the noise."""
    w = variable("w", np.zeros(3))
    noise = gw.random_normal(shape=[3], dtype="float64", name="noise")
    return gw.build(gw.loss(gw.sum(w * noise), name="loss"))


def noise_of(step: int) -> np.ndarray:
    session = Session(noisy())
    session.step_number = step
    return session.run(ports=["noise"]).values["noise.out"]


def game() -> gw.Diagram:
    """``L_d = d g``, which d climbs, and ``L_g = d g + g² / 2``."""
    d, g = variable("d", 1.0), variable("g", 2.0)
    return gw.build(gw.loss(d * g, name="L_d"), gw.loss(d * g + g * g * 0.5, name="L_g"))


def test_a_round_is_a_step_of_the_session_with_the_same_optimiser() -> None:
    stepped, trained = Session(regression()), Session(regression())
    trainer = gw.Trainer(trained, one())
    for record in trainer.run(5):
        run = stepped.step(gw.SGD(lr=0.1))
        assert record.losses == {"loss.out": float(run.values["loss.out"])}
        norm = math.sqrt(sum(float((g**2).sum()) for g in run.gradients.values() if g is not None))
        assert record.optimisers["opt"].grad_norm == pytest.approx(norm, rel=1e-14)
        for name in ("w", "b"):
            assert np.array_equal(trained.values[name], stepped.values[name])
    assert trainer.iterations == trained.step_number == 5
    assert trained.updated == {"w", "b"}


def test_records_come_one_by_one_and_as_many_as_the_recipe_says() -> None:
    recipe = replace_steps(one(), 7)
    trainer = gw.Trainer(Session(regression()), recipe)
    records = trainer.run()
    assert trainer.iterations == 0
    assert next(records).step == 1
    assert trainer.iterations == 1
    assert [record.step for record in records] == [2, 3, 4, 5, 6, 7]
    assert not list(trainer.run(0))
    for wrong in (-1, 1.5, True, "3"):
        with pytest.raises(gw.RunError, match="number of iterations"):
            trainer.run(wrong)


def replace_steps(recipe: Training, steps: int) -> Training:
    return recipe.model_copy(update={"steps": steps})


def test_without_a_recipe_everything_follows_all_losses_and_that_is_said() -> None:
    trainer = gw.Trainer(Session(game()))
    assert trainer.notes == (NO_RECIPE,)
    record = trainer.step()
    assert record.losses == {"L_d.out": 2.0, "L_g.out": 4.0}
    values = trainer.session.values
    assert float(values["d"]) == pytest.approx(1.0 - 0.1 * 4.0)
    assert float(values["g"]) == pytest.approx(2.0 - 0.1 * (1.0 + 1.0 + 2.0))


def test_the_recipe_of_the_diagram_is_taken() -> None:
    diagram = replace(regression(), training=one(method=SGDMethod(lr=0.0), steps=3))
    trainer = gw.Trainer(Session(diagram))
    assert not trainer.notes
    assert trainer.step().optimisers["opt"].updates == 3


def test_alternating_players_see_the_moves_before_theirs() -> None:
    recipe = Training(
        optimisers=(
            player("D", "d", "L_d", method=SGDMethod(lr=0.1, maximize=True), steps=2),
            player("G", "g", "L_g"),
        )
    )
    trainer = gw.Trainer(Session(game()), recipe)
    record = trainer.step()
    d = 1.0 + 0.1 * 2.0 + 0.1 * 2.0
    assert float(trainer.session.values["d"]) == pytest.approx(d)
    assert float(trainer.session.values["g"]) == pytest.approx(2.0 - 0.1 * (d + 2.0))
    assert record.losses == {"L_d.out": 2.0, "L_g.out": pytest.approx(d * 2.0 + 2.0)}
    assert trainer.session.step_number == 3


def test_simultaneous_players_take_their_gradients_before_any_moves() -> None:
    recipe = Training(
        order="simultaneous",
        optimisers=(
            player("D", "d", "L_d", method=SGDMethod(lr=0.1, maximize=True), steps=2),
            player("G", "g", "L_g"),
        ),
    )
    trainer = gw.Trainer(Session(game()), recipe)
    trainer.step()
    assert float(trainer.session.values["d"]) == pytest.approx(1.4)
    assert float(trainer.session.values["g"]) == pytest.approx(2.0 - 0.1 * (1.0 + 2.0))


def test_an_optimiser_takes_part_in_every_nth_round() -> None:
    recipe = Training(
        optimisers=(player("D", "d", "L_d", every=3), player("G", "g", "L_g", every=2)),
        record=("L_g",),
    )
    trainer = gw.Trainer(Session(game()), recipe)
    taken = [(tuple(r.optimisers), tuple(r.watched)) for r in trainer.run(6)]
    watched = ("L_g.out",)
    assert taken == [
        ((), ()),
        (("G",), watched),
        (("D",), watched),
        (("G",), watched),
        ((), ()),
        (("D", "G"), watched),
    ]


@pytest.mark.parametrize("reduce", ["mean", "sum"])
def test_gradients_of_several_passes_make_one_update(reduce: str) -> None:
    trainer = gw.Trainer(
        Session(noisy()), one(accumulate=3, reduce=reduce, method=SGDMethod(lr=1.0))
    )
    trainer.session.set("w", [1.0, 2.0, 3.0])
    record = trainer.step()
    total = noise_of(0) + noise_of(1) + noise_of(2)
    gradient = total / 3 if reduce == "mean" else total
    values = trainer.session.values["w"]
    np.testing.assert_allclose(values, np.array([1.0, 2.0, 3.0]) - gradient, rtol=1e-14)
    loss = float(gradient @ np.array([1.0, 2.0, 3.0]))
    assert record.losses["loss.out"] == pytest.approx(loss, rel=1e-14)
    assert record.optimisers["opt"].grad_norm == pytest.approx(float(np.linalg.norm(gradient)))
    assert trainer.session.step_number == 3
    trainer.step()
    assert trainer.session.step_number == 6


def test_a_variable_without_gradient_is_skipped_and_said_to_be() -> None:
    w, alone = variable("w", [1.0]), variable("alone", [1.0])
    diagram = gw.build(gw.loss(gw.sum(w * w), name="loss"), alone)
    decaying = one(method=AdamWMethod(lr=0.1, weight_decay=0.5))
    trainer = gw.Trainer(Session(diagram), decaying)
    assert "alone" in trainer.notes[0] and "no gradient" in trainer.notes[0]
    record = list(trainer.run(3))[-1]
    assert record.optimisers["opt"].skipped == ("alone",)
    assert record.optimisers["opt"].updated == ("w",)
    assert trainer.session.values["alone"].tolist() == [1.0]
    assert trainer.session.values["w"][0] < 1.0
    assert not any("alone" in name for name in trainer.state().arrays if "optimiser" in name)


def test_an_optimiser_without_any_gradient_has_no_norm() -> None:
    w, alone = variable("w", [1.0]), variable("alone", [1.0])
    diagram = gw.build(gw.loss(gw.sum(w * w), name="loss"), alone)
    trainer = gw.Trainer(Session(diagram), one(variables=("alone",)))
    about = trainer.step().optimisers["opt"]
    assert about.grad_norm is None and about.updates == 0 and about.skipped == ("alone",)


def test_groups_have_rates_of_their_own_and_schedules_count_updates() -> None:
    recipe = one(
        method=SGDMethod(lr=1.0),
        groups=(Group(variables=("b",), lr=0.0),),
        schedule=StepSchedule(step_size=2, gamma=0.5),
    )
    trainer = gw.Trainer(Session(regression()), recipe)
    rates = [record.optimisers["opt"].lr for record in trainer.run(5)]
    assert rates == [1.0, 1.0, 0.5, 0.5, 0.25]
    assert trainer.session.values["b"].tolist() == [0.125]


def test_clipping_shortens_all_gradients_together_and_records_the_norm_before() -> None:
    free, clipped = Session(regression()), Session(regression())
    norm = gw.Trainer(free, one()).step().optimisers["opt"].grad_norm
    assert norm is not None
    limited = one(clip=Clip(by="norm", limit=norm / 4))
    assert gw.Trainer(clipped, limited).step().optimisers["opt"].grad_norm == norm
    start = Session(regression()).values
    for name in ("w", "b"):
        quarter = (free.values[name] - start[name]) / 4
        np.testing.assert_allclose(clipped.values[name] - start[name], quarter, rtol=1e-4)
    bounded = Session(regression())
    gw.Trainer(bounded, one(clip=Clip(by="value", limit=1e-3))).step()
    assert np.max(np.abs(bounded.values["w"] - start["w"])) <= 1e-4 * (1 + 1e-12)


def averaged(**more: Any) -> tuple[gw.Trainer, list[tuple[float, float]]]:
    w, slow = variable("w", np.ones(2)), variable("slow", np.full(2, 5.0), trainable=False)
    diagram = gw.build(gw.loss(gw.sum(w), name="loss"), slow)
    rule = Average(name="ema", of="w", into="slow", **more)
    trainer = gw.Trainer(Session(diagram), Training(optimisers=one().optimisers, averages=(rule,)))
    found = []
    for _ in trainer.run(4):
        values = trainer.session.values
        found.append((float(values["w"][0]), float(values["slow"][0])))
    return trainer, found


def test_averages_follow_from_where_they_are_told_to_start() -> None:
    rates = [(0.9, 0.25 * 5 + 0.75 * 0.9)]
    assert averaged(decay=0.25)[1][:1] == [pytest.approx(pair) for pair in rates]
    first = averaged(decay=0.25, start="first_update")[1]
    assert first[0] == pytest.approx((0.9, 0.9))
    assert first[1] == pytest.approx((0.8, 0.25 * 0.9 + 0.75 * 0.8))
    debiased = averaged(decay=0.25, start="zero_debiased")[1]
    assert debiased[0] == pytest.approx((0.9, 0.9))
    raw = 0.25 * (0.75 * 0.9) + 0.75 * 0.8
    assert debiased[1] == pytest.approx((0.8, raw / (1 - 0.25**2)))


def test_a_lagged_copy_is_an_average_without_memory() -> None:
    lagged = averaged(decay=0.0, every=2)[1]
    assert [slow for _, slow in lagged] == pytest.approx([5.0, 0.8, 0.8, 0.6])


def test_recorded_ports_are_numbers_of_the_rounds_first_pass() -> None:
    diagram = regression()
    recipe = one().model_copy(update={"record": ("y",)})
    session = Session(diagram)
    expected = float(session.run().values["y.out"].mean())
    trainer = gw.Trainer(session, recipe)
    record = trainer.step()
    assert record.watched == {"y.out": pytest.approx(expected, rel=1e-14)}
    assert trainer.columns == ("loss.out", "lr/opt", "grad_norm/opt", "y.out")
    assert set(record.columns()) == set(trainer.columns)


def test_what_is_set_between_two_rounds_counts() -> None:
    session = Session(regression())
    trainer = gw.Trainer(session, one())
    trainer.step()
    session.set("b", [3.0])
    session.set("x", np.zeros((6, 2)))
    assert trainer.step().losses["loss.out"] == pytest.approx((math.tanh(3.0) - 1) ** 2)


def test_an_input_may_get_another_shape_between_two_rounds() -> None:
    x, w = gw.input("x", shape=[None, 2]), variable("w", np.array([[0.5, -0.25]]))
    diagram = gw.build(gw.loss(gw.mean(gw.square(gw.linear(x, w) - 1.0)), name="loss"))
    session = Session(diagram)
    session.set("x", np.ones((4, 2), np.float32))
    trainer = gw.Trainer(session, one(method=AdamMethod(lr=0.1)))
    trainer.step()
    session.set("x", np.ones((3, 2), np.float32))
    before = trainer.state().arrays["optimiser/opt/exp_avg/w"]
    assert before.any()
    assert trainer.step().optimisers["opt"].updates == 2


def test_an_edited_rate_counts_from_the_next_round_on_and_the_state_is_kept() -> None:
    diagram = replace(regression(), training=one(method=AdamMethod(lr=0.1)))
    session = Session(diagram)
    trainer = gw.Trainer(session)
    trainer.step()
    session.update(replace(diagram, training=one(method=AdamMethod(lr=0.001))))
    record = trainer.step()
    assert record.optimisers["opt"].lr == 0.001
    assert record.optimisers["opt"].updates == 2


def test_another_diagram_ends_the_training() -> None:
    session = Session(regression())
    trainer = gw.Trainer(session, one())
    trainer.step()
    session.update(game())
    with pytest.raises(gw.RunError, match="another diagram"):
        trainer.step()


def test_uses_of_a_page_train_the_variables_that_they_share() -> None:
    @gw.page
    def layer(x: gw.Expression) -> gw.Expression:
        return gw.tanh(gw.linear(x, variable("w", np.array([[0.5, -0.25], [0.1, 0.2]]))))

    x = constant("x", np.ones((3, 2)))
    diagram = gw.build(gw.loss(gw.mean(layer(layer(x))), name="loss"))
    stepped, trained = Session(diagram), Session(diagram)
    trainer = gw.Trainer(trained, one())
    for _ in trainer.run(3):
        stepped.step(gw.SGD(lr=0.1))
    for path in stepped.values:
        np.testing.assert_allclose(trained.values[path], stepped.values[path], rtol=1e-13)
    again = Session(trained.diagram_with_values())
    assert float(again.run().values["loss.out"]) == float(trained.run().values["loss.out"])


@pytest.mark.parametrize("fast", [False, True])
def test_trainings_of_examples_equal_steps_of_the_session(fast: bool) -> None:
    rng = np.random.default_rng(0)
    for sizes in ([3, 5, 1], [4, 4, 4, 4, 4], [64, 300, 10]):
        x = gw.constant("x", rng.standard_normal((16, sizes[0])).astype("f4"))
        y: Any = x
        for i, (n, m) in enumerate(itertools.pairwise(sizes)):
            w = gw.variable(f"w{i}", (rng.standard_normal((m, n)) * 0.3).astype("f4"))
            b = gw.variable(f"b{i}", np.zeros(m, "f4"))
            y = gw.tanh(gw.linear(y, w, b))
        diagram = gw.build(gw.loss(gw.mean(gw.square(y - 0.5)), name="loss"))
        stepped, trained = (Session(diagram, fast=fast) for _ in range(2))
        trainer = gw.Trainer(trained, one(method=SGDMethod(lr=0.05)))
        for record in trainer.run(5):
            run = stepped.step(gw.SGD(lr=0.05))
            assert record.losses["loss.out"] == pytest.approx(
                float(run.values["loss.out"]), rel=1e-5
            )
        for name, value in stepped.values.items():
            np.testing.assert_allclose(trained.values[name], value, rtol=2e-4, atol=1e-6)


def everything() -> Training:
    return Training(
        optimisers=(
            OptimiserRule(
                name="opt", method=AdamMethod(lr=0.05, amsgrad=True), accumulate=2,
                schedule=StepSchedule(step_size=3), clip=Clip(by="norm", limit=1.0),
            ),
        ),
        averages=(Average(name="ema", of="w", into="slow", start="zero_debiased"),),
    )  # fmt: skip


def with_average() -> gw.Diagram:
    w, slow = variable("w", np.ones(3)), variable("slow", np.zeros(3), trainable=False)
    noise = gw.random_normal(shape=[3], dtype="float64", name="noise")
    gain = gw.input("gain", 1.0, dtype="float64")
    return gw.build(gw.loss(gw.sum(gw.square(w - noise) * gain), name="loss"), slow)


def test_a_restored_state_goes_on_bit_by_bit() -> None:
    trainer = gw.Trainer(Session(with_average()), everything())
    list(trainer.run(4))
    state = trainer.state()
    expected = [record.losses for record in trainer.run(6)]
    end = trainer.state()
    other = gw.Trainer(Session(with_average()), everything())
    other.restore(state)
    assert other.iterations == 4
    assert [record.losses for record in other.run(6)] == expected
    trainer.restore(state)
    assert [record.losses for record in trainer.run(6)] == expected
    for state in (trainer.state(), other.state()):
        assert state.about == end.about
        assert {n: a.tobytes() for n, a in state.arrays.items()} == {
            n: a.tobytes() for n, a in end.arrays.items()
        }


def test_values_that_were_set_belong_to_the_state() -> None:
    session = Session(with_average())
    session.set("gain", 2.0)
    trainer = gw.Trainer(session, everything())
    trainer.step()
    state = trainer.state()
    expected = trainer.step().losses
    other = gw.Trainer(Session(with_average()), everything())
    other.restore(state)
    assert other.step().losses == expected
    third = Session(with_average())
    third.set("gain", 3.0)
    with pytest.raises(gw.FileError, match="gain was set to another value"):
        gw.Trainer(third, everything()).restore(state)


def test_a_state_of_another_diagram_or_recipe_is_refused_with_what_differs() -> None:
    trainer = gw.Trainer(Session(with_average()), everything())
    trainer.step()
    state = trainer.state()
    before = trainer.state()

    other = gw.Trainer(Session(regression()), one())
    with pytest.raises(gw.FileError, match="the diagram is another"):
        other.restore(state)
    slower = everything().model_copy(
        update={"optimisers": (everything().optimisers[0].model_copy(
            update={"method": AdamMethod(lr=0.01, amsgrad=True)}),)}
    )  # fmt: skip
    same = gw.Trainer(Session(with_average()), slower)
    with pytest.raises(gw.FileError, match=r"optimisers\[0\].method.lr: 0.05, now 0.01"):
        same.restore(state)
    longer = everything().model_copy(update={"steps": 12345})
    gw.Trainer(Session(with_average()), longer).restore(state)
    assert {n: a.tobytes() for n, a in trainer.state().arrays.items()} == {
        n: a.tobytes() for n, a in before.arrays.items()
    }


def test_a_training_is_the_same_every_time() -> None:
    runs = [gw.Trainer(Session(with_average()), everything()) for _ in range(2)]
    first, second = ([record.columns() for record in trainer.run(8)] for trainer in runs)
    assert first == second


def classes(**more: Any) -> gw.Diagram:
    x, y = gw.dataset(source="blobs", count=60, seed=3, name="data", **more)
    w, b = gw.variable("w", np.zeros((3, 2), "f4")), gw.variable("b", np.zeros(3, "f4"))
    return gw.build(gw.loss(gw.cross_entropy(gw.linear(x, w, b), y), name="loss"))


def test_each_pass_reads_the_next_batch() -> None:
    session = Session(classes(batch=8))
    trainer = gw.Trainer(session, one(method=SGDMethod(lr=0.0), accumulate=2))
    losses = [record.losses["loss.out"] for record in trainer.run(3)]
    expected = []
    for session.step_number in range(6):
        expected.append(float(session.run(ports=["loss"]).values["loss.out"]))
    assert losses == pytest.approx([np.mean(expected[i : i + 2]) for i in (0, 2, 4)], rel=1e-6)


def test_losses_on_validation_rows_are_computed_now_and_then() -> None:
    session = Session(classes(batch=8, validation=0.25, validation_batch=4))
    trainer = gw.Trainer(session, one(), validate=2)
    assert trainer.columns[-1] == "validation/loss.out"
    records = list(trainer.run(4))
    assert [record.validation is None for record in records] == [True, False, True, False]
    assert session.phase == "training" and session.step_number == 4
    session.phase = "validation"
    batches = []
    for session.step_number in range(4):
        batches.append(float(session.run(ports=["loss"]).values["loss.out"]))
    assert records[-1].validation == {"loss.out": pytest.approx(np.mean(batches), rel=1e-6)}
    untouched = Session(classes(batch=8, validation=0.25, validation_batch=4))
    without = list(gw.Trainer(untouched, one(), validate=0).run(4))
    assert [record.losses for record in records] == [record.losses for record in without]
    assert trainer.step().step == 5  # a session that was left in the other phase trains on
    assert session.phase == "validation"


def test_old_names_stay(tmp_path: Path) -> None:
    trainer = gw.Trainer(Session(regression()), one())
    trainer.step()
    state = trainer.state()
    assert trainer.rounds == trainer.iterations == state.rounds == state.iterations == 1
    assert trainer.turns is trainer.optimisers
    file = gw.save_checkpoint(tmp_path, state)
    assert json.loads(file.read_text(encoding="utf-8"))["rounds"] == 1
    error = gw.DivergedError("loss", ["loss.out"], "opt")
    error.iteration = 3
    assert error.round == 3
    assert gw.TrainingRun.rounds is gw.TrainingRun.iterations
