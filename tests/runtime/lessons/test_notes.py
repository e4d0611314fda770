"""Notes state the numbers of now, and show their braces where there are none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtime.build import build, loss, stop_gradient, variable
from runtime.diagram.model import Diagram, Note
from runtime.engine import Session
from runtime.lessons.expressions.facts import Facts
from runtime.lessons.notes import asks, check_notes, note_text, with_numbers

TEXT = 'w gets {grad("w")} of the loss {value("loss")}; {{braces}'


def noted(*texts: str) -> Diagram:
    w = variable("w", 3.0)
    made = build(loss(w * stop_gradient(w), name="loss"))
    notes = {str(k): Note(text) for k, text in enumerate(texts)}
    return made.with_page("main", replace(made.main, notes=notes))


def texts(diagram: Diagram) -> list[str]:
    return [note.text for note in diagram.main.notes.values()]


def test_numbers_follow_edits_and_switches() -> None:
    diagram = noted(TEXT, "plain")
    assert texts(with_numbers(diagram)) == ["w gets 3 of the loss 9; {braces}", "plain"]
    session = Session(diagram)
    session.set("w", 5.0)
    assert texts(with_numbers(diagram, session))[0] == "w gets 5 of the loss 25; {braces}"
    stop = next(name for name, each in diagram.main.blocks.items() if "Stop" in each.type_name())
    blocks = {
        **diagram.main.blocks,
        stop: diagram.main.blocks[stop].model_copy(update={"open": True}),
    }
    opened = diagram.with_page("main", replace(diagram.main, blocks=blocks))
    assert texts(with_numbers(opened))[0] == "w gets 6 of the loss 9; {braces}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a set {1, 2}", "braces"),
        ("open {", "never closed"),
        ('{grad("v")}', "no variable 'v'"),
        ('{__import__("os")}', "braces"),
    ],
)
def test_what_has_no_value_stays_as_it_is_and_is_said(text: str, complaint: str) -> None:
    diagram = noted(text, TEXT)
    assert texts(with_numbers(diagram))[0] == text
    (problem,) = check_notes(diagram)
    assert (problem.page, problem.note, problem.diagnostic.severity) == ("main", "0", "warning")
    assert complaint in problem.diagnostic.what


def test_what_cannot_run_shows_texts_as_they_are() -> None:
    text = "{value('nowhere')}"
    assert texts(with_numbers(noted(text))) == [text]
    assert asks(text) and not asks("plain") and not asks("{")
    assert note_text("plain", Facts(Session(noted()))) == "plain"
