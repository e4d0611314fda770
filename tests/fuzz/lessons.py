"""Damaged lessons and answers: played and marked, or refused with the place of what is wrong."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.diagram import Diagram, dumps, loads
from gradwire.runtime.lessons.answers import Answer, canonical, sealed
from gradwire.runtime.lessons.course.checking import check_lesson
from gradwire.runtime.lessons.course.marks import mark_class
from gradwire.runtime.lessons.walk import Walk
from tests.fuzz.files import damaged
from tests.fuzz.runner import Program
from tests.runtime.lessons.lessons import taught

if TYPE_CHECKING:
    from random import Random

TEXTS = (
    "", "w", "mul1.b", "sg", "q", "L", "None", "3", "−1", "1e400", "nan", "a" * 5_000, "open",
    "{grad('w')}", "{", "{{", "{1 + }", "{'}'}", "{grad('q')}", "grad('w') == 2", "grad('x') > 1",
    "value('mul1')[9]", "blocked(L -> w)", "flows(", "()" * 60, "9 ** 9 ** 9 ** 9", "open('sg')",
    "state('mul1.b') == 'STOPPED'", "__import__('os')", "(lambda: 1)()", "CARRIES", "STOPPED",
    "=1+1", "\0", "\ud800", "\u202e", "show", "predict", "paint", "change", "build", "check",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 3, 2.5, 1e300, 10**30, [], {}, [1, 2], [[1], [2, 3]], ["w"], {"w": 3},
    {"w": [1, 2]}, {"sg": "open"}, [{"do": "show"}], *TEXTS,
)  # fmt: skip


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every object and list of a document with every key or index."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from spots(inner)


def disturb(rng: Random, document: Any, times: int) -> None:
    """Replace, remove, add or repeat some values of a document."""
    for _ in range(times):
        places = list(spots(document))
        if not places:
            return
        holder, key = rng.choice(places)
        match rng.randrange(5):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[rng.choice(TEXTS)] = rng.choice(VALUES)
            case 2 if isinstance(holder, list):
                holder.insert(rng.randrange(len(holder) + 1), json.loads(json.dumps(holder[key])))
            case _ if isinstance(holder[key], str):
                holder[key] = rng.choice(TEXTS)
            case _:
                holder[key] = rng.choice(VALUES)


def answer(rng: Random, walk: Walk) -> Answer:
    """An answer that may suit the step, or be anything."""
    kind = walk.step.do if rng.random() < 0.8 else rng.choice(("predict", "paint", "check"))
    texts = [text for text in TEXTS if len(text) < 100]
    match kind:
        case "predict":
            return Answer(text=rng.choice((*texts, "2", "3", "[1, 2]")), confidence=70)
        case "paint":
            wires = ("mul1.a", "mul1.b", rng.choice(texts))
            return Answer(painted={w: rng.choice(("CARRIES", "STOPPED", *texts)) for w in wires})
        case "change":
            values = {rng.choice(("x", "w", "q")): rng.choice((1.0, 10.0, [1.0], [[1.0], []]))}
            return Answer(values=values, open={rng.choice(("sg", "w")): rng.random() < 0.5})
        case "build":
            return Answer(diagram=walk.diagram)
    return Answer(option=rng.randrange(4), confidence=rng.choice((None, 50, 100)))


def lesson_case(rng: Random) -> str:
    """A lesson with damaged fields: read, written, checked and played."""
    document = json.loads(dumps(taught()))
    disturb(rng, document["lesson"], rng.choice((1, 1, 1, 2, 4)))
    try:
        diagram = loads(json.dumps(document))
    except FileError as error:
        assert error.what and error.line, f"without a place: {error!r}"
        return "refused"
    assert loads(dumps(diagram)) == diagram, "written and read again it differs"
    for problem in check_lesson(diagram):
        assert problem.diagnostic.what.startswith("Lesson")
    return _played(rng, diagram)


def _played(rng: Random, diagram: Diagram) -> str:
    try:
        walk = Walk(diagram, rng.randrange(5))
        for _ in range(20):
            _step(rng, walk)
            if not (walk.back() if rng.random() < 0.2 else walk.advance()):
                break
        walk.answers("A")
    except GradwireError as error:
        assert str(error)
        return "unplayable"
    return "played"


def _step(rng: Random, walk: Walk) -> None:
    try:
        assert isinstance(walk.text() + walk.after() + "".join(walk.options()), str)
        if rng.random() < 0.3:
            walk.hint()
        outcome = walk.answer(answer(rng, walk))
        assert 0 <= outcome.points <= 4 and outcome.right == (outcome.points == 4), outcome
    except GradwireError as error:
        assert str(error)


def answers_case(rng: Random) -> str:
    """Damaged files of answers: marked as what was given, or refused with the file."""
    lesson = taught()
    walk = Walk(lesson, rng.randrange(3))
    while True:
        _step(rng, walk)
        if not walk.advance():
            break
    record = walk.answers("Ada")
    data = json.dumps(record).encode()
    if rng.random() < 0.5:
        data = damaged(rng, data, lambda: data)
    else:
        disturb(rng, record["steps"] if rng.random() < 0.6 else record, rng.randint(0, 3))
        data = json.dumps(sealed(record)).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.json"
        path.write_bytes(data)
        marks = mark_class(lesson, [path])
    for error in marks.refused:
        assert error.what and error.path == str(path), f"without a place: {error!r}"
    if marks.refused:
        assert not marks.learners, "refused, and marked all the same"
        return "refused"
    (learner,) = marks.learners
    assert 0 <= learner.points <= learner.most == 20
    given = json.loads(data)
    assert canonical(sealed(given)) == canonical(given), "marked, though it was changed"
    return "marked"


PROGRAMS = (
    Program("lessons", "a damaged lesson is played or refused with its place", lesson_case),
    Program("answers", "damaged answers are refused, and never get a mark", answers_case),
)
