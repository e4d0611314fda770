"""The results of a study as text, CSV and JSON."""

from __future__ import annotations

import csv
import json

import pytest

from gradwire.runtime.publish.studies.tables import results_csv, results_json, results_parts
from gradwire.runtime.publish.text import plain
from gradwire.runtime.training.studies.files import Variant
from gradwire.runtime.training.studies.results import Results
from gradwire.runtime.training.studies.task import Trained, TrainingTask
from gradwire.runtime.training.studies.varying import PlannedTraining

VARIED = {"lr": (0.1, 1e-7), "act": ("tanh", "=relu"), "seed": (0, 1)}


def trained(*values):
    names = ("loss.out", "x.out")
    return Trained(status="trained", measured=dict(zip(names, values, strict=False)), seconds=1.0)


@pytest.fixture
def results():
    planned = [
        PlannedTraining({"lr": lr, "act": act, "seed": seed}, TrainingTask(Variant(), seed))
        for lr in VARIED["lr"] for act in VARIED["act"] for seed in (0, 1)
    ]  # fmt: skip
    ended = {
        0: trained(0.5, float("inf")), 1: trained(1.5, 2.0), 2: trained(-1.0, 2.0),
        3: Trained(status="diverged", reason="Iteration 3: loss.out is not finite."),
        4: Trained.failed("@Its process ended."), 5: Trained.failed("@Its process ended."),
    }  # fmt: skip
    return Results(VARIED, planned, ended)


def test_a_row_for_each_combination_with_mean_and_deviation(results):
    text = plain(results_parts(results))
    rows = [line.split("  ") for line in text.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert ["6 trainings of 3 combinations, 2 more to do, 1 diverged, 2 failed."] in cells
    assert ["lr", "act", "loss.out", "x.out", "ended", "seconds"] in cells
    assert ["0.1", "tanh", "1 ± 0.71", "2", "2 trained", "2"] in cells
    assert ["0.1", "=relu", "-1", "2", "1 trained, 1 diverged", "1"] in cells
    assert ["1e-07", "tanh", "2 failed", "0"] in cells


def test_a_reason_is_told_once(results):
    table = results_parts(results)[-1]
    assert table.rows == (
        ("lr = 0.1, act = =relu, seed = 1", "diverged", "Iteration 3: loss.out is not finite."),
        ("lr = 1e-07, act = tanh, seed = 0 and 1 more", "failed", "@Its process ended."),
    )


def test_csv_has_a_line_for_each_training_and_no_formula(results):
    rows = list(csv.DictReader(results_csv(results).splitlines()))
    assert len(rows) == 6
    assert rows[0] == {
        "lr": "0.1", "act": "tanh", "seed": "0", "loss.out": "0.5", "x.out": "inf",
        "status": "trained", "reason": "", "seconds": "1.000",
    }  # fmt: skip
    assert (rows[2]["act"], rows[2]["loss.out"]) == ("'=relu", "-1.0")
    assert (rows[4]["loss.out"], rows[4]["reason"]) == ("", "'@Its process ended.")
    assert float(rows[4]["lr"]) == 1e-7


def test_json_is_strict_and_has_no_number_where_there_is_none(results):
    report = json.loads(json.dumps(results_json(results), allow_nan=False))
    assert report["measured"] == ["loss.out", "x.out"]
    first = report["combinations"][0]
    assert first["settings"] == {"lr": 0.1, "act": "tanh"}
    assert first["measured"]["x.out"]["values"] == [None, 2.0]
    assert first["measured"]["loss.out"]["mean"] == 1.0
    assert first["measured"]["loss.out"]["largest"] == 1.5
    assert report["trainings"][0]["measured"] == {"loss.out": 0.5, "x.out": "inf"}
    assert report["trainings"][3]["measured"] == {}


def test_without_seeds_there_is_no_spread():
    planned = [PlannedTraining({"lr": 0.1}, TrainingTask(Variant()))]
    table = results_parts(Results({"lr": (0.1,)}, planned, {0: trained(0.5)}))[1]
    assert table.title == "Results" and table.rows[0][1] == "0.5"


def test_many_combinations_are_counted():
    planned = [PlannedTraining({"lr": lr}, TrainingTask(Variant())) for lr in range(105)]
    results = Results({"lr": range(105)}, planned, dict.fromkeys(range(105), trained(1.0)))
    _, table, more = results_parts(results)
    assert len(table.rows) == 100 and more == "… and 5 more combinations."
