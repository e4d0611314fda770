"""Runs are read back from what a training and the editor write; other files are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime.training.curves import CurveRecording, csv_of
from gradwire.runtime.training.history import csv_header, csv_line, json_line
from gradwire.runtime.training.saving.reading import MOST_RUNS, read_recordings

ROWS = [
    (1, {"L.out": 2.0, "G.out": -1.0, "lr/opt": 0.1, "grad_norm/opt": None, "h.out": 4.0}),
    (2, {"L.out": math.inf, "G.out": -2.0, "lr/opt": 0.1, "grad_norm/opt": 3.0, "h.out": 5.0}),
    (7, {"L.out": 0.5, "G.out": -3.0, "lr/opt": 0.1, "grad_norm/opt": 1e-300, "h.out": math.nan}),
]


def history(path):
    names = list(ROWS[0][1])
    if path.suffix == ".csv":
        path.write_text(csv_header(names) + "".join(csv_line(names, *row) for row in ROWS))
    else:
        path.write_text("".join(json_line(*row) for row in ROWS))
    return path


@pytest.mark.parametrize("name", ["history.jsonl", "history.csv", "other.csv"])
def test_the_history_of_a_training(tmp_path, name):
    folder = tmp_path / "spiral-7"
    folder.mkdir()
    (run,) = read_recordings(history(folder / name))
    assert run.name == ("other" if name == "other.csv" else "spiral-7")
    assert run.losses == ("L.out", "G.out")
    assert run.step == 7
    for column in ROWS[0][1]:
        wanted = [(step, row[column]) for step, row in ROWS if row[column] is not None]
        steps, numbers = run.series(column)
        assert steps.tolist() == [step for step, _ in wanted]
        finite = [number if math.isfinite(number) else math.nan for _, number in wanted]
        np.testing.assert_array_equal(numbers, finite)


def test_names_that_begin_a_formula_are_guarded_and_read_back(tmp_path):
    names = ["=HYPERLINK(1).out", "-x.out", "'y.out"]
    path = tmp_path / "history.csv"
    path.write_text(csv_header(names) + csv_line(names, 1, dict.fromkeys(names, -2.0)))
    assert path.read_text() == "step,'=HYPERLINK(1).out,'-x.out,'y.out\n1,-2.0,-2.0,-2.0\n"
    (run,) = read_recordings(path)
    assert [*run.names] == names
    made = [CurveRecording("+one"), CurveRecording("two")]
    for each in made:
        each.add(1, {"@SUM.out": 1.0})
    path.write_text(csv_of(made))
    assert path.read_text().splitlines()[:2] == ["run,step,'@SUM.out", "'+one,1,1.0"]
    assert [run.name for run in read_recordings(path)] == ["+one", "two"]


def test_the_folder_of_a_training(tmp_path):
    history(tmp_path / "history.jsonl")
    (run,) = read_recordings(tmp_path)
    assert run.name == tmp_path.name


def test_exported_curves_are_as_they_were_drawn(tmp_path):
    made = [CurveRecording("one"), CurveRecording("two, and more")]
    for run, scale in zip(made, (1.0, -2.0), strict=True):
        for step in range(1, 10_000):
            run.add(step, {"L.out": scale * math.sin(step), "lr/opt": 0.125})
    path = tmp_path / "curves.csv"
    path.write_text(csv_of(made))
    for run, read in zip(made, read_recordings(path), strict=True):
        assert read.name == run.name
        assert read.names == run.names
        assert read.losses == ("L.out",)
        for name in run.names:
            for wanted, got in zip(run.points(name), read.points(name), strict=True):
                np.testing.assert_array_equal(wanted, got)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", 1, "not a header"),
        ("step,L\n", None, "no numbers"),
        ("a,b\n1,2\n", 1, "not a header"),
        ("step\n1\n", 1, "not a header"),
        ("step,L,L\n1,2,3\n", 1, "there twice"),
        ("step,L\n1,2,3\n", 2, "3 cells"),
        ("step,L\n1,2\n1,3\n", 3, "not after"),
        ("step,L\n-1,2\n", 2, "not a step"),
        ("step,L\n1.5,2\n", 2, "not a step"),
        ("step,L\n99999999999999999999,2\n", 2, "not a step"),
        ("step,L\n1,two\n", 2, "not a number"),
        ("step,L\n1,1_0\n", 2, "not a number"),
        ("step,L\n1,1e999\n", 2, "not a number"),
        ('step,L\n1,"2\n', None, "not CSV"),
        ("step,L\n1," + 70_000 * "1" + "\n", 2, "not CSV"),
        ("run,step,L\n" + "".join(f"{i},1,2\n" for i in range(MOST_RUNS + 1)), 66, "too many"),
        ("step," + ",".join(f"c{i}" for i in range(7_000)) + "\n", 1, "7,000 columns"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, line, why):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(FileError, match=why) as caught:
        read_recordings(path)
    assert caught.value.path == str(path)
    if line is not None:
        assert caught.value.line == line


def test_other_files_are_no_runs(tmp_path):
    path = tmp_path / "bytes.csv"
    path.write_bytes(b"step,L\n1,\xff\n")
    with pytest.raises(FileError, match="UTF-8"):
        read_recordings(path)
    with pytest.raises(FileError, match="read"):
        read_recordings(tmp_path / "missing.csv")
