"""Notes state the numbers of now, and views and the first batch of data are as published."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.build import block, build, histogram, loss, stop_gradient, variable
from gradwire.runtime.diagram import load
from gradwire.runtime.diagram.model import Note
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons.amounts import fixed
from gradwire.runtime.lessons.expressions.facts import Facts
from gradwire.runtime.lessons.notes import note_text, with_numbers
from gradwire.runtime.publish.living.computing.switches import switches_of
from gradwire.runtime.publish.living.drawn.picture import shown_views
from gradwire.runtime.publish.living.publishing import publish
from tests.runtime.publish.living.script.pages import ASSETS
from tests.runtime.publish.living.script.test_page import assert_quiet, opened

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from tests.runtime.publish.living.script.browsers import Browser
    from tests.runtime.publish.living.script.pages import Pages

TEXT = 'w gets {grad("w")} of {value("loss")}; {{open}: {open("stop")}'
NOTE = "document.querySelector('.note title').textContent"


def noted() -> Diagram:
    w = variable("w", 3.0)
    made = build(loss(w * stop_gradient(w, name="stop"), name="loss"))
    return made.with_page("main", replace(made.main, notes={"1": Note(TEXT)}))


@pytest.mark.night
def test_a_note_follows_numbers_and_switches(browser: Browser, pages: Pages) -> None:
    diagram = noted()
    session = Session(diagram)
    opened(browser, pages.of("noted", diagram))
    assert browser.run(NOTE) == "w gets 3 of 9; {open}: false"
    browser.run("(living.numbers.change('w', 0, -2.5), 0)")
    session.set("w", -2.5)
    wanted = with_numbers(diagram, session).main.notes["1"].text
    assert browser.run(NOTE) == wanted == "w gets −2.5 of 6.25; {open}: false"
    browser.run("(living.switches.flip(0), 0)")
    assert browser.run(NOTE) == "w gets −5 of 6.25; {open}: true"
    assert_quiet(browser)


def test_a_page_writes_the_digits_that_a_note_asks_for(browser: Browser, pages: Pages) -> None:
    """Halves too, which other roundings would tell apart, and what rounds to 0 from below."""
    opened(browser, pages.of("noted", noted()))
    exact = [0.125, 0.375, -0.125, -2.5, 0.0, -0.001, 0.01502, 1.005, 1e14, -1e15, 3e20]
    numbers = [*exact, *np.random.default_rng(5).normal(0, 100, 60).tolist()]
    for places in (0, 2, 4, 9):
        asked = f"{json.dumps(numbers)}.map((x) => living.conditions.written(x, {places}))"
        assert json.loads(browser.run(f"JSON.stringify({asked})")) == [
            fixed(number, places) for number in numbers
        ]
    shown = browser.run("living.conditions.written(['grad', 'w'], 2)")
    assert shown == note_text('{grad("w"):.2f}', Facts(Session(noted()))) == "3.00"


@pytest.mark.night
def test_the_example_of_em_states_what_its_stop_does(browser: Browser, pages: Pages) -> None:
    """Open, the stop makes the note say what the unstopped twin's says; closed again, as before."""
    opened(browser, pages("em_stopped"))
    notes = "[...document.querySelectorAll('.note title')].map((x) => x.textContent).join('\\n')"
    assert "mu gets [0.0150, −0.5114]" in browser.run(notes)
    browser.run("(living.switches.flip(0), 0)")
    assert "mu gets [0.1928, −0.7532]" in browser.run(notes)
    browser.run("(living.switches.flip(0), 0)")
    assert "mu gets [0.0150, −0.5114]" in browser.run(notes)
    assert_quiet(browser)


WOULD = ("adversarial_training_stopped", "adversarial_training_unstopped", "dqn_target_unstopped",
         "em_stopped", "fan_out", "gan", "reinforce_baseline_stopped")  # fmt: skip
TITLES = "[...document.querySelectorAll('.note title')].map((x) => x.textContent)"


@pytest.mark.night
@pytest.mark.parametrize("name", WOULD)
def test_a_page_says_what_would_be(browser: Browser, pages: Pages, name: str) -> None:
    """With stops opened or wires cut, for other numbers and switches too; nothing else changes."""
    diagram = load(ASSETS / "diagrams" / f"{name}.gradwire.json")
    session = Session(diagram)
    opened(browser, pages(name))
    assert said(browser) == told(diagram, session)
    variable = next(iter(session.values))
    moved = session.values[variable].copy()
    moved.flat[0] = 0.75
    session.set(variable, moved)
    browser.run(f"(living.numbers.change({json.dumps(variable)}, 0, 0.75), 0)")
    assert said(browser) == told(diagram, session)
    for place in range(browser.run("living.data.switches.length")):
        before = browser.run("JSON.stringify(living.live.states())")
        browser.run(f"(living.switches.flip({place}), 0)")
        settings = json.loads(browser.run("JSON.stringify(living.live.open)"))
        changed = Session(switches_of(diagram).switched(settings))
        changed.set(variable, moved)
        assert said(browser) == told(diagram, changed)
        browser.run(f"(living.switches.flip({place}), 0)")
        assert browser.run("JSON.stringify(living.live.states())") == before
    assert_quiet(browser)


def said(browser: Browser) -> list[str]:
    return sorted(json.loads(browser.run(f"JSON.stringify({TITLES})")))


def told(diagram: Diagram, session: Session) -> list[str]:
    notes = with_numbers(diagram, session).main.notes.values()
    return sorted(note.text for note in notes if not note.frame)


@pytest.mark.night
def test_what_only_the_runtime_can_try_is_never_a_wrong_number(
    browser: Browser, pages: Pages
) -> None:
    """The page can't open a stop for one leaf: its number is that of the file, and no other."""
    opened(browser, pages("freeze_encoder"))
    assert "would get [0.6071, −0.3475], and" in " ".join(said(browser))
    path = browser.run("Object.keys(living.data.leaves).find((x) => living.data.leaves[x].trained)")
    was = browser.run(f"living.live.values['{path}'][0]")
    browser.run(f"(living.numbers.change('{path}', 0, 0.75), 0)")
    assert "would get (not computed in this page), and" in " ".join(said(browser))
    browser.run(f"(living.numbers.change('{path}', 0, {was}), 0)")
    assert "would get [0.6071, −0.3475], and" in " ".join(said(browser))
    assert_quiet(browser)


def test_a_note_gives_no_answer_away(browser: Browser, pages: Pages) -> None:
    opened(browser, pages.of("noted", noted()))
    browser.run("(living.predict({gradient: 'w', answer: 'number'}), 0)")
    assert browser.run(NOTE) == "w gets ? of ?; {open}: ?"
    browser.run("(living.predict(null), 0)")
    assert browser.run(NOTE).startswith("w gets 3")


def test_the_still_picture_states_the_numbers_of_the_file() -> None:
    html = publish(noted())
    assert ">w gets 3 of 9; {open}: false</text>" in html


def test_a_view_is_shown_from_the_still_picture(browser: Browser, pages: Pages) -> None:
    w = variable("w", [1.0, 2.0])
    diagram = build(loss(gw.sum(w)), histogram(w, name="counts"))
    file = pages.folder / "viewed.html"
    file.write_text(publish(diagram), encoding="utf-8")
    opened(browser, file)
    address = browser.run("document.querySelector('.canvas .view').getAttribute('href')")
    assert address.startswith("data:image/svg+xml,") and "2 values" in address
    browser.run(f"(globalThis.seen = new Image(), seen.src = {json.dumps(address)}, 0)")
    browser.until("seen.complete && seen.naturalWidth > 100")
    assert_quiet(browser)


@pytest.mark.night
def test_a_page_with_data_shows_its_first_batch_and_says_so(browser: Browser, pages: Pages) -> None:
    """Readers see the rows of the first step, and that the other rows are not in the page."""
    diagram = load(ASSETS / "diagrams" / "training_spirals.gradwire.json")
    session = Session(diagram)
    run = session.run()
    opened(browser, pages("training_spirals"))
    data = next(name for name, each in diagram.main.blocks.items() if each.type_name() == "Dataset")
    for port in (port for port in run.values if str(port).startswith(f"{data}.")):
        found = browser.run(f"Array.from(living.live.port('{port}').d)")
        assert np.array_equal(np.asarray(found, np.float64), run.values[port].ravel().astype(float))
    browser.run(f"(living.choose('{data}'), 0)")
    said = browser.run("document.querySelector('aside').textContent")
    rows = 400 - 100  # those for validation are not among them
    assert f"These are the first 64 of {rows} rows: the page does not have the others." in said
    assert browser.run("document.querySelectorAll('.canvas .view').length") == len(
        shown_views(diagram)
    )
    assert_quiet(browser)


@pytest.mark.night
def test_the_legend_has_no_state_that_only_wires_into_views_have(
    browser: Browser, pages: Pages
) -> None:
    w = variable("w", [1.0, 2.0])
    opened(browser, pages.of("viewed", build(loss(gw.sum(w)), histogram(w, name="counts"))))
    legend = "document.querySelector('.legend').textContent"
    assert "Carries gradient" in browser.run(legend) and "Off route" not in browser.run(legend)
    unused = build(loss(gw.sum(w)), block("Sum", w * w, name="unused"))
    opened(browser, pages.of("unused", unused))
    assert "Off route" in browser.run(legend)


OVERLAPS = """(() => {
  const boxes = [...document.querySelectorAll('.wiring .grad')]
    .filter((text) => text.textContent).map((text) => text.getBBox());
  const meet = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width
    && a.y < b.y + b.height && b.y < a.y + a.height;
  return boxes.filter((a, i) => boxes.slice(i + 1).some((b) => meet(a, b))).length;
})()"""


@pytest.mark.night
def test_the_numbers_of_a_fan_out_stand_beside_each_other(browser: Browser, pages: Pages) -> None:
    """What the two slots of a product bring back to one variable can both be read."""
    opened(browser, pages("fan_out"))
    for slot in ("product.a", "product.b"):
        assert browser.text(f".wiring[data-wire='{slot}'] .grad") == "∇ 2"
    assert browser.text(".wiring[data-wire='triple.b'] .grad") == "∇ 3"
    assert browser.run(OVERLAPS) == 0
    opened(browser, pages("gan"))
    assert browser.count(".wiring .grad") > 5 and browser.run(OVERLAPS) == 0


@pytest.mark.night
def test_everything_that_is_pressed_is_large_enough_for_a_finger(
    browser: Browser, pages: Pages
) -> None:
    small = """[...document.querySelectorAll('button, input, select, summary')]
      .filter((each) => each.offsetWidth && Math.min(each.offsetWidth, each.offsetHeight) < LEAST)
      .map((each) => each.outerHTML.slice(0, 80))"""
    for width, least in ((390, 44), (1280, 24)):
        browser.open(pages("em_stopped"), width, 800)
        browser.until("globalThis.living")
        browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        browser.until("document.querySelector('.outline')")
        browser.run(
            "living.choose([...living.wires.keys()].find((k) => living.why.of(k).route[1]))"
        )
        assert browser.run(small.replace("LEAST", str(least))) == []
        assert browser.run("document.documentElement.scrollWidth") <= width
