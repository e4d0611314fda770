"""Which what-ifs a page can try, and what it says of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import Diagram, load
from gradwire.runtime.diagram.model import Note
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.lessons.texts import parse_text
from gradwire.runtime.publish.living.computing.switches import switches_of
from gradwire.runtime.publish.living.data import PageTrials, living_data
from tests.runtime.publish.living.script.pages import ASSETS


def trials(diagram: Diagram) -> PageTrials:
    return PageTrials(switches_of(diagram), lower(diagram))


def published(diagram: Diagram, text: str) -> list[str | None]:
    found = trials(diagram.with_page("main", replace(diagram.main, notes={"1": Note(text)})))
    return [found.published(p) for p in parse_text(text).parts if not isinstance(p, str)]


def stopped() -> Diagram:
    w = variable("w", 3.0)
    return build(loss(w * stop_gradient(w, name="stop"), name="loss"))


def example(name: str) -> Diagram:
    return load(ASSETS / "diagrams" / f"{name}.gradwire.json")


@pytest.mark.parametrize(
    "asked", ['opened(grad("w"), "stop")', 'closed(grad("w"), "stop")', 'cut(grad("w"), "loss.x")']
)
def test_a_page_tries_whole_stops_and_wires_itself(asked: str) -> None:
    assert published(stopped(), f"{{{asked}}}") == [None]


@pytest.mark.parametrize(
    ("asked", "worth"),
    [
        ('opened(grad("encoder_bias"), "freeze:encoder/bias")', "[0.6071, −0.3475]"),
        ('cut(grad("head_weight"), "nowhere.x")', "?"),
    ],
)
def test_of_others_it_has_what_the_runtime_says(asked: str, worth: str) -> None:
    assert published(example("freeze_encoder"), f"{{{asked}:.4f}}") == [worth]


def test_a_page_cuts_no_wire_that_a_gradient_block_differentiates_through() -> None:
    diagram = example("adversarial_training_unstopped")
    untried = trials(diagram).untried
    assert "perturbation.x" not in untried and "clean_loss.x" not in untried
    assert any(wire.startswith("clean/") for wire in untried)


def test_a_page_that_is_asked_nothing_has_no_list() -> None:
    assert living_data(stopped()).data["untried"] == []
    diagram = example("adversarial_training_unstopped")
    quiet = diagram.with_page("main", replace(diagram.main, notes={}))
    assert trials(quiet).untried == [] != trials(diagram).untried
