"""``gradwire check``: all problems of all files."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gradwire.runtime.diagram import load, save
from gradwire.runtime.diagram.model import Note
from tests.examples.gallery import path
from tests.runtime.lessons.lessons import taught

BROKEN = {"mul": {"type": "Mul"}, "odd": {"type": "NotInstalled"}}


def test_a_clean_file(gradwire, seed):
    done = gradwire("check", seed)
    assert (done.code, done.out, done.err) == (0, f"{seed}: clean\n", "")


def test_contracts_that_are_not_checked_are_counted(gradwire, tmp_path):
    file = tmp_path / "stated.gradwire.json"
    page = {"blocks": {"w": {"type": "Variable", "value": 2.0}, "loss": {"type": "Loss"}},
            "wires": {"loss.x": "w.out"}}  # fmt: skip
    for stated, words in (
        (["flows(loss → w)"], "; 1 contract was not checked (--contracts)"),
        (["flows(loss → w)", "blocked(loss → w)"], "; 2 contracts were not checked (--contracts)"),
        ([], ""),
    ):
        content = {"gradwire": 3, "contracts": stated, "pages": {"main": page}}
        file.write_text(json.dumps(content), encoding="utf-8")
        done = gradwire("check", file)
        assert (done.code, done.out) == (0, f"{file}: clean{words}\n")
        if stated:
            assert "not checked" not in gradwire("check", file, "--contracts").out


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
    stated = {"gradwire": 3, "contracts": ["flows(a"], "pages": {"main": page}}
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
    assert told[1].startswith("≈ stop: its rule gives 0, ") and "it stops the gradient" in told[1]
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


def test_the_lesson_of_a_diagram_is_checked_with_lines(gradwire, tmp_path):
    file = tmp_path / "taught.gradwire.json"
    step = {"do": "show", "text": "It is {grad('q')}."}
    save(taught(steps=[{"do": "show", "text": "Look."}, step], vary={}), file)
    done = gradwire("check", str(file))
    line = next(i for i, each in enumerate(file.read_text().splitlines(), 1) if "'q'" in each)
    assert done.code == 1
    assert f"{file}:{line}:" in done.out
    assert "Lesson, step 2: There is no variable 'q'." in done.out
    report = gradwire("check", str(file), "--json").json
    assert [p["line"] for p in report["problems"] if p["severity"] == "error"] == [line]
    save(taught(steps=[{"do": "show", "text": "Look."}], vary={}), file)
    assert gradwire("check", str(file)).code == 0, "warnings alone are no failure"


def test_a_recipe_is_checked_and_its_problems_have_lines(gradwire, tmp_path):
    file = tmp_path / "trained.gradwire.json"
    variables = {name: {"type": "Variable", "value": 2.0} for name in "vw"}
    page = {"blocks": {**variables, "m": {"type": "Mul"}, "loss": {"type": "Loss"}},
            "wires": {"m.a": "v.out", "m.b": "w.out", "loss.x": "m.out"}}  # fmt: skip

    def checked(**rule):
        training = {"optimisers": [{"name": "opt", **rule}]}
        content = {"gradwire": 3, "training": training, "pages": {"main": page}}
        file.write_text(json.dumps(content, indent=1), encoding="utf-8")
        return gradwire("check", file)

    done = checked(variables=["w", "q*"])
    assert done.code == 1
    assert ":9:6: error: q* matches no trained variable. There are v, w." in done.out
    done = checked(variables=["w"])
    assert (done.code, "warning: v: UNOWNED: v is trained" in done.out) == (0, True)
    done = checked()
    assert (done.code, done.out) == (0, f"{file}: clean\n")


def test_notes_whose_numbers_cannot_be_computed_are_warnings_with_their_line(gradwire, tmp_path):
    made = load(path("fan_out"))
    notes = {"1": Note('{grad("nobody")}'), "2": Note("{1 + 1} is fine, {{so is this}")}
    file = tmp_path / "noted.gradwire.json"
    save(made.with_page("main", replace(made.main, notes=notes)), file)
    done = gradwire("check", file)
    assert done.code == 0 and done.out.count("warning") == 1
    assert "Note 1 of the page main shows its braces" in done.out and "'nobody'" in done.out
    rows = file.read_text(encoding="utf-8").splitlines()
    line = next(k for k, row in enumerate(rows, 1) if "nobody" in row)
    assert f":{line}" in done.out


def test_findings_count_if_asked_for(gradwire, diagram):
    blocks = {
        "w": {"type": "Variable", "value": 2.0},
        "v": {"type": "Variable", "value": 2.0},
        "stop": {"type": "StopGradient"},
        "add": {"type": "Add"},
        "loss": {"type": "Loss"},
    }
    wires = {"stop.x": "w.out", "add.a": "stop.out", "add.b": "v.out", "loss.x": "add.out"}
    file = diagram(blocks, wires)
    assert gradwire("check", file).code == 0
    done = gradwire("check", file, "--findings")
    assert done.code == 1 and "not clean" in done.out and "no gradient: w:" in done.out
    report = gradwire("check", file, "--findings", "--json").json
    assert [(f["file"], f["where"]) for f in report["findings"]] == [(str(file), "w")]


def test_a_baseline_leaves_only_what_is_new(gradwire, seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known, log = tmp_path / "known.json", tmp_path / "log.sarif"
    first = ("check", seed, "--findings", "--baseline", known)
    assert gradwire(*first).code == 2  # there is none yet
    assert gradwire(*first, "--update-baseline").code == 0
    done = gradwire(*first, "--sarif", log)
    assert done.code == 0 and "Beyond the baseline: 0 of 1" in done.out
    assert json.loads(log.read_text())["runs"][0]["results"] == []
    (tmp_path / "seed.contracts").write_text("blocked(loss -> a)\n")
    done = gradwire(*first, "--contracts", "--sarif", log)
    (result,) = json.loads(log.read_text())["runs"][0]["results"]
    assert done.code == 1 and result["ruleId"] == "contract"
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "seed.gradwire.json"}
    assert gradwire("check", seed, "--update-baseline").code == 2


def test_without_a_file_the_project_is_checked(gradwire, seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert gradwire("check").code == 2
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.gradwire.contracts]\n"seed.gradwire.json" = ["flows(loss -> b)"]\n')
    done = gradwire("check")
    assert done.code == 1 and "BROKEN  flows(loss -> b)" in done.out
    project.write_text(project.read_text().replace("-> b", "-> a"))
    assert gradwire("check").code == 0
    assert "kept    flows(loss -> a)" in gradwire("check", seed, "--contracts").out


def test_contracts_that_hold_are_written(gradwire, seed, tmp_path):
    out = tmp_path / "seed.contracts"
    done = gradwire("contracts", "infer", seed)
    assert done.out.splitlines() == ["flows(loss -> a)", "blocked(loss -> b)"]
    assert gradwire("contracts", "infer", seed, "-o", out).code == 0
    assert gradwire("check", seed, "--contracts").code == 0
    assert gradwire("contracts", "infer", seed, "-o", out).code == 2
    assert gradwire("contracts", "list", seed).code == 2
