"""Scans on the page: entered at a step, and gone through step by step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gradwire as gw
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import observe
from gradwire.runtime.publish.living.data import living_data
from tests.runtime.publish.living.node import NODE, compared
from tests.runtime.publish.living.oracle import work_of
from tests.runtime.publish.living.script.test_page import assert_quiet, opened
from tests.runtime.publish.living.test_loops import layer, stopped

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from tests.runtime.publish.living.script.browsers import Browser
    from tests.runtime.publish.living.script.pages import Pages


def scanning() -> Diagram:
    """A loop of three steps, whose condition ends it after two, around one of two."""

    @gw.page
    def inner(z, k):
        return {"k_n": gw.tanh(gw.stop_gradient(z, name="stop") + gw.variable("w", 0.5) * k)}

    @gw.page
    def outer(x, h):
        again = gw.scan(inner, h, x, steps=2, carry={"k": "k_n"}, name="again")
        return {"h_n": again["k_n"] + h, "y": h * 2.0, "more": gw.sum(h) < 0.5}

    x = gw.variable("x", [0.3, 0.7, 0.2], dtype="float64")
    h = gw.variable("h", 0.4, dtype="float64")
    out = gw.scan(outer, x, h, steps=3, over="x", carry={"h": "h_n"}, condition="more", name="s")
    return gw.build(gw.loss(out + gw.sum(out["y"])))


@pytest.mark.night
@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_a_page_computes_steps_as_the_runtime_does(tmp_path: Path) -> None:
    found = compared(tmp_path, work_of(living_data(scanning()), trials=3))
    assert found["cases"] > 0 and found["numbers"] > 20
    assert (found["none"], found["states"], found["unlike"]) == (0, 0, []), found["wrong"]
    assert found["worst"] < 1e-12, found["where"]


@pytest.mark.night
def test_steps_are_entered_and_left(browser: Browser, pages: Pages) -> None:
    page = opened(browser, pages.of("scanning", scanning()))
    assert "↻ 3" in page.text('[data-block="s"]')
    page.click('[data-block="s"] .name', count=2)
    assert page.run("living.use") == "s/0/"
    page.click('.crumbs [aria-label="Next step"]')
    page.click('.crumbs [aria-label="Next step"]')
    assert page.run("living.use") == "s/2/"
    assert page.count('.crumbs [aria-label="Next step"]') == 0
    page.run("document.querySelector('[data-block=\"s/2/again\"]').focus()")
    page.press("Enter", "Enter")
    assert page.run("living.use") == "s/2/again/0/"
    assert page.text(".crumbs") == "mains, step 2←again, step 0→"
    page.click('.crumbs [aria-label="Previous step"]')
    assert page.run("living.use") == "s/1/again/0/"
    page.press("Escape")
    assert page.run("living.use") == "s/1/"
    page.press("Escape")
    assert page.run("living.use") == ""
    assert_quiet(page)


@pytest.mark.night
def test_a_step_of_a_long_loop_is_explained_after_every_gesture(
    browser: Browser, pages: Pages
) -> None:
    diagram = stopped(30)
    page = opened(browser, pages.of("long", diagram))
    session = Session(diagram, fast=False)
    page.click('[data-block="s"] .name', count=2)
    assert page.run("living.use") == "s/0/"
    page.run("(living.enter('s/17/'), 0)")
    page.click('.crumbs [aria-label="Next step"]')
    assert page.run("living.use") == "s/18/"
    for number in (0.4, 2.5, -0.75):
        page.run(f"(living.numbers.change('h', 0, {number}), 0)")
        session.set("h", number)
        flow, values = observe(session), session.run().values
        for wire in page.run("[...living.wires.keys()]"):
            page.run(f"(living.choose({json.dumps(wire)}), 0)")
            told = flow.explain(wire)
            assert page.text("[data-card=why] .verdict") == told.sentence
            assert page.text("[data-card=why] .cure") == told.cure
            assert page.run(f"living.state({json.dumps(wire)})") == told.state.name.replace(
                "_", " "
            )
        assert page.run("living.live.port('s/18/mul1.out').d[0]") == values["s/18/mul1.out"]
    assert_quiet(page)


@pytest.mark.night
def test_operations_of_a_step_of_a_long_loop(browser: Browser, pages: Pages) -> None:
    page = opened(browser, pages.of("layer", layer("gru", 20)))
    values = Session(layer("gru", 20), fast=False).run().values
    page.run("(living.enter('rnn/11/'), living.time.detail(true), 0)")
    place = """living.time.events
        .filter((e) => e.path === 'rnn/11/linear1' && e.phase === 'forward')
        .map((e) => living.time.inside.step(e.path, e.phase, e.place))"""
    steps = page.run(f"{place}.map(([name, formula, array]) => [name, formula, [...array.d]])")
    assert len(steps) > 2 and steps[-1][0] == "out"
    assert steps[-1][2] == pytest.approx(values["rnn/11/linear1.out"], rel=1e-5)
    back = page.run(place.replace("forward", "backward") + ".map(([name]) => name)")
    assert back[-1].startswith(("∇", "t")) and len(back) > 2
    assert_quiet(page)
