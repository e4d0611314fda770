"""Goals in words: what they are about, without what it is to be."""

from __future__ import annotations

import re

import pytest

from gradwire.runtime.diagram import load
from gradwire.runtime.lessons.conditions import parse_goal
from tests.assets.course import FOLDER


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('grad("a") == 2 * grad("b")', "The gradients of `a` and `b` are as asked."),
        ('-0.01 < grad("sun") < 0', "The gradient of `sun` is as asked."),
        ('value("rate") == 0', "The value of `rate` is as asked."),
        ('grad("w", "L") is None', "The gradient of `w` for `L` is as asked."),
        ('not open("sg")', "`sg` is closed."),
        ('open("sg") and value("x")[0] > 3', "`sg` is open. The value of `x` is as asked."),
        (
            'value("a") + value("b") == value("c") * grad("w")',
            "The values of `a`, `b` and `c` and the gradient of `w` are as asked.",
        ),
        ('state("m.a") == "STOPPED"', "The state of the wire into `m.a` is as asked."),
        ('grad("w") is None or grad("w") == 0', "The gradient of `w` is as asked."),
        ('opened(grad("w"), "sg") > 0', "The gradient of `w` with `sg` opened is as asked."),
        ('grad("rock and roll") > 0', "The gradient of `rock and roll` is as asked."),
        ("1 > 0", "It holds."),
        ("flows(L -> w)", "`L` sends gradient to `w`."),
        ("blocked(* -> G/*)", "Nothing sends gradient to `G/*`."),
        ("blocked(L -> *)", "`L` sends no gradient to anything."),
        (
            'cut(value("y") - value("x"), "m.a") > 0',
            "What is computed from the values of `y` and `x` with `m.a` cut is as asked.",
        ),
    ],
)
def test_words(text, words):
    assert parse_goal(text).words == words


def test_no_goal_of_the_course_gives_a_number_away():
    lessons = [load(path).lesson for path in sorted(FOLDER.glob("*.gradwire.json"))]
    goals = [g for lesson in lessons for step in lesson.steps for g in getattr(step, "goals", ())]
    assert len(goals) > 50
    for goal in goals:
        words = re.sub("`[^`]*`", "", parse_goal(goal).words)
        assert not re.search(r"[0-9=<>(]", words), words
