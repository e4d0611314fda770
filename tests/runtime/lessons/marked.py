"""A lesson with marks in every text field that there is, to find what shows them raw."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradwire.runtime.diagram import Diagram, dumps, loads
from gradwire.runtime.diagram.lesson import (
    MAX_TEXT,
    BuildStep,
    ChangeStep,
    CheckOption,
    CheckStep,
    Lesson,
    PaintStep,
    PredictStep,
    ShowStep,
    WrongAnswer,
)
from tests.runtime.lessons.lessons import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

RAW = re.compile(r"`|\*\*")
"""What nobody is to read: there is no other use of these in the lesson."""


def marked(name: str) -> str:
    """A text with all marks; code may be in bold, and so may a lone asterisk."""
    return f"**bold {name}** is `code-{name}`, **with `x * {name}` in 2 * 3**."


def plainly(name: str) -> str:
    """What a reader is to have of ``marked``."""
    return f"bold {name} is code-{name}, with x * {name} in 2 * 3."


def _step(number: int, **fields: Any) -> dict[str, Any]:
    texts = {name: marked(f"{name}-{number}") for name in ("text", "after")}
    return {**texts, "hints": [marked(f"hint-{number}")], **fields}


def _own(number: int, name: str) -> dict[str, str]:
    return {name: marked(f"own-{number}")}


RECORD: dict[str, Any] = {
    "goal": marked("goal"),
    "steps": [
        _step(0, do="show", feedback=_own(0, "none")),
        _step(
            1, do="predict", gradient="w", feedback=_own(1, "none"),
            wrong=[{"answer": "7", "name": "seven", "feedback": marked("wrong-1")}],
        ),
        _step(2, do="predict", gradient="w", feedback=_own(2, "its own value")),
        _step(3, do="paint", wires=["mul1.b"], states=["CARRIES", "STOPPED"],
              feedback=_own(3, "stop ignored")),
        _step(4, do="change", goals=["grad('w') == 10", "open('sg')"], feedback=_own(4, "none")),
        _step(5, do="build", goals=["blocked(L -> w)"], feedback=_own(5, "none")),
        _step(
            6, do="check", feedback=_own(6, "none"),
            options=[
                {"text": marked("option-0"), "holds": "grad('w') is None",
                 "feedback": marked("chosen-0")},
                {"text": marked("option-1"), "holds": "grad('w') is not None",
                 "feedback": marked("chosen-1")},
            ],
        ),
    ],
}  # fmt: skip
"""Answers that show most of it: 7, 3, CARRIES, x = 10 and sg open, a cut, the first option."""
ANSWERED = (
    *(f"text-{number}" for number in range(7)),
    *(f"hint-{number}" for number in range(1, 5)),
    *(f"after-{number}" for number in (1, 2, 3, 4, 6)),
    *("wrong-1", "own-2", "own-3", "option-0", "option-1", "chosen-0"),
)
"""The texts that are seen by who answers so, besides that of the goal."""


def marked_lesson() -> Diagram:
    """The lesson on its diagram, which has marks in its description too."""
    return loads(
        dumps(
            replace(
                plain(),
                description=marked("description"),
                lesson=Lesson.model_validate(RECORD),
            )
        )
    )


def text_fields(model: Any) -> Iterator[str]:
    """The fields of a part of a lesson that have texts, by their limit."""
    for name, field in model.model_fields.items():
        if f"max_length={MAX_TEXT}" in repr(field):
            yield name


def unmarked_fields() -> list[str]:
    """The text fields of lessons that RECORD leaves empty: there are to be none."""
    steps = RECORD["steps"]
    parts = {Lesson: [RECORD], WrongAnswer: steps[1]["wrong"], CheckOption: steps[6]["options"]}
    kinds = (ShowStep, PredictStep, PaintStep, ChangeStep, BuildStep, CheckStep)
    parts |= {
        kind: [step for step in steps if step["do"] == kind.model_fields["do"].default]
        for kind in kinds
    }
    return [
        f"{kind.__name__}.{name}"
        for kind, records in parts.items()
        for name in text_fields(kind)
        if not all(record.get(name) for record in records)
    ]
