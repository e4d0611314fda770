"""Public questions about gradients, answered: the sentences that must be said of each diagram."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import runtime.build as builder
from runtime.engine import Session
from runtime.flow import diagnose, observe, reassurance, with_fix

QUESTIONS = [
    question
    for file in sorted(Path(__file__).parent.glob("*.toml"))
    for question in tomllib.loads(file.read_text("utf-8"))["question"]
]
MINIMUM = 135


class Names(dict[str, object]):
    """The functions of ``runtime.build``, and what an expression names on the way."""

    def __missing__(self, name: str) -> object:
        try:
            return getattr(builder, name)
        except AttributeError:
            raise KeyError(name) from None


def answer(question: dict[str, Any], diagram: str = "diagram") -> str:
    """What the doctor finds in a diagram, one finding a line, then what is said about the wires
    and variables that the question is about.
    """
    losses = eval(question[diagram], {}, Names())
    losses = losses if isinstance(losses, list) else [losses]
    session = Session(builder.build(*losses, contracts=question.get("contracts", ())))
    found = [f"{f.complaint.words}: {f.key}: {f.sentence}" for f in diagnose(session)]
    said = found or [reassurance(session.program, session.program.heads())]
    observed = observe(session)
    asked = (with_fix(session, observed.explain(key)) for key in question.get("about", ()))
    return "\n".join([*said, *(verdict.sentence for verdict in asked)])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q["address"].split("/", 3)[3])
def test_the_true_cause_and_the_cure_are_named(question):
    said = answer(question)
    assert [part for part in question["says"] if part not in said] == [], said
    assert [part for part in question.get("never", ()) if part in said] == [], said


@pytest.mark.parametrize(
    "question", [q for q in QUESTIONS if "cured" in q], ids=lambda q: q["address"].split("/", 3)[3]
)
def test_nothing_is_wrong_once_the_fix_of_the_thread_is_made(question):
    assert answer(question, "cured").startswith("Nothing wrong")


def test_questions_are_told_apart_by_their_addresses():
    addresses = [question["address"] for question in QUESTIONS]
    assert len(addresses) == len({*addresses}) >= MINIMUM
    assert all(question["cause"] and question["fix"] for question in QUESTIONS)
