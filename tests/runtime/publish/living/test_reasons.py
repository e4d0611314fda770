"""A page says of every wire and variable what the runtime says: words, numbers, cures, routes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import gradwire as gw
from gradwire.runtime.diagram import load
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.numbers import flat_spots, remedies
from gradwire.runtime.publish.living.computing.verification import verify
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.reasons import block_data
from gradwire.runtime.publish.living.writing.html import page_script
from tests.runtime.flow.test_disagreements import compared as disagreeing
from tests.runtime.flow.test_disagreements import net, of_w
from tests.runtime.publish.living.hard import hard_cases, specimens
from tests.runtime.publish.living.node import NODE, compared, run
from tests.runtime.publish.living.oracle import cases, in_dtype

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
ASSETS = Path(__file__).parents[4] / "assets"
EXAMPLES = [
    *sorted(ASSETS.glob("diagrams/*.json"))[::4],
    *sorted(ASSETS.glob("lessons/*.json"))[::5],
]


def assert_same(found: dict[str, Any]) -> None:
    assert found["sentences"] > 0
    assert (found["said"], found["unlike"]) == (0, [])
    assert (found["none"], found["states"]) == (0, 0), found["wrong"]


@pytest.mark.night
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name.split(".")[0])
def test_an_example_says_the_same_with_hard_numbers(file: Path, tmp_path: Path) -> None:
    living = living_data(load(file))
    work = {"data": living.data, "cases": [*cases(living, 1), *hard_cases(living)]}
    assert_same(compared(tmp_path, work))


@pytest.mark.night
@pytest.mark.parametrize("name", specimens())
def test_every_reason_is_said_in_the_same_words(name: str, tmp_path: Path) -> None:
    living = living_data(in_dtype(specimens()[name], "float64"))
    work = {"data": living.data, "cases": [*cases(living, 2), *hard_cases(living, 40)]}
    assert_same(compared(tmp_path, work))


def test_where_another_program_differs_the_page_says_so_first(tmp_path: Path) -> None:
    value = of_w(what="value", of="other.out", at="u.out", since="")
    for found in ((of_w(),), (of_w(since=""), value)):
        living = living_data(disagreeing(in_dtype(net(), "float64"), *found))
        verify(living)
        assert [bool(told) for told in living.data["doubts"]] == [len(found) == 2, True]
        assert_same(compared(tmp_path, {"data": living.data, "cases": [*cases(living, 2)]}))
    assert "doubts" not in living_data(net()).data


def test_a_shift_that_a_softmax_ignores_has_its_reason_on_a_page(tmp_path: Path) -> None:
    living = living_data(specimens()["ignored shift"])
    reason = "the softmax of softmax ignores what is added to all of a row"
    assert set(living.data["invariant"].values()) == {reason}
    assert_same(compared(tmp_path, {"data": living.data, "cases": [*cases(living, 3)]}))


@pytest.mark.parametrize("name", ["single softmax", "single norm", "single key"])
def test_one_number_alone_has_its_reason_on_a_page(name: str, tmp_path: Path) -> None:
    living = living_data(in_dtype(specimens()[name], "float64"))
    assert_same(compared(tmp_path, {"data": living.data, "cases": [*cases(living, 3)]}))


def test_a_small_factor_that_is_trained_is_named_on_a_page(tmp_path: Path) -> None:
    living = living_data(in_dtype(specimens()["small factor"], "float64"))
    told = [*cases(living, 1)]
    assert "scale is at most 1e−6 and gets a gradient itself" in told[0]["told"]["w"][1]
    assert_same(compared(tmp_path, {"data": living.data, "cases": told}))


def test_leaves_of_a_tree_are_followed_apart_on_a_page(tmp_path: Path) -> None:
    living = living_data(specimens()["leaves apart"])
    told = [*cases(living, 2)]
    said = {name: text[0] for name, text in told[0]["told"].items()}
    assert said["w"] == "Already 0 after tanh, which has a derivative of 0 here."
    assert "worst: mul1 ×1e−9" in said["v"]
    assert_same(compared(tmp_path, {"data": living.data, "cases": told}))


@pytest.mark.parametrize("name", ["decays", "decays behind gates"])
def test_a_decay_along_a_sequence_is_measured_on_a_page(name: str, tmp_path: Path) -> None:
    living = living_data(in_dtype(specimens()[name], "float64"))
    told = [*cases(living, 2)]
    assert "decays along the sequence: that of step 1 is" in str([case["told"] for case in told])
    assert_same(compared(tmp_path, {"data": living.data, "cases": told}))


def test_blocks_are_told_with_what_sentences_depend_on() -> None:
    bounded = gw.clip(gw.variable("x", 2.0), min=-1.0, max=1.0, name="bounded")
    blocks = block_data(Session(gw.build(gw.loss(bounded, name="L"))).program)
    assert [blocks[name][0] for name in ("x", "bounded", "L")] == ["Variable", "Clip", "Loss"]
    assert blocks["bounded"][-1] == {"min": -1, "max": 1}
    assert blocks["L"][-1]["head"] == 1 and blocks["x"][-1]["source"] == 1


@pytest.mark.night
@pytest.mark.parametrize("has_lesson", [False, True])
def test_the_script_is_javascript(has_lesson: bool, tmp_path: Path) -> None:
    assert NODE is not None
    file = tmp_path / "page.js"
    file.write_text(page_script(has_lesson), encoding="utf-8")
    done = subprocess.run(
        [NODE, "--check", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]


def test_the_script_has_the_words_that_it_says_and_no_others() -> None:
    script = page_script(has_lesson=True)
    [table] = re.findall(r"^const SAY=(.*);$", script, re.MULTILINE)
    has = json.loads(table)
    said = re.findall(r"\bSAY\b(.{0,1})", script)
    assert set(said) == {".", "="}, "any other use hides which words a page needs"
    assert len(has) > 50 and has.keys() == set(re.findall(r"\bSAY\.(\w+)", script))


@pytest.mark.parametrize(
    ("tables", "facts", "known"),
    [
        ("SAY.REASONS, SAY.FLAT_CURES", "SPOT", flat_spots.FACTS),
        ("SAY.VALUE_CURES", "WILD", remedies.FACTS),
    ],
)
def test_a_page_knows_the_facts_that_its_tables_ask_for(
    tables: str, facts: str, known: dict[str, Any], tmp_path: Path
) -> None:
    script = (
        f"() => [{tables}].map((rules) => rules.flatMap(([given, , ...places]) =>"
        " [...given.split(' ').filter((each) => /^[!a-z]/.test(each)), ...places]))"
    )
    asked = {name.lstrip("!") for names in run(tmp_path, script, 0) for name in names}
    assert asked == {*run(tmp_path, f"() => Object.keys({facts})", 0)}
    assert len(asked) == len(known)


@pytest.mark.night
def test_the_specimens_have_every_kind_of_sentence() -> None:
    """Or the tests above would be of little."""
    said = " ".join(
        told[0] + told[1]
        for diagram in specimens().values()
        for case in cases(living_data(in_dtype(diagram, "float64")), 1)
        for told in case["told"].values()
    )
    for each in (
        "is off", "is saturated", "sum to 1", "which is always 1", "that leaves 0", "one key",
        "piecewise constant", "is at or beyond",
        "beyond its limits", "multiplies by 0", "1 in JAX", "as in PyTorch", "NaN in JAX",
        "at its minimum", "between 0 and 1", "cancel", "nearly cancel", "does not take this branch",
        "Raise the min", "Softplus(−x)", "LogSoftmax instead", "log of −2", "overflows float64",
        "add a larger number", "masked by", "Grows", "Shrunk", "stops every route",
    ):  # fmt: skip
        assert each in said, each
