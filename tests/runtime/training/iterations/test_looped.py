"""Rounds that are made in a loop of an engine: those of the NumPy engine, many in one call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import load
from gradwire.runtime.diagram.optimisers import METHODS
from gradwire.runtime.diagram.training import Average, Clip, OptimiserRule, Training
from gradwire.runtime.engine import Session
from gradwire.runtime.training.records import DivergedError
from gradwire.runtime.training.saving.runs import Pace, TrainingRun
from gradwire.runtime.training.trainer import Trainer
from tests.examples import gallery

pytest.importorskip("jax")

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.training.records import StepRecord

EXAMPLES = [gallery.path(name) for name in gallery.TRAINING]
NEAR = 2e-5
"""Differences of compiled arithmetic after a dozen rounds of the examples."""


def trainers(diagram: Diagram, training: Training | None = None, **how: Any) -> list[Trainer]:
    sessions = Session(diagram, fast=False), Session(diagram, engine="jax")
    return [Trainer(session, training, **how) for session in sessions]


def assert_alike(found: list[StepRecord], wanted: list[StepRecord], near: float = NEAR) -> None:
    assert [record.step for record in found] == [record.step for record in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one.columns().keys() == other.columns().keys()
        for name, number in other.columns().items():
            assert one.columns()[name] == pytest.approx(number, rel=near, abs=near), name
        for name, about in other.optimisers.items():
            mine = one.optimisers[name]
            assert (mine.updates, mine.skipped, set(mine.updated)) == (
                about.updates, about.skipped, set(about.updated),
            )  # fmt: skip


def assert_same_state(found: Trainer, wanted: Trainer, near: float = NEAR) -> None:
    one, other = found.state(), wanted.state()
    assert one.about == other.about
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in other.arrays.items():
        assert (one.arrays[name].dtype, one.arrays[name].shape) == (array.dtype, array.shape)
        np.testing.assert_allclose(one.arrays[name], array, rtol=near, atol=near, err_msg=name)


@pytest.mark.sampled(one_in=13)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name.partition(".")[0])
def test_the_examples_train_alike_and_states_go_from_engine_to_engine(path: Path) -> None:
    plain, looped = trainers(load(path), validate=5)
    assert looped.columns == plain.columns
    assert looped.notes == plain.notes
    wanted = list(plain.run(12))
    assert_alike(list(looped.run(12, together=4)), wanted)
    assert_same_state(looped, plain)
    plain.restore(looped.state())
    assert_alike(list(looped.run(2)), list(plain.run(2)))
    assert looped.session.step_number == plain.session.step_number


def small(dtype: str = "float32") -> Diagram:
    w = gw.variable("w", [[0.5, -1.0], [2.0, 0.25]], dtype=dtype)
    b = gw.variable("b", [0.5, -0.5], dtype=dtype)
    shadow = gw.variable("shadow", np.zeros((2, 2)), dtype=dtype, trainable=False)
    noise = gw.random_uniform(shape=[4, 2], dtype=dtype, name="noise")
    y = gw.tanh(gw.linear(noise, w, b), name="y")
    behind = gw.mean(gw.abs(gw.matmul(noise, shadow)))
    return gw.build(
        gw.loss(gw.mean(gw.square(y)), name="near"), gw.loss(gw.square(behind), name="far")
    )


KINDS = [str(method.model_fields["kind"].default) for method in METHODS]


@pytest.mark.night
@pytest.mark.parametrize("method", KINDS)
def test_every_method_moves_variables_alike(method: str) -> None:
    options: dict[str, Any] = {"kind": method, "lr": 0.05, "weight_decay": 0.01}
    if method == "sgd":
        options |= {"momentum": 0.9, "nesterov": True}
    rule = {"name": "all", "method": options, "clip": {"by": "norm", "limit": 0.3}}
    plain, looped = trainers(small(), Training.model_validate({"optimisers": [rule]}))
    assert_alike(list(looped.run(12, together=5)), list(plain.run(12)))
    assert_same_state(looped, plain)


RECIPES: dict[str, dict[str, Any]] = {
    "several passes": {
        "optimisers": [{"name": "a", "accumulate": 3, "clip": {"by": "value", "limit": 0.01}}]
    },
    "sums of passes": {"optimisers": [{"name": "a", "accumulate": 2, "reduce": "sum"}]},
    "one after the other": {
        "optimisers": [
            {"name": "a", "variables": ["w"], "losses": ["near"], "steps": 2},
            {"name": "b", "variables": ["b"], "every": 2},
        ]
    },
    "nothing to do in most": {
        "optimisers": [{"name": "a", "method": {"kind": "adam"}, "every": 3, "steps": 2}]
    },
    "at once": {
        "order": "simultaneous",
        "optimisers": [
            {"name": "a", "variables": ["w"], "steps": 2},
            {"name": "b", "variables": ["b"], "method": {"kind": "adam"}},
        ],
    },
    "averages": {
        "optimisers": [{"name": "a", "schedule": {"kind": "cosine", "t_max": 5}}],
        "averages": [
            {"name": "slow", "of": "w", "into": "shadow", "decay": 0.9, "every": 3,
             "start": "zero_debiased"}
        ],
    },
    "a first copy": {
        "optimisers": [{"name": "a"}],
        "averages": [
            {"name": "slow", "of": "w", "into": "shadow", "start": "first_update"}
        ],
    },
}  # fmt: skip


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", RECIPES)
def test_every_kind_of_round_is_made_alike(name: str, dtype: str) -> None:
    recipe = Training.model_validate({"record": ["y"], **RECIPES[name]})
    plain, looped = trainers(small(dtype), recipe)
    near = NEAR if dtype == "float32" else 1e-12
    assert_alike(list(looped.run(9, together=9)), list(plain.run(9)), near)
    assert_same_state(looped, plain, near)


def test_what_is_set_between_two_calls_counts() -> None:
    plain, looped = trainers(small())
    for trainer in (plain, looped):
        list(trainer.run(3))
        trainer.session.set("b", [0.1, 0.2])
    assert_alike(list(looped.run(3)), list(plain.run(3)))
    np.testing.assert_allclose(looped.session.values["b"], plain.session.values["b"], rtol=1e-5)


def explosive() -> Diagram:
    x = gw.variable("x", [1.5, 0.5])
    return gw.build(gw.loss(gw.sum(gw.exp(gw.square(x))), name="loss"), gw.variable("other", 1.0))


@pytest.mark.parametrize("lr", [0.5, 1e30], ids=["gradient or loss", "variable"])
def test_a_divergence_ends_the_call_with_everything_as_it_was(lr: float) -> None:
    rule = {"name": "up", "method": {"kind": "sgd", "lr": lr, "maximize": True}}
    plain, looped = trainers(explosive(), Training.model_validate({"optimisers": [rule]}))
    told: list[tuple[Any, ...]] = []
    for trainer, together in ((plain, 1), (looped, 50)):
        records = []
        with pytest.raises(DivergedError) as caught:
            for record in trainer.run(50, together=together):
                records.append(record)
        error = caught.value
        told.append(
            (len(records), trainer.iterations, trainer.session.step_number, error.iteration,
             error.step_number, error.where, error.names, error.optimiser, error.what)
        )  # fmt: skip
        with pytest.raises(DivergedError):
            trainer.step()
    assert told[0] == told[1]
    np.testing.assert_allclose(looped.session.values["x"], plain.session.values["x"], rtol=1e-5)
    looped.session.set("x", [0.1, 0.1])
    assert looped.step().step == plain.iterations + 1


def test_a_run_writes_the_same_history_and_goes_on_with_another_engine(tmp_path: Path) -> None:
    plain, looped = trainers(small())
    for trainer, name in ((plain, "plain"), (looped, "looped")):
        with TrainingRun(trainer, tmp_path / name, every=5) as run:
            assert len(list(run.iterations(12))) == 12
            run.finish()
    names = [
        sorted(path.name for path in (tmp_path / name / "checkpoints").glob("*.json"))
        for name in ("plain", "looped")
    ]
    assert names[0] == names[1] == ["checkpoint-000000010.json", "checkpoint-000000012.json"]
    lines = [
        (tmp_path / name / "history.jsonl").read_text().splitlines() for name in ("plain", "looped")
    ]
    assert len(lines[0]) == len(lines[1]) == 12
    other = Trainer(Session(small(), fast=False))
    with TrainingRun(other, tmp_path / "looped", resume=tmp_path / "looped") as run:
        wanted = list(plain.run(3))
        assert_alike(list(run.iterations(15)), wanted)


def test_a_state_of_another_recipe_is_refused() -> None:
    plain, _ = trainers(small())
    rule = OptimiserRule(name="other", clip=Clip(by="norm", limit=1.0))
    _, looped = trainers(small(), Training(optimisers=(rule,)))
    with pytest.raises(FileError):
        looped.restore(plain.state())


def test_an_average_of_its_own_dtype(tmp_path: Path) -> None:
    pairs = Average(name="slow", of="w", into="shadow", decay=0.5)
    recipe = Training(optimisers=(OptimiserRule(name="a"),), averages=(pairs,))
    plain, looped = trainers(small("float64"), recipe)
    assert_alike(list(looped.run(4, together=4)), list(plain.run(4)), 1e-12)
    assert_same_state(looped, plain, 1e-12)


def test_the_pace_is_found_once() -> None:
    pace = Pace(gains=False)
    pace.took(1, 1e-6)
    assert pace.most == 1
    quick, slow, steady = (Pace(gains=True) for _ in range(3))
    for each, seconds in ((quick, 0.01), (slow, 5.0), (steady, 0.5)):
        assert each.most == 10
        each.took(10, 3.0)
        assert each.most == 10
        each.took(5, seconds)
        assert each.most == 10
        each.took(10, seconds)
    assert (quick.most, slow.most, steady.most) == (100, 1, 10)
    assert Pace(gains=True, together=7).most == 7
