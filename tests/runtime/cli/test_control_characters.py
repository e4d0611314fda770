"""No command prints what has power over a terminal, whatever a file or its name says."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from gradwire.runtime.cli.entry import COMMANDS
from gradwire.runtime.lessons.answers import sealed
from tests.fuzz.printing import POWERFUL
from tests.runtime.lessons.test_answers import record

BAD = "\x1b[31mred\x07\r\x9b2J\u202e\u2028\x7f"
"""Colour, a bell, a return, a second introducer, a turn of direction, a line break, a delete."""
KEY = "k\u202e\u2028"
"""A key of a Pack; files refuse the other characters there."""
INVOCATIONS: dict[str, list[list[str]]] = {
    "run": [["FILE"], ["FILE", "--json"], ["FILE", "--loss", BAD], ["FILE", "--set", f"{BAD}=1"]],
    "flow": [["FILE"], ["FILE", "--run", "--json"], ["FILE", "--wire", BAD],
             ["FILE", "--run", "--ledger", "--dialects"]],
    "whatif": [["FILE", "--open", "stop"], ["FILE", "--freeze", BAD]],
    "doctor": [["FILE"], ["FILE", "--json"], ["FILE", "--loss", BAD]],
    "quiz": [
        *(["FILE", "--format", each] for each in ("gift", "moodle", "aiken")),
        ["FILE", "--answers"], ["FILE", "--json"], ["FILE", "--loss", BAD],
    ],
    "train": [["FILE", "--out", "RUN", "--steps", "2"], ["FILE", "--out", "RUN"],
              ["OTHER", "--resume", "RUN"], ["FILE", "--resume", "RUN", "--json"],
              ["FILE", "--out", "MISSING", "--steps", BAD]],
    "watch": [["MISSING"], [BAD]],
    "timeline": [["FILE"], ["FILE", "--json"], ["FILE", "--block", BAD], ["FILE", "--phase", BAD]],
    "lesson": [["FILE", "--no-keep"], ["OTHER", "--no-keep"], ["FILE", "--answers", "MISSING"]],
    "grade": [["FILE", "ANSWERS"], ["FILE", "ANSWERS", "--json"], ["FILE", "OTHER", "MISSING"]],
    "study": [["STUDY", "--seeds", "1"], ["STUDY", "--json", "--steps", "1"], ["FILE", "MISSING"]],
    "check": [["FILE"], ["FILE", "--contracts", "--gradients"],
              ["FILE", "--contracts", "--json", "--junit", "JUNIT"],
              ["FILE", "--findings", "--sarif", "JUNIT", "--baseline", "MISSING"]],
    "diff": [["FILE", "OTHER"], ["FILE", "OTHER", "--run", "--json"], ["FILE", "MISSING"]],
    "merge": [["FILE", "FILE", "OTHER", "-o", "IMPORTED"], ["FILE", "MISSING", "OTHER"],
              ["EMPTY", "FILE", "OTHER", "-o", "IMPORTED", "--html", "PAGE"],
              ["FILE", "FILE", "OTHER", "-o", "IMPORTED", "--theirs", BAD, "--ours", BAD]],
    "picture": [["FILE", "-o", "PICTURE"], ["FILE", "-o", "PICTURE", "--page", BAD],
                ["MISSING", "-o", "PICTURE"]],
    "import": [["MODEL", "-o", "IMPORTED"], ["MODEL", "-o", "IMPORTED", "--json"], ["MISSING"],
               ["FILE"], ["MODEL", "--loss", BAD], ["MODEL", "--shape", BAD]],
    "export": [["FILE", "--to", "numpy"], ["FILE", "--to", BAD], ["MISSING", "--to", "numpy"],
               ["FILE", "--to", "numpy", "-o", "PAGE"]],
    "publish": [["FILE", "-o", "PAGE"], ["FILE", "-o", "PICTURE"], ["MISSING", "-o", "PAGE"]],
    "bench": [["FILE", "--seconds", "0.01"], ["FILE", "--json", "--seconds", "0.01"]],
    "blocks": [[], [BAD]],
    "schema": [[], [BAD]],
    "demo": [["--no-window"], [BAD]],
    "edit": [["MISSING"], [BAD, BAD]],
    "contracts": [["infer", "FILE"], ["infer", "MISSING"], [BAD, "FILE"]],
    "fix": [["FILE"], ["MISSING"], [f"{BAD}.py:make"], ["FILE", "--parameter", BAD]],
    "mcp": [[BAD]],
    "desktop": [[], [BAD]],
}  # fmt: skip


def contents(*, runs: bool) -> dict[str, Any]:
    """A file with such characters in every field; parts of it are unknown unless it ``runs``."""
    blocks: dict[str, Any] = {
        "w": {"type": "Variable", "value": [1.0, 2.0]},
        "stop": {"type": "StopGradient"},
        "loss": {"type": "Loss"},
        "sum": {"type": "Sum"},
        "pack": {"type": "Pack", "keys": [KEY, "b"]},
        "shown": {"type": "Display"},
    }
    wires = {
        "stop.x": "w.out", "sum.x": "stop.out", "loss.x": "sum.out",
        "pack.items.0": "w.out", "pack.items.1": "w.out", "shown.x": "pack.out",
    }  # fmt: skip
    if not runs:
        blocks["odd"] = {"type": BAD, BAD: BAD}
        blocks["wrong"] = {"type": "Sum", BAD: BAD}
        wires[f"shown.{KEY}"] = f"w.{KEY}"
    return {
        "gradwire": 3,
        "title": BAD,
        "description": BAD,
        "lesson": {
            "goal": BAD,
            "course": BAD,
            "steps": [
                {"do": "show", "text": BAD, "hints": [BAD], "look": [BAD]},
                {"do": "predict", "gradient": BAD, "text": BAD + "{" + BAD, "feedback": {BAD: BAD}},
            ],
        },
        "contracts": ["flows(loss -> w)", f"blocked(loss -> *{KEY})"] if runs else [BAD],
        "pages": {
            "main": {
                "blocks": blocks,
                "wires": wires,
                "notes": {"note": {"text": BAD, "at": [0, 0], "width": 90, "height": 80}},
            }
        },
    }


def symbol() -> dict[str, Any]:
    """The symbol of an MXNet network with such characters in its names."""
    nodes = [
        {"op": "null", "name": BAD, "inputs": [], "attrs": {"__shape__": "(2,)", BAD: BAD}},
        {"op": "BlockGrad", "name": f"stop {BAD}", "inputs": [[0, 0, 0]]},
        {"op": "MakeLoss", "name": f"loss {BAD}", "inputs": [[1, 0, 0]]},
    ]
    return {"nodes": nodes, "arg_nodes": [0], "heads": [[2, 0, 0]]}


def studied(diagram: str) -> dict[str, Any]:
    """A study of a diagram with such characters in every field."""
    return {
        "diagram": diagram,
        "title": BAD,
        "measure": {"port": "sum.out", "called": BAD},
        "variants": {BAD: {}, "slow": {"training": {"steps": 2}}},
        "claims": [{"variant": BAD, "less_than": "slow"}],
    }


def test_every_command_is_tried():
    missing = {*COMMANDS} - INVOCATIONS.keys()
    assert not missing, f"Add to INVOCATIONS ways to call {missing} with FILE or BAD."


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("runs", [True, False], ids=["runs", "has problems"])
@pytest.mark.parametrize("command", INVOCATIONS)
def test_no_command_prints_control_characters(gradwire, tmp_path: Path, monkeypatch, command, runs):
    file = tmp_path / f"{BAD}.gradwire.json"
    file.write_text(json.dumps(contents(runs=runs)), encoding="utf-8")
    missing, junit = tmp_path / f"{BAD}{BAD}.gradwire.json", tmp_path / "report.xml"
    other = tmp_path / f"other {BAD}.gradwire.json"
    other.write_text(json.dumps(contents(runs=not runs)), encoding="utf-8")
    picture = tmp_path / f"{BAD}.svg"
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    answers = tmp_path / f"{BAD}.json"
    answers.write_text(json.dumps(sealed(record(title=BAD, learner=BAD))), encoding="utf-8")
    study = tmp_path / f"{BAD}.study.json"
    study.write_text(json.dumps(studied(file.name)), encoding="utf-8")
    model = tmp_path / f"{BAD}.model"
    model.write_text(json.dumps(symbol()), encoding="utf-8")
    empty = tmp_path / f"{BAD}.empty"
    empty.touch()
    names = {
        "STUDY": study, "FILE": file, "EMPTY": empty, "OTHER": other, "MISSING": missing,
        "JUNIT": junit,
        "PICTURE": picture, "ANSWERS": answers, "PAGE": tmp_path / f"{BAD}.html",
        "RUN": tmp_path / f"{BAD} run", "MODEL": model,
        "IMPORTED": tmp_path / f"imported {BAD}.gradwire.json",
    }  # fmt: skip
    shown = 0
    for arguments in INVOCATIONS[command]:
        done = gradwire(command, *(names.get(word, word) for word in arguments))
        printed = done.out + done.err
        assert not POWERFUL.search(printed), (arguments, printed)
        assert "itself failed" not in printed
        shown += "red" in printed
        if "--json" in arguments and done.out:
            json.loads(done.out)
    assert shown, "nothing of the file was printed"
    if command == "picture":
        ElementTree.parse(picture)
    if command == "check":
        assert "␛[31mred" in junit.read_text(encoding="utf-8")
        assert ElementTree.parse(junit).getroot().tag == "testsuites"
