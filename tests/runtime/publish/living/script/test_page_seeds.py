"""Other numbers for each reader: by a seed of their own choice, by their name, or the teacher's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.runtime.diagram import load
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons.answers import read_sheet
from gradwire.runtime.lessons.course.marks import mark
from gradwire.runtime.lessons.walk import Walk
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.lesson import Exercise
from gradwire.runtime.publish.living.writing.html import page
from tests.runtime.publish.living.script.pages import LESSONS
from tests.runtime.publish.living.script.test_page_lesson import SAID, said

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.runtime.diagram import Diagram
    from tests.runtime.publish.living.script.browsers import Browser
    from tests.runtime.publish.living.script.pages import Pages


def assert_numbers(browser: Browser, diagram: Diagram) -> None:
    """The page has the numbers of a diagram."""
    for path, value in Session(diagram).values.items():
        found = browser.run(f"[...(living.live.values[{json.dumps(path)}] ?? [])]")
        assert not found or np.allclose(found, np.ravel(value)), path


@pytest.mark.night
def test_a_seed_gives_the_numbers_and_texts_that_it_gives_in_the_runtime(
    browser: Browser, pages: Pages
) -> None:
    for file in LESSONS[browser.name == "firefox" :: 6]:
        browser.open(pages(file.name.split(".")[0]))
        browser.until("globalThis.living?.lesson")
        for seed in (1, 2, 77, 2**32 - 1, 0):
            browser.run(f"(living.lesson.choose({seed}), living.time.pause(), 0)")
            walk = Walk(load(file), seed)
            assert_numbers(browser, walk.diagram)
            assert browser.run(SAID) == said(walk), (file.name, seed)


@pytest.mark.night
def test_a_reader_asks_for_another_variant(browser: Browser, pages: Pages) -> None:
    browser.open(pages("02_fan_out_adds"))
    browser.until("globalThis.living?.lesson")
    before = browser.run("living.lesson.seed")
    browser.click("[data-key='Another variant']")
    seed = browser.run("living.lesson.seed")
    assert before == 0 and seed > 0
    assert browser.run("+document.querySelector('[data-key=seed]').value") == seed
    browser.click("[data-key=seed]")
    browser.press("Control+a", "3", "Enter")
    assert browser.run("living.lesson.seed") == 3
    assert browser.run("JSON.parse(living.lesson.answers()).seed") == 3
    browser.click("[data-key=next]")
    assert browser.count("[data-key=seed]") == 0


def published(folder: Path, **exercise: Any) -> Path:
    file = next(file for file in LESSONS if file.name.startswith("02"))
    out = folder / "exercise.html"
    data = living_data(load(file), exercise=Exercise(**exercise)).data
    out.write_text(page(data, ""), encoding="utf-8")
    return out


def test_the_seed_of_a_teacher_stays(browser: Browser, tmp_path: Path) -> None:
    browser.open(published(tmp_path, seed=5))
    browser.until("globalThis.living?.lesson")
    assert browser.run("living.lesson.seed") == 5 and browser.count("[data-key=seed]") == 0
    assert "Variant 5" in browser.text(".lesson")
    assert_numbers(browser, Walk(load(LESSONS[1]), 5).diagram)


@pytest.mark.night
def test_a_name_has_a_seed_and_its_answers_are_graded_by_it(
    browser: Browser, tmp_path: Path
) -> None:
    browser.open(published(tmp_path, learners=("Ada", "<b>Bo</b>")))
    browser.until("globalThis.living?.lesson")
    assert browser.text("[data-key=learners]") == "Your name?Ada<b>Bo</b>"
    browser.run(
        "((e) => {e.value = '2'; e.dispatchEvent(new Event('change')); return 0;})"
        "(document.querySelector('[data-key=learners]'))"
    )
    file = LESSONS[1]
    walk = Walk(load(file), 2)
    assert_numbers(browser, walk.diagram)
    while walk.step.do != "predict":
        walk.advance()
    browser.run(f"(living.lesson.enter({walk.index}), 0)")
    right = browser.run("[...(living.ask.actual() ?? [])]")
    browser.run(
        f"(living.ask.given = {json.dumps([str(x) for x in right])}, living.ask.commit(), 0)"
    )
    answers = tmp_path / "answers.json"
    answers.write_text(browser.run("living.lesson.answers()"), encoding="utf-8")
    sheet = read_sheet(answers)
    assert (sheet.learner, sheet.seed) == ("<b>Bo</b>", 2)
    marks = mark(load(file), sheet, answers)
    (step,) = (each for each in marks.steps if each.step == walk.index + 1)
    assert (marks.seed, step.points) == (2, 4)
