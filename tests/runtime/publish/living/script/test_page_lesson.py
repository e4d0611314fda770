"""A lesson in the page: all kinds of steps by hand, and answers that the runtime takes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gradwire.runtime.build import block, build, loss, mul, stop_gradient, variable
from gradwire.runtime.build import input as gw_input
from gradwire.runtime.diagram import load
from gradwire.runtime.diagram.lesson import BuildStep, CheckStep, Lesson
from gradwire.runtime.lessons.answers import read_sheet
from gradwire.runtime.lessons.expressions.goals import right_option
from gradwire.runtime.lessons.texts import filled
from gradwire.runtime.lessons.walk import Walk
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.writing.html import page
from tests.runtime.publish.living.script.pages import LESSONS

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from tests.runtime.publish.living.script.browsers import Browser
    from tests.runtime.publish.living.script.pages import Pages

STEPS: list[dict[str, Any]] = [
    {"do": "show", "text": "**Two** routes: `w` is {value(\"w\")}.", "look": ["mul"], "play": "all",
     "reveal": ["states"]},
    {"do": "predict", "text": "And the gradient?", "gradient": "w", "answer": "number",
     "hints": ["Weak.", "It is {grad(\"w\")}."], "after": "It is {grad(\"w\")}.",
     "reveal": ["gradients"]},
    {"do": "paint", "text": "Paint.", "wires": ["mul.a", "mul.b"],
     "states": ["CARRIES", "STOPPED"]},
    {"do": "change", "text": "Make it 8.", "setup": {"w": 2.0},
     "goals": ["grad(\"w\") == 8", "flows(loss -> w)"], "only": ["w", "sg"]},
    {"do": "build", "text": "Take the stop out.", "goals": ["grad(\"w\") > 0"]},
    {"do": "check", "text": "Then?", "options": [
        {"text": "Less than {grad(\"w\")}.", "holds": "grad(\"w\") < 0", "feedback": "No."},
        {"text": "More than 0.", "holds": "0 < grad(\"w\")", "feedback": "Yes, `w`."}]},
]  # fmt: skip


@pytest.fixture
def lesson() -> Diagram:
    w = variable("w", 3.0)
    made = build(loss(mul(w, stop_gradient(w, name="sg"), name="mul"), name="loss"))
    hidden = {"goal": "Know.", "hide": ["gradients", "states"], "steps": STEPS}
    return replace(made, title="Half a square", lesson=Lesson.model_validate(hidden))


def step(browser: Browser) -> str:
    return browser.text("[data-card=lesson] h2")


@pytest.mark.night
def test_a_lesson_is_walked_through(browser: Browser, lesson: Diagram, tmp_path: Path) -> None:
    file = tmp_path / "lesson.html"
    file.write_text(page(living_data(lesson).data, ""), encoding="utf-8")
    browser.open(file)
    browser.until("globalThis.living?.lesson")
    assert step(browser) == "Step 1 of 5" and "Two routes: w is 3." in browser.text(".lesson")
    assert browser.count(".lesson strong, .lesson code") == 2 and browser.count(".dim") > 0
    assert browser.count("[data-gradient]") == 0 and browser.run("living.time.timer !== null")

    browser.click("[data-key=next]")
    assert browser.count(".canvas .lane[d^=M]") == 0  # shown from the end of the step on, but asked
    browser.click("[data-key=hint]")
    assert "Weak." in browser.text(".hint")
    browser.click("[data-guess]")
    browser.press("6", "Enter")
    assert (browser.text("[data-yours]"), browser.text("[data-actual]")) == ("6", "3")
    assert "sg" in browser.text(".feedback") and "It is 3." in browser.text(".after")

    browser.click("[data-key=next]")
    browser.click('[data-wire="mul.a"]')
    browser.click('[data-wire="mul.b"]')
    browser.click('[data-wire="mul.b"]')
    browser.click("[data-key=Commit]")
    assert "Right" in browser.text("[data-card=ask]")

    browser.click("[data-key=next]")
    assert browser.run("living.live.values.w[0]") == 2
    assert browser.count(".goals .right") == 1
    browser.click('[data-key="stop 0"]')
    browser.click("[data-leaf=w]")
    browser.press("Control+a", "4", "Enter")
    assert browser.count(".goals .right") == 2 and "Done" in browser.text(".lesson")

    browser.click("[data-key=next]")
    assert step(browser) == "Step 5 of 5"  # nothing can be drawn here
    assert browser.count("[data-gradient]") == 0 == browser.count(".canvas .lane[d^=M]")
    browser.click("[data-option='1']")
    assert browser.count("[data-gradient]") > 0 < browser.count(".canvas .lane[d^=M]")
    assert browser.count(".option.right") == 1 and "Yes, w." in browser.text(".feedback")
    assert browser.count("[data-key='Download answers']") == 1
    assert "has a task more, to draw in the Gradwire editor" in browser.text(".finish")
    browser.click("[data-key=learner]")
    browser.press("A", "d", "a")
    check_answers(browser.run("living.lesson.answers()"), lesson, tmp_path)


def check_answers(text: str, lesson: Diagram, folder: Path) -> None:
    """The runtime reads the file, and its own walk gives the same answers and points."""
    (folder / "answers.json").write_text(text, encoding="utf-8")
    sheet = read_sheet(folder / "answers.json")
    assert (sheet.learner, sheet.title, sheet.hints) == (
        "Ada",
        "Half a square",
        {2: 1, 3: 0, 4: 0, 6: 0},
    )
    walk = Walk(lesson)
    points = []
    while True:
        if (answer := sheet.answers.get(walk.index + 1)) is not None:
            points.append(walk.answer(answer).points)
        if not walk.advance():
            break
    assert sheet.lesson == walk.answers("Ada")["lesson"]
    assert points == [0, 4, 4, 4]
    assert json.loads(text)["steps"][2] == {"step": 4, "values": {"w": 4}, "open": {"sg": True}}


FOCUS = "[document.activeElement.tagName, document.activeElement.dataset.key ?? '']"


def test_the_focus_is_never_lost_and_next_is_near(
    browser: Browser, lesson: Diagram, tmp_path: Path
) -> None:
    file = tmp_path / "lesson.html"
    file.write_text(page(living_data(lesson).data, ""), encoding="utf-8")
    browser.open(file)
    browser.until("globalThis.living?.lesson")
    browser.run("document.querySelector('[data-key=next]').focus()")
    press_focused(browser)
    assert step(browser) == "Step 2 of 5"
    assert browser.run(FOCUS) == ["H2", ""], "Next can't be pressed before the answer"
    browser.press("Tab")
    assert browser.run(FOCUS) == ["INPUT", "guess 0"]
    browser.press("6", "Enter")
    assert "Not quite." in browser.text(".spoken")
    assert browser.run("document.activeElement.closest('[data-card=ask]') !== null")
    assert tabs_to_next(browser) <= 2
    press_focused(browser)
    for wire in ("mul.a", "mul.b"):
        browser.run(f"living.ask.painted.set('{wire}', 'CARRIES'), living.draw()")
    browser.run("document.querySelector('[data-key=Commit]').focus()")
    press_focused(browser)
    assert browser.run("document.activeElement.closest('[data-card=ask]') !== null")
    assert tabs_to_next(browser) <= 2
    for number in (4, 5):
        assert browser.run(FOCUS) == ["BUTTON", "next"]
        press_focused(browser)
        assert step(browser) == f"Step {number} of 5"
    assert browser.run(FOCUS) == ["H2", ""], "there is no next step"
    browser.run("document.querySelector('[data-option]').focus()")
    press_focused(browser)
    assert browser.run(FOCUS) == ["H2", ""]


def press_focused(browser: Browser) -> None:
    """Press what has the focus, as Enter does where the window is in front."""
    browser.run("document.activeElement.click()")


def tabs_to_next(browser: Browser) -> int:
    """How often Tab is pressed until Next has the focus."""
    for count in range(1, 30):
        browser.press("Tab")
        if browser.run(FOCUS) == ["BUTTON", "next"]:
            return count
    raise AssertionError("Next is not reached")


def test_who_wants_less_motion_sees_where_a_play_ends(
    browser: Browser, lesson: Diagram, tmp_path: Path
) -> None:
    file = tmp_path / "lesson.html"
    file.write_text(page(living_data(lesson).data, ""), encoding="utf-8")
    still = browser.before(
        "() => { const media = matchMedia; globalThis.matchMedia = (query) =>"
        " query.includes('reduced-motion') ? {matches: true} : media(query); }"
    )
    browser.open(file)
    browser.until("globalThis.living?.lesson")
    browser.forget(still)
    assert browser.run("living.time.timer === null && !living.time.isRunning")
    browser.run("living.time.toggle()")
    assert browser.run("living.time.timer !== null"), "Play was pressed"


SAID = """[
  living.conditions.text(living.lesson.step.text ?? ''),
  living.conditions.text(living.lesson.step.after ?? ''),
  (living.lesson.step.hints ?? []).map((hint) => living.conditions.text(hint)),
  (living.lesson.step.options ?? []).map((option) => living.conditions.text(option.text)),
  (living.lesson.step.options ?? []).findIndex((option) => living.conditions.holds(option.holds)),
  (living.lesson.step.goals ?? []).map((goal) => living.conditions.holds(goal.tree)),
]"""


def said(walk: Walk) -> list[Any]:
    step = walk.step
    right = right_option(step, walk.facts) if isinstance(step, CheckStep) else -1
    hints = [filled(hint, walk.facts) for hint in step.hints]
    goals = [goal.met for goal in walk.goals()]
    return [walk.text(), walk.after(), hints, walk.options(), right, goals]


@pytest.mark.night
def test_lessons_say_in_the_page_what_they_say_in_the_runtime(
    browser: Browser, pages: Pages
) -> None:
    """Every text with its numbers, which option is right, and which goals are met."""
    half = LESSONS[browser.name == "firefox" :: 2]  # the two take turns, to save time
    for file in half:
        browser.open(pages(file.name.split(".")[0]))
        browser.until("globalThis.living?.lesson")
        walk = Walk(load(file))
        while True:
            if not isinstance(walk.step, BuildStep):  # which a page leaves out
                browser.run(f"(living.lesson.enter({walk.index}), living.time.pause(), 0)")
                assert browser.run(SAID) == said(walk), (file.name, walk.index)
            if not walk.advance():
                break


@pytest.mark.night
def test_arrays_in_texts_are_shortened_as_in_the_runtime(browser: Browser, tmp_path: Path) -> None:
    w = variable("w", [[1.0, 2.0], [3.0, 4.5]])
    long = variable("long", [0.5, -1.0, 2.0, 3.0, 0.25, 9.0])
    whole = gw_input("whole", [1, -2, 3, 4, 5], dtype="int64")
    text = " ".join(
        f"{{{each}}}"
        for each in ("value('w')", "2 * value('w')", "value('w')[-1]", "value('w')[0][1]",
                     "value('long')", "value('long') - 1", "grad('long')", "grad('w')",
                     "value('whole')", "sum(value('long'))", "abs(value('long'))[1]")
    )  # fmt: skip
    total = block("Sum", w) * block("Sum", long) + block("Cast", block("Sum", whole))
    steps = {"steps": [{"do": "show", "text": text}]}
    made = replace(build(loss(total)), lesson=Lesson.model_validate(steps))
    file = tmp_path / "arrays.html"
    file.write_text(page(living_data(made).data, ""), encoding="utf-8")
    browser.open(file)
    browser.until("globalThis.living?.lesson")
    assert browser.run("living.conditions.text(living.lesson.step.text)") == Walk(made).text()
