"""``gradwire check``: all problems of all files."""

from __future__ import annotations

import json

import pytest

BROKEN = {"mul": {"type": "Mul"}, "odd": {"type": "NotInstalled"}}


def test_a_clean_file(gradwire, seed):
    done = gradwire("check", seed)
    assert (done.code, done.out, done.err) == (0, f"{seed}: clean\n", "")


def test_all_problems_of_all_files(gradwire, seed, diagram):
    broken = diagram(BROKEN, {}, name="broken")
    done = gradwire("check", broken, seed)
    assert done.code == 1
    for place in ("mul.a", "mul.b", "odd"):
        assert f"{broken}: error: {place}: " in done.out
    assert f"{seed}: clean" in done.out


def test_problems_as_json(gradwire, seed, diagram):
    broken = diagram(BROKEN, {}, name="broken")
    done = gradwire("check", seed, broken, "--json")
    assert done.code == 1
    report = done.json
    assert report["files"] == [str(seed), str(broken)]
    assert {(p["file"], p["block"], p["port"]) for p in report["problems"]} >= {
        (str(broken), "mul", "a"),
        (str(broken), "mul", "b"),
        (str(broken), "odd", None),
    }
    assert all(p["what"] and p["severity"] and p["code"] for p in report["problems"])


def test_a_file_that_can_not_be_read_outweighs_a_problem(gradwire, diagram, tmp_path):
    broken = diagram(BROKEN, {}, name="broken")
    text = tmp_path / "text.gradwire.json"
    text.write_text("hello", encoding="utf-8")
    for files in ((broken, text), (text, broken)):
        done = gradwire("check", *files)
        assert done.code == 2
        assert f"{text}:1:1: error: " in done.out and f"{broken}: error: " in done.out


def test_a_line_that_is_no_contract_is_a_problem_beside_the_others(gradwire, tmp_path):
    file = tmp_path / "stated.gradwire.json"
    page = {"blocks": {"mul": {"type": "Mul", "b": 2.0}}, "wires": {}}
    stated = {"gradwire": 2, "contracts": ["flows(a"], "pages": {"main": page}}
    file.write_text(json.dumps(stated), encoding="utf-8")
    done = gradwire("check", file)
    assert done.code == 2
    assert f"{file}: error: mul.a: " in done.out
    assert "Line 1 of the diagram's contracts is not a contract." in done.out


def test_shapes_that_do_not_fit_are_found_without_a_run(gradwire, diagram):
    blocks = {
        "a": {"type": "Constant", "value": [1, 2]},
        "b": {"type": "Constant", "value": [1, 2, 3]},
        "add": {"type": "Add"},
    }
    done = gradwire("check", diagram(blocks, {"add.a": "a.out", "add.b": "b.out"}))
    assert done.code == 1 and "add: " in done.out


def test_integers_that_lose_digits_or_gradient_are_warned_of(gradwire, diagram):
    blocks = {
        "w": {"type": "Variable", "value": [1.0]},
        "n": {"type": "Variable", "value": [16777217], "dtype": "int64"},
        "mul": {"type": "Mul"},
        "loss": {"type": "Loss"},
    }
    file = diagram(blocks, {"mul.a": "w.out", "mul.b": "n.out", "loss.x": "mul.out"})
    checked, treated = gradwire("check", file), gradwire("doctor", file)
    assert (checked.code, treated.code) == (0, 0)
    for text in (checked.out, treated.err):
        assert "warning: mul: int64 becomes float32, which rounds integers beyond 16,777" in text
        assert "warning: n: A variable of int64 can't be trained" in text


def test_at_least_one_file_is_needed(gradwire):
    assert gradwire("check").code == 2


def test_derivatives_are_compared_with_differences(gradwire, seed):
    done = gradwire("check", seed, "--gradients")
    assert done.code == 0
    told = done.out.splitlines()[1:]
    assert told[0] == "✓ 2 of 4 blocks have the derivative that a central difference gives"
    assert told[1].startswith("≈ stop: its rule gives 0, ") and "on purpose" in told[1]
    found = gradwire("check", seed, "--gradients", "--json").json["gradients"]
    assert {r["block"]: (r["agrees"], r["wrong"]) for r in found} == {
        "mul": (True, False), "stop": (False, False), "add": (True, False),
        "loss": (False, False),
    }  # fmt: skip
    assert "gradients" not in gradwire("check", seed, "--json").json


@pytest.mark.parametrize("command", ["check", "run", "doctor", "flow"])
def test_a_plugin_that_is_missing_beside_a_source_of_open_shape(gradwire, diagram, command):
    parts = {
        "w": {"type": "Variable"},
        "odd": {"type": "NotInstalled"},
        "add": {"type": "Add"},
        "loss": {"type": "Loss"},
    }
    wires = {"odd.x": "w.out", "add.a": "odd.out", "add.b": "w.out", "loss.x": "add.out"}
    done = gradwire(command, diagram(parts, wires))
    assert done.code == 1
    assert "odd: No block of type 'NotInstalled' is installed." in done.out + done.err
