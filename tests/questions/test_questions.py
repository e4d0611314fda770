"""Public questions about gradients, answered: the sentences that must be said of each diagram."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import runtime.build as builder
from runtime.engine import Session
from runtime.flow import diagnose, reassurance

QUESTIONS = [
    question
    for file in sorted(Path(__file__).parent.glob("*.toml"))
    for question in tomllib.loads(file.read_text("utf-8"))["question"]
]
MINIMUM = 40


class Names(dict[str, object]):
    """The functions of ``runtime.build``, and what an expression names on the way."""

    def __missing__(self, name: str) -> object:
        try:
            return getattr(builder, name)
        except AttributeError:
            raise KeyError(name) from None


def answer(diagram: str) -> str:
    """What the doctor says of a diagram, one finding a line."""
    losses = eval(diagram, {}, Names())
    session = Session(builder.build(*(losses if isinstance(losses, list) else [losses])))
    found = [f"{f.complaint.words}: {f.key}: {f.sentence}" for f in diagnose(session)]
    return "\n".join(found) or reassurance(session.program, session.program.heads())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q["address"].split("/", 3)[3])
def test_the_true_cause_and_the_cure_are_named(question):
    said = answer(question["diagram"])
    assert [part for part in question["says"] if part not in said] == [], said


def test_questions_are_told_apart_by_their_addresses():
    addresses = [question["address"] for question in QUESTIONS]
    assert len(addresses) == len({*addresses}) >= MINIMUM
    assert all(question["cause"] and question["fix"] for question in QUESTIONS)
