"""Public questions about gradients, answered in sentences that name the true cause and the cure.

Each question has the ``address`` of its thread, what it ``asks``, and the ``cause`` and the ``fix``
that were accepted there. Its ``diagram`` is an expression of runtime.build, with ``contracts`` if
any; ``about`` are wires and variables that are asked about besides. What is said must name the
cause (``blames``) and the cure (``advises``), and none of what it must ``never`` say. ``cured`` is
the diagram with the accepted fix made, at the same numbers unless they are ``moved`` for a reason:
nothing must be wrong with it but what is ``left``, gradients that are rightly 0 at these numbers.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gradwire.runtime.build as builder
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, observe, reassurance, with_fix
from tests.together import together

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

QUESTIONS = [
    question
    for file in sorted(Path(__file__).parent.glob("*.toml"))
    for question in tomllib.loads(file.read_text("utf-8"))["question"]
]
CURED = [question for question in QUESTIONS if "cured" in question]
MINIMUM = 160
NOT_NEEDED = "none"
"""How a fix starts where none is needed: nothing is wrong but the expectation."""


class Names(dict[str, object]):
    """The functions of ``gradwire.runtime.build``, and what an expression names on the way."""

    def __missing__(self, name: str) -> object:
        try:
            return getattr(builder, name)
        except AttributeError:
            raise KeyError(name) from None


def diagram_of(question: dict[str, Any], key: str = "diagram") -> Diagram:
    """The diagram of a question, or the one with the fix made."""
    losses = eval(question[key], {}, Names())
    losses = losses if isinstance(losses, list) else [losses]
    return builder.build(*losses, contracts=question.get("contracts", ()))


def answer(question: dict[str, Any], key: str = "diagram") -> list[str]:
    """What the doctor finds in a diagram, or that nothing is wrong, then what is said about the
    wires and variables that the question is about.
    """
    session = Session(diagram_of(question, key))
    found = [f"{f.complaint.words}: {f.key}: {f.sentence}" for f in diagnose(session)]
    said = found or [reassurance(session.program, session.program.heads())]
    observed = observe(session)
    about = question.get("about", ()) if key == "diagram" else ()
    return [*said, *(with_fix(session, observed.explain(key)).sentence for key in about)]


def variables(diagram: Diagram) -> dict[str, Any]:
    """The initial values of the variables of a diagram, by name."""
    blocks = diagram.main.blocks.items()
    return {name: block.value.array.tolist() for name, block in blocks if type(block) is Variable}


def by_address(question: dict[str, Any]) -> str:
    return question["address"].split("/", 3)[3]


@together("question", QUESTIONS, ids=by_address)
def test_the_true_cause_and_the_cure_are_named(question):
    said = "\n".join(answer(question))
    named = [*question["blames"], *question["advises"]]
    assert [part for part in named if part not in said] == [], said
    assert [part for part in question.get("never", ()) if part in said] == [], said


@pytest.mark.night
@together("question", CURED, ids=by_address)
def test_nothing_is_wrong_once_the_fix_of_the_thread_is_made(question):
    left = tuple(question.get("left", ())) or ("Nothing wrong",)
    said = answer(question, "cured")
    assert [sentence for sentence in said if not sentence.startswith(left)] == []
    assert all(any(sentence.startswith(words) for sentence in said) for words in left)


@together("question", CURED, ids=by_address)
def test_the_fix_is_made_at_the_numbers_of_the_question(question):
    before, after = (variables(diagram_of(question, key)) for key in ("diagram", "cured"))
    moved = [name for name in before if name in after and before[name] != after[name]]
    assert bool(moved) is ("moved" in question), moved


def test_all_questions_have_a_cause_a_cure_and_where_it_can_be_drawn_the_fixed_diagram():
    addresses = [question["address"] for question in QUESTIONS]
    assert len(addresses) == len({*addresses}) >= MINIMUM
    assert all(question["cause"] and question["blames"] for question in QUESTIONS)
    wrong = [question for question in QUESTIONS if not question["fix"].startswith(NOT_NEEDED)]
    assert all(question["advises"] for question in wrong)
    assert [by_address(question) for question in wrong if "cured" not in question] == []
