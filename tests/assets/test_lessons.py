"""The course: its form, its words, its numbers, and every lesson played right and wrong."""

from __future__ import annotations

import importlib.resources
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.views import Display
from gradwire.runtime.cli.entry import main
from gradwire.runtime.diagram import Diagram, check, dumps
from gradwire.runtime.diagram.lesson import (
    BuildStep,
    ChangeStep,
    CheckStep,
    LessonStep,
    PaintStep,
    PredictStep,
    ShowStep,
)
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import observe
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.lessons.prediction import MOST_POINTS
from gradwire.runtime.lessons.setting import variation, with_settings
from gradwire.runtime.lessons.texts import filled
from gradwire.runtime.lessons.walk import Walk
from tests.assets.course import (
    FOLDER,
    NAMES,
    SUFFIX,
    diagram,
    lesson,
    named,
    right_answer,
    wrong_answers,
)
from tests.assets.examples import MANUAL
from tests.examples.test_numbers import slope, without_stops

if TYPE_CHECKING:
    from gradwire.runtime.lessons.answers import Answer

SEEDS = (0, 1, 2, 7)
MOST_BLOCKS = 20
WORDS_A_MINUTE, MINUTES_A_QUESTION = 200, 0.5

every_lesson = pytest.mark.parametrize("name", NAMES)


# ---- form ---------------------------------------------------------------------------------------


def test_the_course_is_complete_and_in_order():
    assert [int(name[:2]) for name in NAMES] == [*range(1, 31)]
    assert all(re.fullmatch(r"\d\d(_[a-z]+)+", name) for name in NAMES)
    titles = [diagram(name).title for name in NAMES]
    assert len(set(titles)) == len(titles)
    assert [lesson(name).course for name in NAMES] == ["foundations"] * 16 + ["real world"] * 14
    support = [lesson(name).support for name in NAMES]
    assert support == ["worked"] * 4 + ["faded"] * 4 + ["predict first"] * 22


def test_the_course_comes_with_the_installation():
    folder = importlib.resources.files("gradwire.assets") / "lessons"
    assert (folder / f"{NAMES[0]}{SUFFIX}").read_text("utf-8").startswith('{\n  "gradwire"')


@every_lesson
def test_the_file_is_canonical_and_its_diagram_has_no_problem(name):
    found = diagram(name)
    assert (FOLDER / f"{name}{SUFFIX}").read_text("utf-8") == dumps(found)
    assert check(found) == []
    for page in found.pages.values():
        assert len(page.blocks) <= MOST_BLOCKS
        assert page.layout.keys() == page.blocks.keys()


@pytest.mark.night
def test_the_check_of_files_finds_nothing(capsys):
    assert main(["check", *(str(FOLDER / f"{name}{SUFFIX}") for name in NAMES)]) == 0


@every_lesson
def test_a_lesson_tells_asks_lets_try_reveals_and_asks_again(name):
    steps = lesson(name).steps
    assert isinstance(steps[0], ShowStep)
    assert any(isinstance(step, PredictStep | PaintStep) for step in steps)
    assert any(isinstance(step, ChangeStep | BuildStep) for step in steps)
    assert any(isinstance(step, ShowStep) and step.play and step.reveal for step in steps)
    assert [isinstance(step, CheckStep) for step in steps].index(True) == len(steps) - 1
    hidden = set(lesson(name).hide)
    assert hidden == {control for step in steps for control in step.reveal}
    tasks = [s for s in steps if not isinstance(s, ShowStep | CheckStep)]
    assert all(len(step.hints) == 3 and step.after for step in tasks)


def asks_first(name: str) -> bool:
    return isinstance(lesson(name).steps[1], PredictStep | PaintStep)


def test_later_lessons_ask_before_they_explain():
    assert all(asks_first(name) for name in NAMES[8:])
    assert not asks_first(NAMES[0])


# ---- words --------------------------------------------------------------------------------------


def texts(step: LessonStep) -> Iterator[str]:
    """Everything that a learner may read in a step."""
    yield from (step.text, step.after, *step.hints, *step.feedback.values())
    if isinstance(step, CheckStep):
        for option in step.options:
            yield from (option.text, option.feedback)
    if isinstance(step, PredictStep):
        yield from (wrong.feedback for wrong in step.wrong)


CODE = re.compile(r"`[^`]*[A-Za-z][^`]*`")
"""Formulas and names: their digits are exponents, factors and parts of names."""
YEAR = re.compile(r"\b(19|20)\d\d\b")
"""When a paper appeared."""
METHOD = re.compile(r"\bA3C\b")
"""Names of methods."""
EXPRESSION = re.compile(r"(?<!\{)\{[^{}]*\}")


@every_lesson
def test_no_number_is_typed_that_is_computed(name):
    for step in lesson(name).steps:
        for text in texts(step):
            rest = text
            for allowed in (EXPRESSION, CODE, YEAR, METHOD):
                rest = allowed.sub("", rest)
            assert not re.search(r"[0-9]", rest), text


@every_lesson
def test_the_words_are_plain(name):
    for step in lesson(name).steps:
        for text in (EXPRESSION.sub("", text) for text in texts(step)):
            assert "!" not in text
            assert not re.search(r"\bin this (lesson|step)\b", text, re.IGNORECASE), text
            assert text.count("**") % 2 == text.count("`") % 2 == 0, text
            assert not re.search(r"(?<!\*)\*(?!\*)", text), text
            assert all(len(part.split()) <= 90 for part in text.split("\n\n")), text


@every_lesson
def test_it_takes_four_to_ten_minutes(name):
    words, questions = len(lesson(name).goal.split()), 0
    walk = Walk(diagram(name))
    for step in walk.lesson.steps:
        words += len(f"{filled(step.text, walk.facts)} {step.after}".split())
        questions += not isinstance(step, ShowStep)
        if isinstance(step, CheckStep):
            words += sum(len(option.text.split()) for option in step.options)
            words += max(len(option.feedback.split()) for option in step.options)
    needed = words / WORDS_A_MINUTE + questions * MINUTES_A_QUESTION
    assert 4 <= needed <= 10
    assert needed <= lesson(name).minutes <= needed + 4


def test_the_manual_lists_the_course():
    page = (MANUAL / "course.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    assert rows == [(str(int(name[:2])), diagram(name).title, lesson(name).goal) for name in NAMES]


# ---- playing ------------------------------------------------------------------------------------


@pytest.mark.sampled(one_in=11)
@every_lesson
@pytest.mark.parametrize("seed", SEEDS)
def test_every_answer_right_and_wrong_is_known(name, seed):
    walk = Walk(diagram(name), seed)
    while True:
        assert "{" not in walk.text()
        answer = right_answer(walk, int(name[:2]))
        if answer is not None:
            assert len(set(walk.options())) == len(walk.options())
            assert_wrong_ones_are_answered(walk)
            assert_no_part_is_enough(walk, answer)
            while walk.hint() is not None:
                pass
            outcome = walk.answer(answer)
            assert (outcome.points, outcome.right) == (MOST_POINTS, True), walk.index + 1
            walk.after()
        if not walk.advance():
            break
    assert walk.hidden == frozenset()
    asked = sum(not isinstance(step, ShowStep) for step in walk.lesson.steps)
    assert len(walk.outcomes) == asked


def assert_no_part_is_enough(walk: Walk, answer: Answer) -> None:
    """What a task asks for is not there before all of it is done."""
    parts = [("values", path) for path in answer.values] + [("open", path) for path in answer.open]
    for kind, path in parts if len(parts) > 1 else ():
        rest = {name: given for name, given in getattr(answer, kind).items() if name != path}
        assert not walk.answer(replace(answer, **{kind: rest})).right, (walk.index + 1, path)
        del walk.outcomes[walk.index]


def assert_wrong_ones_are_answered(walk: Walk) -> None:
    seen = set()
    for answer, misconception, author in wrong_answers(walk):
        outcome = walk.answer(answer)
        del walk.outcomes[walk.index]  # so that another one can be given
        assert not outcome.right, (walk.index + 1, answer)
        assert outcome.points == 0 or not outcome.misconception
        if not isinstance(walk.step, PredictStep) or walk.step.answer != "number":
            assert outcome.points == 0
        if author is not None:
            assert outcome.misconception == misconception
            assert outcome.feedback == filled(author.feedback, walk.facts)
            assert outcome.yours not in seen, "two wrong answers are the same"
        seen.add(outcome.yours)


@pytest.mark.sampled(one_in=3)
@every_lesson
def test_a_learner_who_leaves_tasks_out_can_answer_the_rest(name):
    walk = Walk(diagram(name), seed=3)
    while True:
        walk.text()
        if not isinstance(walk.step, ChangeStep | BuildStep):
            answer = right_answer(walk, int(name[:2]))
            assert answer is None or walk.answer(answer).right
        if not walk.advance():
            break


@every_lesson
def test_seeds_give_other_numbers(name):
    seeds = [variation(lesson(name), seed) for seed in range(1, 12)]
    assert any(seed != seeds[0] for seed in seeds)
    assert all(len(values) >= 2 for values in lesson(name).vary.values())


@every_lesson
def test_texts_that_name_a_sign_are_right_for_every_seed(name):
    asked = [
        i
        for i, step in enumerate(lesson(name).steps)
        if isinstance(step, PredictStep) and step.answer == "sign"
    ]
    for index in asked:
        assert len({sign_at(name, index, seed) for seed in range(8)}) == 1


def sign_at(name: str, index: int, seed: int) -> str | None:
    walk = Walk(diagram(name), seed)
    while walk.index < index:
        walk.advance()
    answer = right_answer(walk, int(name[:2]))
    assert answer is not None
    return answer.text


# ---- numbers ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """A gradient of the table of the sixteen lessons, with settings and for some losses."""

    lesson: int
    variable: str
    expected: float
    settings: Mapping[str, object] = field(default_factory=dict)
    losses: tuple[str, ...] = ()


OPEN, CLOSED = "open", "closed"
CLAIMS = [
    Claim(1, "spoons", 8),
    Claim(1, "grams", 12),
    Claim(2, "side", 7),
    Claim(3, "oven", 0),
    Claim(3, "dough", 3),
    Claim(4, "sun", -0.341),
    Claim(4, "rain", 0.242),
    Claim(4, "snow", 0.099),
    Claim(5, "w", 3),
    Claim(5, "w", 6, {"photo": OPEN}),
    Claim(6, "w", 0, {"b": -5}),
    Claim(6, "w", 0, {"b": -1}),
    Claim(6, "w", math.nan, {"gate": CLOSED}),
    Claim(7, "x", 5.5e-6),
    Claim(7, "x", 1.04e-9, {"w": 4}),
    Claim(7, "x", 1.50, {"skip": 1}),
    Claim(8, "growth", 12),
    Claim(9, "prompt", 36),
    Claim(10, "detective", 0.366),
    Claim(10, "forger", 1.462),
    Claim(10, "forger", math.nan, {"evidence": CLOSED}),
    Claim(11, "w", -6.80),
    Claim(11, "w", 2.38, {"target": OPEN}),
    Claim(12, "x", 0),
    Claim(12, "x", -4, {"stop": CLOSED}),
    Claim(13, "error", 0, losses=("clip_value",)),
    Claim(13, "error", 1, losses=("clip_loss",)),
    Claim(15, "w", 6, losses=("L_reader",)),
    Claim(15, "w", -12, losses=("L_painter",)),
    Claim(15, "w", -6),
    Claim(16, "w", 8, losses=("pass_1",)),
    Claim(16, "w", 16),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.lesson} {claim.variable}")
def test_finite_differences_confirm_what_the_sixteen_lessons_say(claim):
    given = with_settings(replace(diagram(named(claim.lesson)), lesson=None), claim.settings)
    session = Session(given)
    losses = list(claim.losses) or None
    run = session.backward(losses)
    gradient = run.gradients[claim.variable]
    if math.isnan(claim.expected):
        assert gradient is None
        return
    assert gradient == pytest.approx(claim.expected, rel=0.02, abs=1e-12)
    held = Session(only(without_stops(opened(given), run.values), claim.losses))
    found = slope(held, claim.variable, (), 1e-5)
    assert found == pytest.approx(float(gradient), rel=1e-4, abs=1e-10)


def opened(given: Diagram) -> Diagram:
    """The diagram with what passes gradient anyway in the place of each open stop."""
    blocks = {
        name: Display() if isinstance(block, StopGradient) and block.open else block
        for name, block in given.main.blocks.items()
    }
    return given.with_page("main", replace(given.main, blocks=blocks))


def only(given: Diagram, losses: tuple[str, ...]) -> Diagram:
    """The diagram with these losses alone; with all of them if none are given."""
    if not losses:
        return given
    others = {str(loss).partition(".")[0] for loss in Session(given).losses} - {*losses}
    blocks = {name: b for name, b in given.main.blocks.items() if name not in others}
    wires = {t: s for t, s in given.main.wires.items() if t.block not in others}
    return given.with_page("main", replace(given.main, blocks=blocks, wires=wires))


def test_nan_comes_from_the_branch_that_is_not_taken_and_two_wheres_keep_it_away():
    walk = Walk(diagram(named(14)))
    assert np.isnan(walk.facts.gradient("x"))
    while not isinstance(walk.step, BuildStep):
        walk.advance()
    answer = right_answer(walk, 14)
    assert answer is not None
    walk.answer(answer)
    assert walk.facts.gradient("x") == 1


def test_in_lesson_6_the_three_nothings_are_three_states():
    given = replace(diagram(named(6)), lesson=None)
    settings = ({"b": -5}, {"b": -1}, {"gate": CLOSED})
    states = [observe(Session(with_settings(given, each))).state("gate.x") for each in settings]
    assert states == [State.ZERO, State.ZERO, State.STOPPED]
