"""The trainings of a combination, over its seeds."""

from __future__ import annotations

import math

import pytest

from gradwire.runtime.training.studies.files import Variant
from gradwire.runtime.training.studies.results import Results, deviation, mean
from gradwire.runtime.training.studies.task import Trained, TrainingTask
from gradwire.runtime.training.studies.varying import PlannedTraining


def trained(value):
    return Trained(status="trained", measured={"loss.out": value}, seconds=1.0)


PLANNED = [
    PlannedTraining({"lr": lr, "seed": seed}, TrainingTask(Variant(), seed))
    for lr in (0.1, 0.2)
    for seed in (0, 1)
]


def test_mean_and_deviation_are_those_of_the_finite_numbers():
    values = (1.0, math.nan, 3.0, math.inf)
    assert (mean(values), deviation(values)) == (2.0, pytest.approx(math.sqrt(2)))
    assert mean((math.nan,)) is deviation((1.0,)) is None


def test_trainings_are_grouped_over_seeds_in_the_order_of_the_plan():
    ended = {3: trained(4.0), 0: trained(1.0), 1: Trained(status="diverged", reason="NaN")}
    results = Results({"lr": (0.1, 0.2), "seed": (0, 1)}, PLANNED, ended)
    assert not results.is_complete and results.measured == ("loss.out",)
    one, other = results.combinations()
    assert (one.settings, other.settings) == ({"lr": 0.1}, {"lr": 0.2})
    assert one.values("loss.out")[0] == 1.0 and math.isnan(one.values("loss.out")[1])
    assert other.values("loss.out") == (4.0,)
    assert (one.count("trained"), one.count("diverged"), other.count("failed")) == (1, 1, 0)
    assert (one.label, other.label) == ("lr = 0.1", "lr = 0.2")


def test_of_seeds_alone_there_is_one_combination():
    planned = [PlannedTraining({"seed": seed}, TrainingTask(Variant(), seed)) for seed in range(2)]
    (one,) = Results({"seed": (0, 1)}, planned, dict(enumerate([trained(1.0)] * 2))).combinations()
    assert one.label == "all" and one.values("loss.out") == (1.0, 1.0)
