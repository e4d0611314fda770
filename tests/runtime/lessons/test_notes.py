"""Notes state the numbers of now, and show their braces where there are none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram.model import Diagram, Note
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.observing import observe
from gradwire.runtime.lessons.expressions.facts import Facts, FlowFacts
from gradwire.runtime.lessons.expressions.wording import trials_in
from gradwire.runtime.lessons.notes import (
    MOST_TRIALS,
    asks,
    check_notes,
    note_text,
    note_trials,
    with_numbers,
)
from gradwire.runtime.lessons.texts import parse_text

TEXT = 'w gets {grad("w")} of the loss {value("loss")}; {{braces}'


def noted(*texts: str) -> Diagram:
    w = variable("w", 3.0)
    made = build(loss(w * stop_gradient(w, name="stop"), name="loss"))
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
        ('{opened(grad("w"), "w")}', "only a StopGradient can be opened"),
        ('{cut(grad("w"), "loss.y")}', "no wire"),
        ('{opened(grad("w"))}', "takes an expression, and then paths"),
        ('{opened("stop", grad("w"))}', "takes an expression, and then paths"),
        ('{closed(state("loss.x"), "stop")}', "gradients and values"),
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


WHAT_IFS = {
    '{opened(grad("w"), "stop")}': "6",
    '{closed(opened(grad("w"), "stop"), "stop")}': "6",
    '{cut(opened(grad("w"), "stop"), "loss.x")}': "None",
    '{opened(grad("w"), "stop") - grad("w")} of {opened(value("loss"), "stop"):.1f}': "3 of 9.0",
    '{opened(grad("w", "loss"), "stop")}': "6",
}


@pytest.mark.parametrize("text", WHAT_IFS)
def test_notes_say_what_would_be(text: str) -> None:
    diagram = noted(text)
    session = Session(diagram)
    assert texts(with_numbers(diagram, session)) == [WHAT_IFS[text]]
    assert session.diagram is diagram and not check_notes(diagram)


@pytest.mark.parametrize("text", WHAT_IFS)
def test_flows_that_were_computed_before_say_the_same(text: str) -> None:
    """The editor computes what notes ask beside the result, and nothing when it paints."""
    session = Session(noted(text, '{opened(grad("w"), "nothing")}'), partial=True)
    trials = note_trials(session)
    slots = [part for part in parse_text(text).parts if not isinstance(part, str)]
    assert trials.keys() == {steps for slot in slots for steps in trials_in(slot.condition.tree)}
    facts = FlowFacts(observe(session), session.diagram, trials=trials)
    assert note_text(text, facts) == WHAT_IFS[text]
    other = '{opened(grad("w"), "loss")}'
    assert note_text(other, facts) == other


def test_what_would_be_follows_the_numbers_of_now() -> None:
    diagram = noted('{opened(grad("w"), "stop")}')
    session = Session(diagram)
    session.set("w", 5.0)
    assert texts(with_numbers(diagram, session)) == ["10"]


def test_what_is_computed_after_each_edit_is_bounded() -> None:
    """Each of these names the stop once more, and so is another what-if."""
    asked = [f'{{cut(grad("w"), {", ".join([repr("stop.x")] * n)})}}' for n in range(1, 9)]
    asked += [
        f'{{opened({inner}, "stop")}}'
        for n in range(1, 9)
        for inner in [f'cut(grad("w"), {", ".join([repr("stop.x")] * n)})']
    ]
    asked += [text.replace("opened", "closed") for text in asked[8:]]
    asked += [f'{{opened({text[1:-1]}, "stop")}}' for text in asked[:24]]
    trials = note_trials(Session(noted(*asked), partial=True))
    assert len(trials) == MOST_TRIALS < len(asked)
