"""The benchmark for assistants tells a bug that is mended from one that is not."""

from __future__ import annotations

import ast

import pytest

pytest.importorskip("torch")

from tests.assistants.repositories import repositories
from tests.assistants.scoring import judged, measured, score

BUGS = repositories()
TELLING = ("broken", "gradwire", "gw.", "#", '"""')
"""Texts that would give a bug away, or how to find it."""


def test_there_are_sixty():
    assert len(BUGS) >= 60 and len({bug.name for bug in BUGS}) == len(BUGS)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.case.name)
def test_a_program_has_its_bug_and_nothing_says_so(bug):
    broken, mended = (bug.program(flag) for flag in (True, False))
    assert broken != mended
    for program in (broken, mended):
        assert not [text for text in TELLING if text in program]
        assert any(getattr(node, "name", "") == "make" for node in ast.parse(program).body)
    assert bug.case.cause not in bug.task


@pytest.mark.parametrize(
    "bugs",
    [pytest.param(BUGS[::20], id="some"), pytest.param(BUGS, id="all", marks=pytest.mark.night)],
)
def test_a_bug_is_mended_in_the_program_without_it_alone(bugs, tmp_path):
    mended = [bug.write(tmp_path / "mended", broken=False) for bug in bugs]
    broken = [bug.write(tmp_path / "broken") for bug in bugs]
    wanted, found, again = measured(*mended), measured(*broken), measured(*mended[::6])
    for each in zip(bugs[::6], mended[::6], wanted[::6], again, strict=True):
        assert judged(*each).verdict == "mended", each[0].name
    for each in zip(bugs, broken, wanted, found, strict=True):
        assert judged(*each).verdict == "not mended", each[0].name


def test_another_way_than_ours_is_good_too(tmp_path):
    bug = next(bug for bug in BUGS if bug.case.capture.__name__ == "detach_in_the_middle")
    train = bug.write(tmp_path) / "train.py"
    train.write_text(train.read_text("utf-8").replace(".detach()", ".clone() * 2.0"), "utf-8")
    assert score(bug, train.parent).verdict == "mended otherwise"


def test_a_program_that_raises_is_not_mended(tmp_path):
    bug = BUGS[0]
    folder = bug.write(tmp_path)
    for program, said in (
        ("def make():\n    return undefined\n", "NameError"),
        ("import os\nos._exit(0)\n", "the process ended"),
    ):
        (folder / "train.py").write_text(program, "utf-8")
        verdict, why = score(bug, folder)
        assert verdict == "not mended" and said in why
