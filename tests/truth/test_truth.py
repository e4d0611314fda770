"""What is said of real programs: nothing false, and of most the cause, the cure and the place."""

from __future__ import annotations

import pytest

from tests.together import together
from tests.truth.cases import cases_of

torch = pytest.importorskip("torch")

from tests.truth.__main__ import CASES as KINDS  # noqa: E402  # its programs import torch

CASES = {kind: list(cases_of(kind)) for kind in KINDS}
FEWEST = {"questions": 60, "bugs": 40}
SHARE = 0.9
"""Of each kind so much must be answered in full."""


@pytest.mark.filterwarnings("ignore")  # of the programs, which have mistakes
@together("kind", CASES)
def test_nothing_false_is_said_and_most_programs_are_answered_in_full(kind):
    found = {}
    for case in CASES[kind]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            found[case.name] = case.score(case.said())
    assert {name: why for name, (score, why) in found.items() if score == "wrong"} == {}
    missing = {name: why for name, (score, why) in found.items() if score != "full"}
    assert len(missing) <= (1 - SHARE) * len(found), missing


@together("kind", CASES)
def test_there_are_many_cases_and_each_has_a_name_of_its_own(kind):
    names = [case.name for case in CASES[kind]]
    assert len({*names}) == len(names) >= FEWEST[kind]


def test_each_question_has_a_public_address_of_its_own():
    addresses = [case.address for case in CASES["questions"]]
    assert all(address.startswith("https://") for address in addresses)
    assert len(addresses) == len({*addresses})
