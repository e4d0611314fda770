"""Histories: columns in bounded memory, and the files that runs write."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest

import gradwire as gw
from gradwire import History, OptimiserRecord, StepRecord
from gradwire.runtime.training.saving.reading import HistoryFiles


def record(step: int, loss: float = 0.5, **more: object) -> StepRecord:
    about = OptimiserRecord(lr=0.1, grad_norm=None if step == 2 else float(step))
    return StepRecord(step, {"loss.out": loss}, {"opt": about}, **more)


def test_columns_have_only_what_is_there() -> None:
    history = History()
    history.append(record(1))
    history.append(record(2, validation={"loss.out": 0.75}))
    history.append(record(3, math.nan))
    assert history.names == ("loss.out", "lr/opt", "grad_norm/opt", "validation/loss.out")
    steps, norms = history.series("grad_norm/opt")
    assert steps.tolist() == [1, 3] and norms.tolist() == [1.0, 3.0]  # None is not 0
    steps, validation = history.series("validation/loss.out")
    assert steps.tolist() == [2] and validation.tolist() == [0.75]
    assert math.isnan(history.series("loss.out")[1][2])  # NaN is a number that was there
    assert len(history) == 3
    with pytest.raises(KeyError):
        history.series("accuracy")


def test_memory_is_bounded_and_the_whole_run_stays() -> None:
    history = History(capacity=64)
    for step in range(1, 10_001):
        history.append(record(step, float(step)))
    assert 32 <= len(history) <= 64
    steps, losses = history.series("loss.out")
    assert np.array_equal(steps, losses)
    assert steps[0] == 1 and steps[-1] > 10_000 - history.stride
    assert set(np.diff(steps)) == {history.stride}
    assert history.last["loss.out"] == 10_000.0


def test_a_history_is_cut_back_where_a_training_goes_on() -> None:
    history = History(capacity=8)
    for step in range(1, 21):
        history.append(record(step, float(step)))
    history.truncate(10)
    assert history.steps.max() <= 10
    for step in range(11, 31):
        history.append(record(step, -float(step)))
    steps, losses = history.series("loss.out")
    assert np.array_equal(np.where(steps <= 10, steps, -steps), losses)
    assert np.all(np.diff(steps) > 0)


def test_text_of_both_kinds_says_the_same() -> None:
    history = History()
    for step in range(1, 5):
        history.append(record(step, [0.1, math.inf, -math.inf, math.nan][step - 1]))
    rows = list(csv.DictReader(io.StringIO(history.csv())))
    lines = [json.loads(line) for line in history.json_lines().splitlines()]
    assert [row["loss.out"] for row in rows] == ["0.1", "inf", "-inf", "nan"]
    assert [line["loss.out"] for line in lines] == [0.1, "inf", "-inf", "nan"]
    assert rows[1]["grad_norm/opt"] == "" and "grad_norm/opt" not in lines[1]
    assert "NaN" not in history.json_lines()


def test_files_are_read_back_and_a_torn_end_is_left_out(tmp_path: Path) -> None:
    files = HistoryFiles(tmp_path, ["loss.out", "lr/opt", "grad_norm/opt"])
    files.begin()
    for step in range(1, 6):
        files.append(record(step, 1 / step))
    files.close()
    path = tmp_path / "history.jsonl"
    steps, losses = History.read(path).series("loss.out")
    assert steps.tolist() == [1, 2, 3, 4, 5] and losses.tolist() == [1 / n for n in range(1, 6)]
    path.write_bytes(path.read_bytes()[:-7])
    assert History.read(path).steps.tolist() == [1, 2, 3, 4]
    rows = list(csv.DictReader((tmp_path / "history.csv").read_text().splitlines()))
    assert [int(row["step"]) for row in rows] == [1, 2, 3, 4, 5]


def test_rows_after_the_checkpoint_are_cut_off_and_written_once(tmp_path: Path) -> None:
    files = HistoryFiles(tmp_path, ["loss.out"])
    files.begin()
    files.append(record(1))
    position = files.sync()
    files.append(record(2))
    files.close()
    again = HistoryFiles(tmp_path, ["loss.out"])
    again.go_on(position)
    again.append(record(2, 0.25))
    again.close()
    history = History.read(tmp_path / "history.jsonl")
    assert history.series("loss.out")[1].tolist() == [0.5, 0.25]
    assert (tmp_path / "history.csv").read_text() == "step,loss.out\n1,0.5\n2,0.25\n"


def test_a_history_that_is_not_that_of_the_checkpoint_is_refused(tmp_path: Path) -> None:
    files = HistoryFiles(tmp_path, ["loss.out"])
    files.begin()
    files.append(record(1))
    position = files.sync()
    files.close()
    path = tmp_path / "history.jsonl"
    content = path.read_bytes()
    for changed in (content[:-1], content.replace(b"0.5", b"0.6"), b""):
        path.write_bytes(changed)
        with pytest.raises(gw.FileError, match="not that of the checkpoint"):
            HistoryFiles(tmp_path, ["loss.out"]).go_on(position)
        assert path.read_bytes() == changed
    for wrong in (None, {}, {"history.jsonl": {"bytes": -1, "sha256": ""}}, {"history.jsonl": 7}):
        with pytest.raises(gw.FileError, match="how far"):
            HistoryFiles(tmp_path, ["loss.out"]).go_on(wrong)


def test_links_are_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "precious.txt"
    victim.write_text("keep me")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "history.jsonl").symlink_to(victim)
    with pytest.raises(gw.FileError):
        HistoryFiles(folder, []).begin()
    (folder / "history.jsonl").unlink()
    (folder / "history.jsonl").hardlink_to(victim)
    with pytest.raises(gw.FileError, match="not a file that a training may write"):
        HistoryFiles(folder, []).begin()
    assert victim.read_text() == "keep me"


@pytest.mark.parametrize(
    "line",
    [
        "[]", "3", '{"step": "1"}', '{"step": true}', '{"step": -1}', '{"loss": 1}', "{",
        '{"step": 1, "loss": [1]}', '{"step": 1, "loss": "one"}', '{"step": 1, "loss": true}',
        '{"step": 1, "loss": ' + "9" * 400 + "}", "[" * 100_000, '{"step": 0}',
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text('{"step": 0, "loss": 1}\n' + line + "\n")
    with pytest.raises(gw.FileError) as caught:
        History.read(path)
    assert caught.value.line == 2
