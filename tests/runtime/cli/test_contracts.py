"""``gradwire check --contracts`` and ``gradwire doctor``."""

from __future__ import annotations

import json
import os
from xml.etree import ElementTree

import pytest

pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_the_contracts_beside_a_diagram(gradwire, seed):
    write(seed.parent / "seed.contracts", "flows(loss -> a)\nblocked(loss -> b)\n")
    done = gradwire("check", seed, "--contracts")
    assert done.code == 0
    assert done.out.splitlines()[1:] == ["kept    flows(loss -> a)", "kept    blocked(loss -> b)"]
    assert gradwire("check", seed).out == f"{seed}: clean\n"


def test_a_broken_contract_fails_with_the_witness(gradwire, seed):
    write(seed.parent / "seed.contracts", "flows(loss -> b)\nblocked(loss -> a)\n")
    done = gradwire("check", seed, "--contracts")
    assert done.code == 1
    assert done.out.splitlines() == [
        f"{seed}: not clean",
        "BROKEN  flows(loss -> b)",
        "        b, for loss.out: stop stops every route to loss. [loss ← add ← stop ← mul ← b]",
        "BROKEN  blocked(loss -> a)",
        "        a, for loss.out: Carries the gradient of loss to a. Route: loss ← add ← a.",
    ]


def test_the_contracts_that_a_diagram_states(gradwire, seed):
    document = json.loads(seed.read_text(encoding="utf-8"))
    write(seed, json.dumps(document | {"contracts": ["flows(loss -> b)", "updates(sgd -> b)"]}))
    assert gradwire("check", seed).code == 0
    done = gradwire("check", seed, "--contracts")
    assert done.code == 1 and "BROKEN  flows(loss -> b)" in done.out
    write(seed.parent / "seed.contracts", "flows(loss -> a)")
    assert "kept    flows(loss -> a)" in gradwire("check", seed, "--contracts").out
    findings = gradwire("doctor", seed, "--json").json["findings"]
    assert [(f["what"], f["where"]) for f in findings] == [
        ("contract", "b"), ("no_gradient", "b"), ("unowned", "a"),
    ]  # fmt: skip


def test_a_contracts_file_by_name_in_json(gradwire, seed, tmp_path):
    path = write(tmp_path / "mine.contracts", "nonzero(loss -> b)")
    report = gradwire("check", seed, "--contracts", path, "--json").json
    assert report["files"] == [str(seed)]
    assert report["contracts"] == [
        {
            "file": str(seed),
            "contract": "nonzero(loss -> b)",
            "line": 1,
            "kept": False,
            "breaches": [
                {
                    "subject": "b",
                    "loss": "loss.out",
                    "why": "stop stops every route to loss.",
                    "witness": ["loss", "add", "stop", "mul", "b"],
                }
            ],
        }
    ]


def test_junit(gradwire, seed, tmp_path):
    path = write(tmp_path / "mine.contracts", "flows(loss -> a)\nflows(loss -> b)")
    report = tmp_path / "report.xml"
    assert gradwire("check", seed, path, "--junit", report).code == 1
    (suite,) = ElementTree.parse(report).getroot()
    assert suite.attrib == {"name": str(seed), "tests": "3", "failures": "1", "errors": "0"}
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {"check": [], "flows(loss -> a)": [], "flows(loss -> b)": ["failure"]}


@pipes
def test_junit_is_not_written_into_a_pipe(gradwire, seed, tmp_path):
    os.mkfifo(tmp_path / "report.xml")
    done = gradwire("check", seed, "--junit", tmp_path / "report.xml")
    assert done.code == 2 and "a pipe" in done.err


def test_contracts_that_are_missing_or_wrong(gradwire, seed, tmp_path):
    assert gradwire("check", seed, "--contracts").code == 2
    path = write(tmp_path / "mine.contracts", "\nflow(loss -> a)")
    done = gradwire("check", seed, path)
    assert done.code == 2 and "mine.contracts:2" in done.out
    assert gradwire("check", path).code == 2


def test_the_doctor(gradwire, seed):
    done = gradwire("doctor", seed)
    assert done.code == 0
    assert done.table("Findings")[1:] == [
        ["1", "no gradient", "stop", "stop stops every route to loss: b gets no gradient. "
         "Without stop: rms 3."],
        ["", "", "b", "No gradient: stop stops every route to loss. Without stop: rms 3."],
    ]  # fmt: skip
    found = gradwire("doctor", seed, "--json").json
    (cause,), (finding,) = found["causes"], found["findings"]
    assert (cause["culprit"], cause["affected"]) == ("stop", ["b"])
    assert cause["findings"] == ["b"] and not cause["error"]
    assert finding["fix"]["open"] == ["stop"] and finding["fix"]["rms"] == 3.0
    assert finding["witness"] == ["loss", "add", "stop", "mul", "b"]


def test_the_doctor_holds_to_contracts_and_fails(gradwire, seed):
    write(seed.parent / "seed.contracts", "flows(loss -> b)")
    done = gradwire("doctor", seed)
    assert done.code == 1
    ranked = [row[1] for row in done.table("Findings")[1:] if row[0]]
    assert ranked == ["contract broken", "no gradient"]


def test_junit_is_xml_for_any_name_of_a_file(gradwire, seed, tmp_path):
    nasty = seed.rename(seed.with_name("a\x1b<&\udc80.gradwire.json"))
    report = tmp_path / "report.xml"
    done = gradwire("check", nasty, "--junit", report)
    assert done.code == 0 and "\x1b" not in done.out
    (suite,) = ElementTree.parse(report).getroot()
    assert suite.get("name", "").endswith("a␛<&\ufffd.gradwire.json")
