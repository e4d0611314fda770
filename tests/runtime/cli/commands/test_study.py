"""``gradwire study``: variants over seeds in a table and in JSON, and an exit code for claims."""

from __future__ import annotations

import json

import pytest

import gradwire as gw
from gradwire.runtime.diagram import save


@pytest.fixture
def studied(tmp_path):
    """``studied(claims…)`` is the path of a study of a line that a stop keeps from learning."""
    w = gw.variable("w", shape=(2,), initialiser="normal")
    save(
        gw.build(gw.loss(gw.mean(gw.square(gw.stop_gradient(w, name="stop", open=True))), "loss"),
                 gw.loss(gw.square(gw.variable("v", 1.0)))),
        tmp_path / "line.gradwire.json",
    )  # fmt: skip

    def write(*claims):
        path = tmp_path / "line.study.json"
        record = {
            "diagram": "line.gradwire.json",
            "title": "A line",
            "measure": {"port": "loss.out", "called": "what is left"},
            "variants": {"open": {}, "closed": {"set": {"stop": {"open": False}}}},
            "claims": list(claims),
            "steps": 40,
        }
        path.write_text(json.dumps(record), encoding="utf-8")
        return path

    return write


HOLDS = {"variant": "open", "less_than": "closed"}
FAILS = {"variant": "closed", "below": 0}


def test_a_table_of_variants_and_claims(gradwire, studied):
    done = gradwire("study", studied(HOLDS), "--seeds", "3", "--workers", "1")
    assert (done.code, done.err) == (0, "")
    rows = done.table("loss.out: what is left")
    assert rows[0] == ["variant", "mean", "deviation", "diverged", "values"]
    assert [row[0] for row in rows[1:]] == ["open", "closed"]
    assert len(rows[1][4].split()) == 3
    assert done.table("Claims")[1] == ["open: less than closed", "3 of 3", "holds"]


def test_a_claim_that_does_not_hold_is_the_exit_code(gradwire, studied):
    done = gradwire("study", studied(HOLDS, FAILS), "--seeds", "2", "--workers", "1")
    assert done.code == 1
    assert done.table("Claims")[2] == ["closed: below 0", "0 of 2", "does not hold"]


@pytest.mark.night
def test_json_has_all_values(gradwire, studied):
    asked = ("--seeds", "2", "--steps", "5", "--workers", "1", "--json")
    report = gradwire("study", studied(HOLDS, FAILS), *asked).json
    (one,) = report["studies"]
    assert (report["report"], report["version"], one["holds"]) == ("study", 1, False)
    assert len(one["variants"]["open"]["values"]) == 2
    assert one["variants"]["open"]["diverged"] == 0
    assert one["claims"][0] == {
        "claim": "open: less than closed", "seeds": 2, "of": 2, "holds": True,
    }  # fmt: skip


def test_a_file_that_is_no_study_is_refused_before_anything_is_trained(gradwire, studied, tmp_path):
    other = tmp_path / "other.study.json"
    other.write_text("{}", encoding="utf-8")
    done = gradwire("study", studied(HOLDS), other)
    assert done.code == 2 and done.out == "" and "other.study.json" in done.err


@pytest.mark.night
def test_processes_give_the_same_numbers_in_the_same_order(gradwire, studied):
    one, two = (
        gradwire("study", studied(HOLDS, FAILS), "--seeds", "3", "--workers", n, "--json")
        for n in ("1", "2")
    )
    assert one.json == two.json and one.code == two.code == 1


@pytest.mark.night
def test_a_study_goes_on_in_its_folder(gradwire, studied, tmp_path):
    file, out = studied(HOLDS), tmp_path / "s"
    first = gradwire("study", file, "--seeds", "2", "--steps", "5", "--out", out, "--json")
    again = gradwire("study", file, "--resume", out, "--json")
    assert again.json == first.json and "4 trainings have ended already" in again.err
    assert json.loads((out / "results.json").read_text()) == first.json
    other = gradwire("study", file, "--seeds", "3", "--steps", "5", "--out", out)
    assert other.code == 2 and "seed: [0, 1], now [0, 1, 2]" in other.err


@pytest.mark.parametrize("option", ["--vary", "--measure"])
def test_a_study_file_says_itself_what_is_varied(gradwire, studied, option):
    done = gradwire("study", studied(HOLDS), option, "lr=1")
    assert done.code == 2 and f"takes no {option}" in done.err
