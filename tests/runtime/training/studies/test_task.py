"""One training of a study: what it measures, and what it says if it goes wrong."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import RunError
from gradwire.runtime.data.files import access
from gradwire.runtime.training.iterations.validation import Validation
from gradwire.runtime.training.studies.files import Measure, Variant
from gradwire.runtime.training.studies.task import (
    StudyWork,
    TrainingTask,
    in_this_process,
    require_runnable,
    seeded,
    train,
)
from tests.runtime.training.studies.studies import line, noisy

AS_IT_IS = TrainingTask(Variant(), 0)


def test_the_losses_of_the_last_round_are_measured_on_validation_rows_too():
    trained = train(StudyWork.on(noisy()), TrainingTask(Variant(), 3, 12))
    trainer = gw.Trainer(seeded(noisy(), 3), validate=0)
    records = list(trainer.run(12))
    assert trained.status == "trained" and trained.reason == ""
    assert trained.measured["loss.out"] == records[-1].losses["loss.out"]
    validation = Validation.of(trainer.session, trainer.session.losses)
    assert trained.measured["validation/loss.out"] == validation.losses()["loss.out"]
    assert trained.curves["loss.out"].steps == tuple(range(1, 13))
    assert trained.curves["loss.out"].values == tuple(r.losses["loss.out"] for r in records)


def test_a_port_is_measured_after_training():
    work = StudyWork.on(noisy(), [Measure(port="error.out", passes=2)])
    trained = train(work, AS_IT_IS)
    assert list(trained.measured) == ["error.out", "validation/error.out"]
    session = seeded(noisy(), 0)
    list(gw.Trainer(session, validate=0).run())
    means = []
    for _ in range(2):
        session.step_number += 1
        means.append(float(np.mean(session.run().values["error.out"])))
    assert trained.measured["error.out"] == np.mean(means)
    session.phase, session.step_number = "validation", 1
    expected = float(np.mean(session.run().values["error.out"]))
    assert trained.measured["validation/error.out"] == expected


def test_random_numbers_on_validation_rows_are_the_same_after_any_number_of_rounds():
    noise = gw.random_normal(shape=(4,), name="noise")
    loss = gw.loss(gw.mean(gw.square(noise * gw.variable("w", 1.0))))
    work = StudyWork.on(gw.build(loss, gw.loss(loss_of_points())), [Measure(port="noise")])
    one, other = (train(work, TrainingTask(Variant(), 0, steps)).measured for steps in (2, 9))
    assert one["validation/noise"] == other["validation/noise"]
    assert one["noise"] != other["noise"]


def loss_of_points():
    points = gw.dataset(source="sine", count=40, batch=8, validation=0.2, name="points")
    return gw.mean(gw.square(points[0] * gw.variable("v", 1.0)))


def test_a_study_file_measures_in_the_phase_that_it_says():
    work = StudyWork.on(noisy(), [Measure(port="error.out", phase="validation")], validate=False)
    assert list(train(work, AS_IT_IS).measured) == ["error.out"]


def test_curves_of_long_trainings_are_means():
    trained = train(StudyWork.on(line()), TrainingTask(Variant(), 0, 1000))
    steps = trained.curves["loss.out"].steps
    assert len(steps) <= 256 and steps[-1] == 1000


@pytest.mark.filterwarnings("ignore:overflow")
def test_one_that_diverges_says_in_which_round_and_why():
    wild = Variant(training={"optimisers": [{"name": "o", "method": {"kind": "sgd", "lr": 1e30}}]})
    trained = train(StudyWork.on(line()), TrainingTask(wild))
    assert trained.status == "diverged" and not trained.measured
    assert trained.reason.startswith("Iteration ") and "not finite" in trained.reason


def test_whatever_goes_wrong_is_said():
    broken = Variant(set={"hidden": {"units": 0}})
    trained = train(StudyWork.on(noisy()), TrainingTask(broken))
    assert trained.status == "failed" and trained.reason and not trained.measured


def test_too_little_memory_is_said(monkeypatch):
    def exhausted(*given):
        raise MemoryError("Unable to allocate 3 TiB")

    monkeypatch.setattr("gradwire.runtime.training.studies.task.open_session", exhausted)
    trained = train(StudyWork.on(line()), AS_IT_IS)
    assert (trained.status, trained.reason) == (
        "failed", "There is not enough memory. Unable to allocate 3 TiB",
    )  # fmt: skip


def test_a_fault_of_a_plug_in_is_said(monkeypatch):
    def faulty(*given):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("gradwire.runtime.training.studies.task.open_session", faulty)
    assert train(StudyWork.on(line()), AS_IT_IS).reason == "ZeroDivisionError: oh"


def test_one_that_is_stopped_gives_nothing_and_the_next_does_not_begin():
    asked = []

    def stop():
        asked.append(1)
        return len(asked) > 20

    work = StudyWork.on(line())
    ended = list(
        in_this_process(work, [TrainingTask(Variant(), seed, 10) for seed in range(5)], stop)
    )
    assert [number for number, _ in ended] == [0, 1]


def test_what_is_sent_is_the_text_of_the_diagram_and_data_is_read_where_it_lies(
    tmp_path, monkeypatch
):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "points.csv").write_text("x\n1\n2\n3\n")
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    data = gw.block("Dataset", source="csv", path="../data/points.csv", columns={"x": {}}, name="d")
    loss = gw.loss(gw.mean(gw.square(gw.variable("w", 0.5) - data["x"])), name="L")
    gw.save(gw.build(loss), tmp_path / "home" / "d.gradwire.json")
    monkeypatch.setattr(access, "_allowed", set())
    diagram = gw.load(tmp_path / "home" / "d.gradwire.json")
    assert "lies outside" in train(StudyWork.on(diagram), AS_IT_IS).reason
    access.allow_data(tmp_path / "data")
    work = StudyWork.on(diagram)
    monkeypatch.setattr(access, "_allowed", set())
    assert isinstance(work.diagram, str) and "points.csv" in work.diagram
    trained = train(pickle.loads(pickle.dumps(work)), TrainingTask(Variant(), 0, 200))
    assert trained.status == "trained", trained.reason
    assert math.isclose(trained.measured["L.out"], 2 / 3, rel_tol=1e-3)


@pytest.mark.parametrize(
    ("measures", "told"),
    [([Measure(port="los")], "loss"), ([Measure(port="w.grad")], "w")],
)
def test_what_keeps_a_training_from_running_is_raised_before(measures, told):
    with pytest.raises(RunError, match=told):
        require_runnable(StudyWork.on(line(), measures), AS_IT_IS)
