"""A study in a folder goes on where it was, and only if it is the same one."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

import gradwire as gw
from gradwire.blocks.errors import FileError
from gradwire.runtime.training.studies.files import Measure, Variant
from gradwire.runtime.training.studies.folder import (
    SETTINGS,
    TRAININGS,
    StudyFolder,
    StudySettings,
    plain,
    stored_settings,
)
from gradwire.runtime.training.studies.results import carry_out
from gradwire.runtime.training.studies.task import (
    LossCurve,
    StudyWork,
    Trained,
    TrainingTask,
    in_this_process,
)
from gradwire.runtime.training.studies.varying import plan
from tests.runtime.training.studies.studies import line, noisy, numbers

VARIED = {"lr": (0.5, 1.0), "seed": (0, 1)}
DONE = Trained(
    status="trained",
    measured={"loss.out": 0.1, "x.out": float("inf"), "y.out": float("nan")},
    seconds=0.5,
    curves={"loss.out": LossCurve(steps=(1, 2), values=(1.0, float("nan")))},
)


def settings(diagram=None, varied=VARIED, measures=(), steps=5):
    return StudySettings.of(diagram or line(), varied, measures, steps)


def lines(folder):
    return (folder / TRAININGS).read_text(encoding="utf-8").splitlines(keepends=True)


def study(folder, most=None):
    """Carry out a study in a folder; ``most`` trainings at most."""

    def run(work, tasks):
        yield from in_this_process(work, tasks[:most])

    work, planned = StudyWork.on(line()), plan(line(), VARIED, 5)
    with StudyFolder(folder, settings()) as kept:
        return carry_out(work, VARIED, planned, run, kept), kept.notes


def test_a_line_is_written_for_each_training_and_read_again(tmp_path):
    with StudyFolder(tmp_path / "new" / "s", settings()) as folder:
        folder.append({"lr": 0.5, "seed": 0}, DONE)
        (only,) = lines(folder.folder)
        assert json.loads(only)["result"]["measured"] == {
            "loss.out": 0.1, "x.out": "inf", "y.out": "nan",
        }  # fmt: skip
    with StudyFolder(tmp_path / "new" / "s", settings()) as again:
        (found,) = again.done.values()
        assert plain(found) == plain(DONE)
        assert again.notes == ["The study goes on: 1 training has ended already."]


@pytest.mark.parametrize("most", [0, 1, 3, 4])
def test_a_study_that_was_interrupted_ends_as_one_that_was_not(tmp_path, most):
    whole, _ = study(tmp_path / "whole")
    part, _ = study(tmp_path / "part", most)
    assert len(part.trained) == most and part.is_complete == (most == 4)
    end, notes = study(tmp_path / "part")
    assert numbers(end) == numbers(whole)
    assert len(lines(tmp_path / "part")) == 4
    assert bool(notes) == bool(most)


def test_a_last_line_that_was_cut_off_is_trained_again(tmp_path):
    whole, _ = study(tmp_path)
    text = "".join(lines(tmp_path))
    for length in (len(text) - 1, len(text) - 40, len("".join(lines(tmp_path)[:3])) + 1):
        (tmp_path / TRAININGS).write_text(text[:length], encoding="utf-8")
        end, notes = study(tmp_path)
        assert "cut off" in notes[-1]
        assert numbers(end) == numbers(whole)
        with StudyFolder(tmp_path, settings()) as again:
            assert len(again.done) == 4


def test_one_that_failed_is_trained_again(tmp_path):
    with StudyFolder(tmp_path, settings()) as folder:
        folder.append({"lr": 0.5, "seed": 0}, DONE)
        folder.append({"lr": 0.5, "seed": 1}, Trained.failed("Its process ended."))
        folder.append({"lr": 0.5, "seed": 0}, Trained.failed("Its process ended."))
        folder.append({"lr": 1.0, "seed": 0}, Trained.failed("Its process ended."))
        folder.append({"lr": 1.0, "seed": 0}, DONE)
    with StudyFolder(tmp_path, settings()) as folder:
        assert list(folder.done) == ['{"lr": 1.0, "seed": 0}']


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (settings(varied={"lr": (0.5, 2.0), "seed": (0, 1)}), r"lr: \[0.5, 1.0\], now \[0.5, 2.0"),
        (settings(varied={"lr": (0.5, 1.0)}), r"seed: \[0, 1\], now nothing"),
        (settings(steps=6), "steps: 5, now 6"),
        (settings(measures=[Measure(port="w")]), "measures"),
        (settings(line(rate=2.0)), "recipe.optimisers.*lr: 1.0, now 2.0"),
        (settings(noisy()), "distance is gone"),
        (StudySettings(**{**dict(settings()), "variants": {"a": Variant()}}), "variants.a"),
    ],
    ids=["values", "names", "steps", "measures", "recipe", "diagram", "variants"],
)
def test_another_study_is_refused_with_what_differs(tmp_path, other, told):
    study(tmp_path)
    with pytest.raises(FileError, match=told), StudyFolder(tmp_path, other):
        pass
    assert len(lines(tmp_path)) == 4


def test_the_first_values_of_variables_belong_to_the_study(tmp_path):
    def diagram(value):
        return gw.build(gw.loss(gw.square(gw.variable("w", value))))

    with StudyFolder(tmp_path, settings(diagram(1.0))):
        pass
    with StudyFolder(tmp_path, settings(replace(diagram(1.0), title="Another"))):
        pass
    other = StudyFolder(tmp_path, settings(diagram(2.0)))
    with pytest.raises(FileError, match="w differs"), other:
        pass


@pytest.mark.parametrize(
    "bad",
    [
        "{}\n", "[]\n", "not json\n", "[" * 3000 + "\n",
        '{"settings": {}, "result": {"status": "well"}}\n',
        '{"settings": {}, "result": {"status": "trained", "measured": {"a": "many"}}}\n',
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_a_line_that_is_no_training_is_named(tmp_path, bad):
    study(tmp_path)
    kept = lines(tmp_path)
    (tmp_path / TRAININGS).write_text(kept[0] + bad + kept[1], encoding="utf-8")
    with pytest.raises(FileError) as caught, StudyFolder(tmp_path, settings()):
        pass
    assert caught.value.line == 2


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"varied": 1}', '{"varied": {"a": 1}}'])
def test_settings_that_are_none_are_refused(tmp_path, text):
    (tmp_path / SETTINGS).write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"study\.json"):
        stored_settings(tmp_path)


def test_a_folder_without_a_study_is_none_to_go_on_with(tmp_path):
    with pytest.raises(FileError, match="no study in this folder"):
        stored_settings(tmp_path)
    (tmp_path / TRAININGS).write_text("")
    with pytest.raises(FileError, match="not its settings"), StudyFolder(tmp_path, settings()):
        pass


@pytest.mark.skipif(os.name != "posix", reason="locks a folder")
def test_two_processes_do_not_write_to_one_folder(tmp_path):
    second = StudyFolder(tmp_path, settings())
    with StudyFolder(tmp_path, settings()):
        with pytest.raises(FileError, match="Another process"), second:
            pass
    with second:
        pass


def test_what_is_stored_is_what_was_asked_for(tmp_path):
    asked = settings(measures=[Measure(port="w", passes=2)])
    with StudyFolder(tmp_path, asked):
        pass
    assert stored_settings(tmp_path) == asked
    assert stored_settings(tmp_path).differences(asked) == []


def test_a_task_is_done_by_the_settings_and_not_by_its_place(tmp_path):
    made: list[TrainingTask] = []

    def run(work, tasks):
        made.extend(tasks)
        yield from ()

    with StudyFolder(tmp_path, settings()) as folder:
        folder.append({"seed": 1, "lr": 1.0}, DONE)
    with StudyFolder(tmp_path, settings()) as folder:
        results = carry_out(StudyWork.on(line()), VARIED, plan(line(), VARIED, 5), run, folder)
    assert list(results.trained) == [3] and len(made) == 3
