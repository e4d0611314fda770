"""What the page says when numbers and stops are changed is what the runtime says then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.runtime.diagram import load
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import observe
from gradwire.runtime.publish.living.computing.numbers import numbers
from gradwire.runtime.publish.living.computing.switches import switches_of
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.writing.html import engine_script
from tests.runtime.publish.living.oracle import results
from tests.runtime.publish.living.script.pages import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.publish.living.data import Living
    from tests.runtime.publish.living.script.browsers import Browser
    from tests.runtime.publish.living.script.pages import Pages

COMPARE = (Path(__file__).parents[1] / "compare.js").read_text(encoding="utf-8")


def gestures(living: Living) -> Iterator[dict[str, Any]]:
    """As it opens; with a number dragged far, and one dragged to 0; with each stop switched."""
    start = living.switches.open
    session = Session(living.switches.switched(start), fast=False)
    base = {
        path: np.asarray(session._store.value(path, leaf))
        for path, leaf in session.program.leaves.items()
        if living.data["leaves"][path]["kind"] in ("variable", "input")
    }
    first = next((path for path, array in base.items() if array.dtype.kind == "f"), None)
    for factor in (1, 40, 0, -1) if first else ():
        changed = base | {first: (base[first] * factor).astype(base[first].dtype)}
        yield _case(living, start, changed)
    for place, switch in enumerate(living.switches.all):
        if not switch.locked:
            setting = [is_open ^ (k == place) for k, is_open in enumerate(start)]
            yield _case(living, tuple(setting), base)


def _case(living: Living, setting: Any, values: dict[str, Any]) -> dict[str, Any]:
    session = Session(living.switches.switched(setting), fast=False)
    for path, array in values.items():
        session.set(path, array)
    return {
        "values": {path: numbers(array) for path, array in values.items()},
        "open": setting,
        "heads": [True] * len(session.losses),
        **results(session, session.losses, told=True),
    }


@pytest.mark.night
def test_every_page_says_what_the_runtime_does_after_every_gesture(
    browser: Browser, pages: Pages
) -> None:
    browser.open(pages("mxnet_seed"))
    engine = engine_script()
    for file in EXAMPLES[browser.name == "firefox" :: 2]:  # the two take turns, to save time
        living = living_data(load(file))
        work = json.dumps({"data": living.data, "cases": list(gestures(living))})
        found = browser.run(f"(() => {{ {engine}{COMPARE}; return compare({work}); }})()")
        assert found["sentences"] > 0, file.name
        assert (found["said"], found["unlike"]) == (0, []), file.name
        assert (found["none"], found["states"], found["wrong"]) == (0, 0, []), file.name


@pytest.mark.night
def test_the_card_follows_a_number_and_a_stop(browser: Browser, pages: Pages) -> None:
    diagram = load(next(file for file in EXAMPLES if file.name.startswith("straight_through")))
    browser.open(pages("straight_through"))
    browser.until("globalThis.living")
    wires = browser.run("[...living.wires.keys()]")
    for gesture in ("", "living.numbers.change('x_stop', 0, 40)", "living.switches.flip(0)"):
        browser.run(f"({gesture or 0}, 0)")
        flow = observe(_after(diagram, gesture))
        for wire in wires:
            browser.run(f"(living.choose({json.dumps(wire)}), 0)")
            told = flow.explain(wire)
            assert browser.text("[data-card=why] .verdict") == told.sentence
            assert browser.text("[data-card=why] .cure") == told.cure
            cut = browser.run(
                "[...document.querySelectorAll('.cutter')].map((e) => e.dataset.wire)"
            )
            assert set(cut) == {str(cutter.wire) for cutter in told.cutters}


def _after(diagram: Diagram, gesture: str) -> Session:
    """The diagram after this gesture and those before."""
    switches = switches_of(diagram)
    is_open = [not switches.open[0] if "flip" in gesture else switches.open[0], *switches.open[1:]]
    session = Session(switches.switched(is_open), fast=False)
    if gesture:
        session.set("x_stop", 40.0)
    return session
