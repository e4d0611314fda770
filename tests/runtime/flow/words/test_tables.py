"""Tables of rules: which rule speaks, what a page is sent, and that every fact is known."""

from __future__ import annotations

from typing import Any

import pytest

from gradwire.blocks.registry import registry
from gradwire.runtime.flow.numbers import flat_spots, remedies
from gradwire.runtime.flow.words.tables import (
    FLAT_CURES,
    REASONS,
    VALUE_CURES,
    Rules,
    decide,
    facts_of,
    of_kinds,
)

RULES: Rules = (
    ("off", "is off"),
    ("Relu|Elu !small", "is {0} of {1}", "one", "two"),
    ("Relu", "is small"),
    ("", "is another"),
)


@pytest.mark.parametrize(
    ("kind", "facts", "said"),
    [
        ("Relu", {"off": True}, "is off"),
        ("Elu", {"one": 1, "two": "b"}, "is 1 of b"),
        ("Relu", {"small": 3.0}, "is small"),
        ("Elu", {"small": True}, "is another"),
        ("Add", {}, "is another"),
    ],
)
def test_the_first_rule_that_holds_speaks(kind: str, facts: dict[str, Any], said: str) -> None:
    assert decide(RULES, kind, lambda name: facts.get(name, 0)) == said
    assert decide(RULES[1:2], "Add", facts.get) == ""


def test_facts_are_asked_for_only_as_far_as_a_rule_may_hold() -> None:
    asked: list[str] = []
    decide(RULES, "Add", lambda name: asked.append(name))
    assert asked == ["off"]


def test_a_page_is_sent_what_may_hold_of_its_blocks() -> None:
    assert [*of_kinds(RULES, {"Elu"})] == [
        ("off", "is off"),
        ("Elu !small", "is {0} of {1}", "one", "two"),
        ("", "is another"),
    ]


def test_every_fact_is_known_and_asked_for() -> None:
    assert facts_of(RULES) == {"off", "small", "one", "two"}
    assert facts_of(REASONS) | facts_of(FLAT_CURES) == flat_spots.FACTS.keys()
    assert facts_of(VALUE_CURES) == remedies.FACTS.keys()


def test_the_types_of_tables_are_blocks() -> None:
    named = {
        kind
        for conditions, *_ in (*REASONS, *FLAT_CURES, *VALUE_CURES)
        for each in conditions.split()
        if each[0].isupper()
        for kind in each.split("|")
    }
    assert named <= registry().classes.keys()
