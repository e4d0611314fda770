"""The timeline of a page by the operations inside blocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.build import block, build, loss, variable
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons.steps import Phase
from gradwire.runtime.lessons.timeline import Detail, record
from tests.runtime.publish.living.script.test_page import assert_quiet, opened

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from tests.runtime.publish.living.script.browsers import Browser
    from tests.runtime.publish.living.script.pages import Pages

STEPS = '[data-key="steps"]'
CARD = "document.querySelector('[data-card=step]').textContent"


def normed() -> Diagram:
    x = variable("x", [3.0, 4.0], dtype="float64")
    return build(loss(gw.norm(x, name="norm") * 2.0, name="loss"))


def by_operations(browser: Browser) -> list[dict[str, Any]]:
    browser.run(
        f"(() => {{ const s = document.querySelector('{STEPS}'); s.value = 'operations';"
        " s.dispatchEvent(new Event('change')); return 0; })()"
    )
    found: list[dict[str, Any]] = browser.run("living.time.events")
    return found


def step(browser: Browser, event: dict[str, Any]) -> Any:
    """The name, formula and numbers of one operation."""
    asked = f"living.time.inside.step('{event['path']}', '{event['phase']}', {event['place']})"
    return browser.run(f"(([n, f, a]) => [n, f, Array.from(a.d)])({asked})")


@pytest.mark.night
def test_operations_have_formulas_and_the_numbers_of_the_runtime(
    browser: Browser, pages: Pages
) -> None:
    opened(browser, pages.of("normed", normed()))
    blocks = browser.run("living.time.events.length")
    events = by_operations(browser)
    assert len(events) > blocks
    inside = [each for each in events if each["path"] == "norm" and each["phase"] == "forward"]
    written = {}
    for each in inside:
        name, formula, array = step(browser, each)
        written[formula] = (name, array)
    assert written["x × x"] == ("t₁", [9, 16]) and written["sum(t₁)"] == ("t₂", [25])
    assert [array for name, array in written.values() if name == "out"] == [[5]]
    back = [each for each in events if each["path"] == "norm" and each["phase"] == "backward"]
    name, formula, array = step(browser, back[-1])
    assert name == "∇x" and np.allclose(array, [1.2, 1.6]) and " + " in formula
    browser.run(f"(living.time.go({events.index(inside[0]) + 1}), 0)")
    card = browser.run(CARD)
    assert "Forward: norm" in card and f"Operation 1 of {len(inside)}" in card
    assert "t₁ = x × x" in card
    assert_quiet(browser)


@pytest.mark.night
def test_values_and_gradients_appear_with_the_last_operation(
    browser: Browser, pages: Pages
) -> None:
    opened(browser, pages.of("normed", normed()))
    events = by_operations(browser)
    forward = [k for k, e in enumerate(events, 1) if (e["path"], e["phase"]) == ("norm", "forward")]
    for position, is_known in ((forward[0], False), (forward[-2], False), (forward[-1], True)):
        browser.run(f"(living.time.go({position}), 0)")
        assert browser.run("living.time.hasForward('norm')") is is_known
    browser.run("(living.time.detail(false), 0)")
    assert browser.run("living.time.event.path") == "norm", "it stays where it is"
    assert browser.run("living.time.events.length") < len(events)


@pytest.mark.night
@pytest.mark.parametrize("kind", ["Norm", "Softplus", "CosineSimilarity", "Variance"])
def test_what_has_steps_in_the_runtime_has_them_here(
    kind: str, browser: Browser, pages: Pages
) -> None:
    """The page leaves out what it computes once for several, and the runtime what is no step."""
    x = variable("x", [3.0, 4.0], dtype="float64")
    inputs = [x, variable("y", [1.0, 2.0], dtype="float64")] if kind == "CosineSimilarity" else [x]
    diagram = build(loss(block(kind, *inputs, name="it"), name="loss")) if kind != "Softplus" else (
        build(loss(gw.sum(block(kind, *inputs, name="it")), name="loss")))  # fmt: skip
    opened(browser, pages.of(f"inside_{kind}", diagram))
    events = by_operations(browser)
    timeline = record(Session(diagram), detail=Detail.PRIMITIVE)
    for phase in (Phase.FORWARD, Phase.BACKWARD):
        theirs = [e for e in timeline.events if e.phase is phase and str(e.path) == "it"]
        mine = [e for e in events if e["phase"] == phase.value and e["path"] == "it"]
        assert (len(theirs) > 1) <= (len(mine) > 1), json.dumps(mine)
