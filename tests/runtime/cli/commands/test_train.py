"""``gradwire train``: folders, resuming, stopping, and what it says."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.library.data import Dataset
from gradwire.runtime.data.files import access
from gradwire.runtime.diagram import AddBlock, Connect, PortName, RemoveBlocks, apply
from gradwire.runtime.diagram.optimisers import SGDMethod
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.training.saving import runs
from gradwire.runtime.training.studies.task import seeded

TRAINED = "trained.gradwire.json"


@pytest.fixture
def regression(tmp_path: Path) -> Path:
    """A regression with a recipe of 40 rounds."""
    x = gw.random_normal(shape=[8, 2], name="x")
    w = gw.variable("w", [[0.5, -0.25]])
    loss = gw.loss(gw.mean(gw.square(gw.linear(x, w) - gw.sum(x, axis=1, keepdims=True))), name="L")
    recipe = Training(optimisers=(OptimiserRule(name="opt", method=SGDMethod(lr=0.1)),), steps=40)
    path = tmp_path / "regression.gradwire.json"
    gw.save(gw.build(loss, training=recipe.to_record()), path)
    return path


@pytest.fixture
def diverging(tmp_path: Path) -> Path:
    """The logarithm of a number that falls below 0, for the noise, after some rounds."""
    x, noise = gw.variable("x", [1.0, 2.0]), gw.random_normal(shape=[2], name="noise")
    loss = gw.loss(gw.sum(gw.log(x + noise * 0.1, name="log")), name="loss")
    recipe = Training(optimisers=(OptimiserRule(name="opt", method=SGDMethod(lr=0.05)),))
    path = tmp_path / "diverging.gradwire.json"
    gw.save(gw.build(loss, training=recipe.to_record()), path)
    return path


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "history.csv").read_text().splitlines()))


def test_a_folder_has_history_checkpoints_and_the_trained_diagram(gradwire, regression, tmp_path):
    out = tmp_path / "out"
    done = gradwire("train", regression, "--out", out)
    assert done.code == 0 and done.err == ""
    assert "Trained for 40 iterations" in done.out and str(out / TRAINED) in done.out
    assert [int(row["step"]) for row in rows(out)] == list(range(1, 41))
    lines = (out / "history.jsonl").read_text().splitlines()
    assert [float(row["L.out"]) for row in rows(out)] == [json.loads(x)["L.out"] for x in lines]
    trained = gw.load(out / TRAINED).pages["main"].blocks["w"].value.array
    assert np.max(np.abs(trained - 1)) < 0.05
    assert gw.load_checkpoint(out / "checkpoints").state.iterations == 40


def test_alarms_are_reported_with_block_and_round(gradwire, tmp_path):
    hidden = gw.relu(gw.variable("w", -3.0) * gw.constant("x", 2.0), name="act")
    diagram = gw.build(gw.loss(gw.square(hidden - 1.0), name="L"))
    path = tmp_path / "dead.gradwire.json"
    gw.save(diagram, path)
    done = gradwire("train", path, "--out", tmp_path / "out", "--steps", "10")
    assert done.code == 0
    assert "No gradient left: it is 0 from step 1 on, first at act" in done.out
    again = gradwire("train", path, "--out", tmp_path / "other", "--steps", "10", "--json")
    (alarm,) = json.loads(again.out)["alarms"]
    assert (alarm["trouble"], alarm["block"], alarm["step"]) == ("dead", "act", 1)


def test_the_trained_diagram_opens_with_its_data(gradwire, tmp_path, monkeypatch):
    monkeypatch.setattr(access, "_allowed", set())
    home, out = tmp_path / "project", tmp_path / "runs" / "1"
    home.mkdir()
    out.parent.mkdir()
    (home / "points.csv").write_text("x\n1\n2\n3\n")
    data = Dataset(source="csv", path="points.csv", columns={"x": {}})
    x = gw.dataset(name="data", count=3)[0]
    loss = gw.loss(gw.mean(gw.square(gw.variable("w", 0.5) - x)), name="L")
    diagram = apply(gw.build(loss), RemoveBlocks(("data",))).after
    diagram = apply(diagram, AddBlock("data", data)).after
    wires = gw.build(loss).main.wire_list()
    (target,) = (wire.target for wire in wires if wire.source.block == "data")
    gw.save(apply(diagram, Connect(PortName("data", "x"), target)).after, home / "d.gradwire.json")
    done = gradwire("train", home / "d.gradwire.json", "--out", out, "--steps", "3")
    assert done.code == 0, done.err
    again = gradwire("run", out / TRAINED)
    assert (again.code, again.err) == (0, "")
    assert (out / "data" / "points.csv").read_text() == "x\n1\n2\n3\n"


def test_a_seed_is_that_of_a_study(gradwire, regression, tmp_path):
    def losses(name, *more):
        done = gradwire("train", regression, "--out", tmp_path / name, "--steps", "5", *more)
        assert done.code == 0, done.err
        return [row["L.out"] for row in rows(tmp_path / name)]

    plain, zero, one = losses("a"), losses("b", "--seed", "0"), losses("c", "--seed", "1")
    assert plain == zero != one
    trainer = gw.Trainer(seeded(gw.load(regression), 1))
    assert [float(loss) for loss in one] == [r.losses["L.out"] for r in trainer.run(5)]
    whole = losses("d", "--seed", "1", "--steps", "9")
    again = gradwire("train", regression, "--resume", tmp_path / "c", "--steps", "9", "--seed", "1")
    assert again.code == 0, again.err
    assert [row["L.out"] for row in rows(tmp_path / "c")] == whole
    bad = gradwire("train", regression, "--out", tmp_path / "e", "--seed", "-1")
    assert bad.code == 2 and "--seed" in bad.err


def test_data_of_another_folder_is_read_if_it_is_allowed(gradwire, tmp_path, monkeypatch):
    monkeypatch.setattr(access, "_allowed", set())
    home, data = tmp_path / "project", tmp_path / "data"
    home.mkdir()
    data.mkdir()
    (data / "points.csv").write_text("x\n1\n2\n3\n")
    block = Dataset(source="csv", path="../data/points.csv", columns={"x": {}})
    loss = gw.loss(gw.mean(gw.square(gw.variable("w", 0.5) - gw.constant("x", [1.0]))), name="L")
    diagram = apply(gw.build(loss), AddBlock("data", block)).after
    gw.save(diagram, home / "d.gradwire.json")
    train = ("train", home / "d.gradwire.json", "--steps", "3", "--out")
    refused = gradwire(*train, tmp_path / "a")
    assert refused.code == 1 and "--allow-data DIR" in refused.err + refused.out
    done = gradwire(*train, tmp_path / "b", "--allow-data", data)
    assert done.code == 0, done.err
    no_folder = gradwire(*train, tmp_path / "c", "--allow-data", data / "points.csv")
    assert no_folder.code == 2 and "is not a folder" in no_folder.err


def test_a_resumed_training_ends_as_an_uninterrupted_one(gradwire, regression, tmp_path):
    whole, parts, other = (tmp_path / name for name in ("whole", "parts", "other"))
    assert gradwire("train", regression, "--out", whole, "--steps", "30").code == 0
    assert gradwire("train", regression, "--out", parts, "--steps", "10").code == 0
    copied = gradwire("train", regression, "--resume", parts, "--out", other, "--steps", "30")
    assert "goes on after iteration 10" in copied.out
    assert gradwire("train", regression, "--resume", parts, "--steps", "30").code == 0
    for name in ("history.jsonl", "history.csv", TRAINED):
        expected = (whole / name).read_bytes()
        assert (parts / name).read_bytes() == (other / name).read_bytes() == expected
    again = gradwire("train", regression, "--resume", parts, "--steps", "30")
    assert again.code == 0 and "30 iterations are made already" in again.out


def test_checkpoints_come_as_often_as_asked(gradwire, regression, tmp_path, monkeypatch):
    from gradwire.runtime.training.saving import runs

    saved: list[int] = []
    save = runs.save_checkpoint
    monkeypatch.setattr(
        runs,
        "save_checkpoint",
        lambda f, state, e: (saved.append(state.iterations), save(f, state, e)),
    )
    gradwire("train", regression, "--out", tmp_path / "out", "--steps", "10", "--every", "4")
    assert saved == [4, 8, 10]


def test_values_are_set_and_must_be_the_same_when_resumed(gradwire, tmp_path):
    x, w = gw.input("x", shape=[2]), gw.variable("w", [1.0, 1.0])
    path, out = tmp_path / "d.gradwire.json", tmp_path / "out"
    gw.save(gw.build(gw.loss(gw.sum(gw.square(x * w)), name="loss")), path)
    assert gradwire("train", path, "--out", out, "--steps", "1").code == 2
    done = gradwire("train", path, "--out", out, "--steps", "2", "--set", "x=[1, 2]")
    assert done.code == 0 and "has no recipe" in done.out
    wrong = gradwire("train", path, "--resume", out, "--steps", "3", "--set", "x=[1, 3]")
    assert wrong.code == 2 and "x was set to another value" in wrong.err
    assert gradwire("train", path, "--resume", out, "--steps", "3").code == 0


def test_nothing_is_overwritten(gradwire, regression, tmp_path):
    out = tmp_path / "out"
    gradwire("train", regression, "--out", out, "--steps", "3")
    before = (out / "history.jsonl").read_bytes()
    again = gradwire("train", regression, "--out", out, "--steps", "3")
    assert again.code == 2 and "already" in again.err and "Resume" in again.err
    assert (out / "history.jsonl").read_bytes() == before


def test_another_diagram_is_refused_with_what_differs(gradwire, regression, diverging, tmp_path):
    out = tmp_path / "out"
    gradwire("train", regression, "--out", out, "--steps", "3")
    wrong = gradwire("train", diverging, "--resume", out)
    assert wrong.code == 2 and "the diagram is another" in wrong.err and "is gone" in wrong.err


def test_a_damaged_checkpoint_is_said_and_the_one_before_is_taken(gradwire, regression, tmp_path):
    out = tmp_path / "out"
    gradwire("train", regression, "--out", out, "--steps", "8", "--every", "4")
    expected = rows(out)
    (last,) = (out / "checkpoints").glob("checkpoint-000000008.json")
    last.write_text(last.read_text()[:-40])
    done = gradwire("train", regression, "--resume", out, "--steps", "8")
    assert done.code == 0
    assert "checkpoint-000000008.json can't be used" in done.out
    assert "goes on after iteration 4" in done.out
    assert rows(out) == expected


def test_a_training_stops_at_nan_and_names_the_block_and_the_pass(gradwire, diverging, tmp_path):
    out = tmp_path / "out"
    done = gradwire("train", diverging, "--out", out, "--steps", "500")
    assert done.code == 1
    assert "log" in done.err and "not finite" in done.err and "gradwire doctor" in done.err
    about = json.loads((out / "diverged.json").read_text())
    assert about["findings"][0]["block"] == "log"
    assert about["round"] == len(rows(out)) + 1
    doctor = gradwire("doctor", out / "diverged.gradwire.json", "--json")
    assert doctor.code == 1
    assert doctor.json["findings"][0]["where"] == "log"
    report = gradwire("train", diverging, "--out", tmp_path / "json", "--json", "--steps", "500")
    assert report.code == 1 and report.json["diverged"]["findings"][0]["block"] == "log"


def test_json_has_what_the_table_has(gradwire, regression, tmp_path):
    report = gradwire("train", regression, "--out", tmp_path / "out", "--json").json
    assert (report["report"], report["version"], report["rounds"]) == ("train", 1, 40)
    assert set(report["losses"]) == {"L.out"}
    assert report["optimisers"]["opt"]["updates"] == 40


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("--out", "OUT", "--steps", "-1"), ("--out", "OUT", "--steps", "many"),
        ("--out", "OUT", "--steps", "9" * 40), ("--out", "OUT", "--every", "0"),
        ("--resume", "MISSING"), ("--resume", "EMPTY"), ("--out", "FILE"),
        ("--out", "OUT", "--set", "nothing=1"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_bad_usage(gradwire, regression, tmp_path, arguments):
    (tmp_path / "empty").mkdir()
    names = {"OUT": "out", "MISSING": "missing", "EMPTY": "empty", "FILE": regression.name}
    paths = [tmp_path / names[each] if each in names else each for each in arguments]
    assert gradwire("train", regression, *paths).code == 2
    assert not (tmp_path / "out" / "history.jsonl").exists()


def test_a_diagram_with_problems_is_not_trained(gradwire, diagram, tmp_path):
    broken = diagram({"loss": {"type": "Loss"}}, {})
    assert gradwire("train", broken, "--out", tmp_path / "out").code == 1
    assert not (tmp_path / "out").exists()


def process(*arguments: object, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gradwire", "train", *map(str, arguments)], text=True, **more
    )


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_what_asks_a_training_to_end_writes_a_checkpoint(gradwire, regression, tmp_path, number):
    out = tmp_path / "out"
    asks = getattr(signal, number)
    if signal.getsignal(asks) is signal.SIG_IGN:  # by nohup or in the background: it is inherited
        signal.signal(asks, signal.SIG_DFL)
    training = process(
        regression, "--out", out, "--steps", "100000000", "--every", "50", stderr=subprocess.PIPE
    )
    with training:
        for _ in range(600):
            if (out / "checkpoints").exists() and any((out / "checkpoints").glob("*.json")):
                break
            time.sleep(0.1)
        training.send_signal(asks)
        try:
            _, err = training.communicate(timeout=120)
        finally:
            training.kill()
    assert training.returncode == 130
    assert "Interrupted after iteration" in err and "--resume" in err
    made = gw.load_checkpoint(out / "checkpoints").state.iterations
    assert len(rows(out)) == made
    whole = tmp_path / "whole"
    assert gradwire("train", regression, "--out", whole, "--steps", made + 5).code == 0
    assert gradwire("train", regression, "--resume", out, "--steps", made + 5).code == 0
    assert (whole / "history.csv").read_bytes() == (out / "history.csv").read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="locks a folder")
def test_two_processes_do_not_train_into_one_folder(gradwire, regression, tmp_path):
    out = tmp_path / "out"
    trainer = gw.Trainer(gw.Session(gw.load(regression)))
    with gw.TrainingRun(trainer, out) as run:
        next(run.iterations(2))
        run.checkpoint()
        second = gradwire("train", regression, "--resume", out)
        assert second.code == 2 and "Another process" in second.err


@pytest.mark.night
@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
def test_a_terminal_shows_a_bar_with_losses_and_steps_per_second(regression, tmp_path):
    reading, writing = pty.openpty()
    with process(
        regression, "--out", tmp_path / "out", stderr=writing, stdout=subprocess.DEVNULL,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    ) as training:  # fmt: skip
        os.close(writing)
        shown = b""
        while True:
            try:
                part = os.read(reading, 4096)
            except OSError:  # the other end is closed
                break
            shown += part
            if not part:
                break
        training.wait(timeout=60)
    os.close(reading)
    assert b"40/40" in shown and b"steps/s" in shown and b" L " in shown


@pytest.mark.parametrize(("longest", "after"), [(0.0, [1, 2, 3]), (1e9, [])])
def test_a_slow_training_has_checkpoints_by_the_clock(
    regression, tmp_path, monkeypatch, longest, after
):
    monkeypatch.setattr(runs, "LONGEST", longest)
    trainer, made = gw.Trainer(gw.Session(gw.load(regression))), []
    with gw.TrainingRun(trainer, tmp_path / "out", together=1) as run:
        for record in run.iterations(3):
            if any((tmp_path / "out").glob("checkpoints/*.json")):
                found = gw.load_checkpoint(tmp_path / "out" / "checkpoints")
                made.append(found.state.iterations)
                assert record.step == made[-1]
    assert made == after
