"""``gradwire study DIAGRAM --vary …``: a table, files, resuming, and what it refuses."""

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

import pytest

import gradwire as gw

VARY = ("--vary", "lr=0.1,0.5", "--vary", "seed=0..2")


@pytest.fixture
def regression(tmp_path: Path) -> Path:
    """A regression with a recipe of 20 rounds."""
    points = gw.dataset(source="sine", count=40, batch=8, validation=0.2, name="points")
    out = gw.linear(points[0], gw.own(), gw.own(), units=1, name="out")
    loss = gw.loss(gw.mean(gw.square(gw.sub(out, points[1], name="error"))), name="loss")
    recipe = {"optimisers": [{"name": "opt", "method": {"kind": "sgd", "lr": 0.2}}], "steps": 20}
    path = tmp_path / "regression.gradwire.json"
    gw.save(gw.build(loss, training=recipe), path)
    return path


def timeless(text: str) -> Any:
    """What is in a results.json, without times."""
    found = json.loads(text)
    for study in found["studies"]:
        for each in (*study["combinations"], *study["trainings"]):
            each.pop("seconds")
    return found


def test_a_table_of_all_combinations(gradwire, regression):
    done = gradwire("study", regression, *VARY, "--workers", "1")
    assert done.code == 0 and done.err == ""
    assert "6 trainings of 2 combinations." in done.out
    head, *rows = done.table("Mean ± standard deviation over 3 seeds")
    assert head == ["lr", "loss.out", "validation/loss.out", "ended", "seconds"]
    assert [(row[0], row[3]) for row in rows] == [("0.1", "3 trained"), ("0.5", "3 trained")]
    assert all("±" in row[1] and "±" in row[2] for row in rows)


@pytest.mark.night
def test_processes_give_the_same_report_and_files(gradwire, regression, tmp_path):
    one, two = (
        gradwire("study", regression, *VARY, "--workers", n, "--out", tmp_path / n, "--json")
        for n in ("1", "2")
    )
    assert one.code == two.code == 0
    assert timeless(one.out) == timeless(two.out)
    assert timeless((tmp_path / "2" / "results.json").read_text()) == timeless(two.out)
    for name in ("over_lr.svg", "curves.svg"):
        assert (tmp_path / "1" / name).read_text() == (tmp_path / "2" / name).read_text()
    (study,) = one.json["studies"]
    assert (one.json["report"], one.json["version"]) == ("study", 1)
    assert study["varied"] == {"lr": [0.1, 0.5], "seed": [0, 1, 2]}
    assert study["measured"] == ["loss.out", "validation/loss.out"]
    first = study["combinations"][0]
    assert first["settings"] == {"lr": 0.1} and first["trained"] == 3
    values = first["measured"]["loss.out"]["values"]
    assert values == [each["measured"]["loss.out"] for each in study["trainings"][:3]]
    rows = list(csv.DictReader((tmp_path / "1" / "results.csv").read_text().splitlines()))
    assert [(row["lr"], row["seed"]) for row in rows[:4]] == [
        ("0.1", "0"), ("0.1", "1"), ("0.1", "2"), ("0.5", "0"),
    ]  # fmt: skip
    assert [float(row["loss.out"]) for row in rows[:3]] == values


def test_other_numbers_can_be_measured(gradwire, regression):
    done = gradwire(
        "study", regression, "--seeds", "2", "--measure", "error", "--steps", "3", "--workers", "1"
    )
    assert done.code == 0
    assert done.table("Mean ± standard deviation over 2 seeds")[0][:2] == [
        "error.out", "validation/error.out",
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow")
def test_trainings_without_a_number_have_a_reason(gradwire, regression, tmp_path):
    vary = ("--vary", "lr=0.1,1e30", "--vary", "points.batch=8,100", "--workers", "1")
    done = gradwire("study", regression, *vary, "--out", tmp_path / "s")
    assert done.code in (0, 3)
    rows = done.table("Not trained to the end")[1:]
    assert "diverged" in {row[1] for row in rows}
    assert any("lr = 1e+30" in row[0] and "not finite" in row[2] for row in rows)
    report = json.loads((tmp_path / "s" / "results.json").read_text())
    reasons = [each["reason"] for each in report["studies"][0]["trainings"]]
    assert reasons[0] == "" and reasons[-1]


def test_one_that_fails_is_the_exit_code(gradwire, tmp_path):
    w = gw.reshape(gw.variable("w", [1.0, 2.0]), shape=(2,), name="form")
    gw.save(gw.build(gw.loss(gw.sum(w), name="loss")), tmp_path / "d.gradwire.json")
    vary = ("--vary", "form.shape=[2],[3]", "--steps", "2", "--workers", "1")
    done = gradwire("study", tmp_path / "d.gradwire.json", *vary)
    assert done.code == 3
    ((training, status, reason),) = done.table("Not trained to the end")[1:]
    assert (training, status) == ("form.shape = [3]", "failed") and "form" in reason


def test_the_same_folder_goes_on_and_a_changed_study_is_refused(gradwire, regression, tmp_path):
    out = tmp_path / "s"
    first = gradwire("study", regression, *VARY, "--out", out, "--workers", "1", "--json")
    for arguments in (("--out", out, *VARY), ("--resume", out)):
        again = gradwire("study", regression, *arguments, "--json")
        assert again.code == 0 and again.out == first.out
        assert "6 trainings have ended already" in again.err
    other = gradwire("study", regression, "--vary", "lr=0.1", "--out", out)
    assert other.code == 2
    assert "another one" in other.err and "lr: [0.1, 0.5], now [0.1]" in other.err
    steps = gradwire("study", regression, "--resume", out, "--steps", "5")
    assert steps.code == 2 and "steps: nothing, now 5" in steps.err


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "nothing to vary"),
        (("--vary", "lr"), "NAME=VALUES"),
        (("--vary", "lrr=1"), "Did you mean lr"),
        (("--vary", "lr=1", "--vary", "lr=2"), "given twice"),
        (("--vary", "seed=0", "--seeds", "2"), "are the same"),
        (("--vary", "lr=0..200", "--vary", "seed=0..99"), "at most 10,000"),
        (("--vary", "lr=1", "--measure", "los"), "Did you mean loss"),
        (("--vary", "lr=1", "--workers", "0"), "--workers"),
        (("--resume", "MISSING"), "no study in this folder"),
        (("--vary", "lr=1", "--out", "A", "--resume", "A/.."), "its own folder"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_trained(
    gradwire, regression, tmp_path, monkeypatch, arguments, told
):
    monkeypatch.chdir(tmp_path)
    done = gradwire("study", regression, *arguments)
    assert done.code in (2, 3) and done.out == ""
    assert told in done.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["regression.gradwire.json"]


def test_a_diagram_is_studied_alone(gradwire, regression):
    done = gradwire("study", regression, regression, "--vary", "lr=1")
    assert done.code == 2 and "alone" in done.err


def test_a_diagram_with_problems_is_not_trained(gradwire, diagram):
    done = gradwire("study", diagram({"loss": {"type": "Loss"}}, {}), "--vary", "seed=0..1")
    assert done.code == 1 and done.out == ""


def process(*arguments: object, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gradwire", "study", *map(str, arguments)], text=True, **more
    )


def wait_for_lines(folder: Path, count: int) -> None:
    for _ in range(1200):
        path = folder / "trainings.jsonl"
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.05)
    raise AssertionError("no training has ended")


def children_of(pid: int) -> Path:
    """The file in which Linux lists the processes that a process has started."""
    return Path(f"/proc/{pid}/task/{pid}/children")


def has_ended(pid: str) -> bool:
    """Whether a process has ended, and nobody may have asked how."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


LAST_IS_LONG = ("--vary", "steps=20..24,30000")


@pytest.mark.night
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_study_that_is_killed_goes_on_to_the_same_table(gradwire, regression, tmp_path):
    out = tmp_path / "s"
    begun = (*LAST_IS_LONG, "--workers", "2", "--out", out)
    with process(regression, *begun, stdout=subprocess.DEVNULL) as study:
        wait_for_lines(out, 2)
        study.kill()
    assert not (out / "results.json").exists()
    again = gradwire("study", regression, "--resume", out, "--workers", "1", "--json")
    assert again.code == 0 and "ended already" in again.err
    whole = gradwire("study", regression, *LAST_IS_LONG, "--workers", "1", "--json")
    assert timeless(again.out) == timeless(whole.out)
    assert (out / "trainings.jsonl").read_text().count("\n") == 6


@pytest.mark.night
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize(
    "send",
    [
        lambda pid: os.killpg(pid, signal.SIGINT),  # as a terminal does, to all of its processes
        lambda pid: os.kill(pid, signal.SIGTERM),  # as `kill` does
    ],
)
def test_what_has_ended_is_kept_when_a_study_is_asked_to_end(gradwire, regression, tmp_path, send):
    out = tmp_path / "s"
    endless = ("--vary", "steps=5,6,10000000", "--workers", "2", "--out", out)
    with process(regression, *endless, stderr=subprocess.PIPE, start_new_session=True) as study:
        wait_for_lines(out, 2)
        send(study.pid)
        _, err = study.communicate(timeout=60)
    assert study.returncode == 130
    assert "Interrupted after 2 of 3 trainings, which are kept in" in err
    assert f"gradwire study {regression} --resume {out}" in err
    assert "Traceback" not in err
    assert (out / "trainings.jsonl").read_text().count("\n") == 2


@pytest.mark.night
@pytest.mark.skipif(not children_of(os.getpid()).exists(), reason="asks the system for children")
def test_processes_end_with_the_one_that_started_them(regression, tmp_path):
    endless = ("--vary", "steps=5,10000000", "--workers", "2", "--out", tmp_path / "s")
    with process(regression, *endless, stdout=subprocess.DEVNULL) as study:
        wait_for_lines(tmp_path / "s", 1)
        children = children_of(study.pid).read_text().split()
        study.kill()
    assert len(children) >= 2
    for _ in range(1200):
        if all(map(has_ended, children)):
            return
        time.sleep(0.05)
    raise AssertionError("processes go on without the one that started them")


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
def test_a_terminal_shows_how_many_trainings_have_ended(regression):
    reading, writing = pty.openpty()
    with process(
        regression, *VARY, "--workers", "1", stderr=writing, stdout=subprocess.DEVNULL,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    ) as study:  # fmt: skip
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
        study.wait(timeout=60)
    os.close(reading)
    assert b"6/6" in shown


def test_workers_are_those_of_the_scheduler(gradwire, regression):
    done = gradwire("study", regression, *VARY, "--workers", "2", "--scheduler", "tcp://a:1")
    assert done.code == 2 and "takes no --workers" in done.err
