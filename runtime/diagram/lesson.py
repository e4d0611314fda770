"""The lesson of a diagram: a goal, and steps that show, ask, and give something to try.

Only form is checked here: fields, their types and their sizes. What a path or an expression means
needs the diagram, and ``gradwire.runtime.lessons.checking`` checks it, so that an author may save a
lesson that is not finished.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, Strict, StringConstraints, field_validator

from gradwire.runtime.diagram.document_types import (
    MAX_ENTRIES,
    MAX_EXPRESSION,
    Characters,
    Number,
    Place,
    Places,
    Record,
)
from gradwire.runtime.diagram.names import OLDER_STATES

MAX_STEPS = 60
"""Steps of a lesson."""
MAX_TEXT = 4_000
"""Characters of one text."""
LANGUAGE = r"^([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)?$"
"""A tag of a language. Source: RFC 5646."""
Text: TypeAlias = Annotated[Characters, StringConstraints(max_length=MAX_TEXT)]
"""Plain text with ``**bold**``, `` `code` `` and ``{expressions}``."""
Expression: TypeAlias = Annotated[Characters, StringConstraints(max_length=MAX_EXPRESSION)]
"""An expression of ``gradwire.runtime.lessons.conditions``, or for goals a contract."""
Row: TypeAlias = Annotated[tuple[Number, ...], Field(max_length=MAX_ENTRIES)]
Setting: TypeAlias = (
    Number | Literal["open", "closed"] | Row | Annotated[tuple[Row, ...], Field(max_length=16)]
)
"""The value of a source; "open" or "closed" for a StopGradient."""
Control: TypeAlias = Literal[
    "values", "gradients", "states", "why", "what_if", "timeline", "derivative", "doctor"
]
"""What a lesson can hide until one of its steps reveals it."""


class _Step(Record):
    """What all steps have."""

    text: Text = ""
    losses: Places = ()
    """The losses whose gradients this step is about; all if there are none."""
    hints: Annotated[tuple[Text, ...], Field(max_length=3)] = ()
    """From weak to strong."""
    setup: Annotated[Mapping[Place, Setting], Field(max_length=MAX_ENTRIES)] = Field(
        default_factory=dict
    )
    """What sources and stops are set to on entry, by path; it stays so in later steps."""
    reveal: tuple[Control, ...] = ()
    """Hidden controls that are shown from the end of this step on."""
    after: Text = ""
    """Shown once the step is answered."""
    feedback: Annotated[Mapping[Place, Text], Field(max_length=MAX_ENTRIES)] = Field(
        default_factory=dict
    )
    """The author's own sentence about a misconception, by its name."""


class ShowStep(_Step):
    """Text to read, with a part of the diagram lit, or a pass to watch."""

    do: Literal["show"] = "show"
    look: Places = ()
    """Blocks, ports or wires that stay lit; all if there are none."""
    play: Literal["", "forward", "backward", "all"] = ""


class WrongAnswer(Record):
    """What a belief that this lesson is about leads to, in place of the right answer."""

    answer: Expression
    """An expression such as ``value("max1") / 2``, or None."""
    name: Place = ""
    """The misconception."""
    feedback: Text = ""


class PredictStep(_Step):
    """A question for a number: the ``gradient`` of a variable, or the ``value`` of a block."""

    do: Literal["predict"] = "predict"
    gradient: Place = ""
    value: Place = ""
    answer: Literal["number", "estimate", "sign", "decade"] = "number"
    wrong: Annotated[tuple[WrongAnswer, ...], Field(max_length=8)] = ()
    """The author's own misconceptions, which come before those that are known of any diagram."""


class PaintStep(_Step):
    """A question for the states of wires."""

    do: Literal["paint"] = "paint"
    wires: Places = ()
    states: Annotated[tuple[Place, ...], Field(max_length=MAX_ENTRIES)] = ()
    """Names of the states that are offered; if there are none, those that exist."""

    @field_validator("states")
    @classmethod
    def _as_they_are_called_now(cls, states: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(OLDER_STATES.get(state, state) for state in states)


class _Task(_Step):
    goals: Annotated[tuple[Expression, ...], Field(max_length=MAX_ENTRIES)] = ()
    """Expressions and contracts that all have to hold."""


class ChangeStep(_Task):
    """Values of sources to change and stops to open or close until the goals are met."""

    do: Literal["change"] = "change"
    only: Places = ()
    """The sources and stops that may be changed; all if there are none."""


class BuildStep(_Task):
    """Something to draw: the diagram is edited until the goals are met."""

    do: Literal["build"] = "build"


class CheckOption(Record):
    """One answer of a transfer question. It is right if its condition ``holds``."""

    text: Text
    holds: Expression
    feedback: Text = ""


class CheckStep(_Step):
    """The transfer question at the end."""

    do: Literal["check"] = "check"
    options: Annotated[tuple[CheckOption, ...], Field(max_length=8)] = ()


LessonStep: TypeAlias = Annotated[
    ShowStep | PredictStep | PaintStep | ChangeStep | BuildStep | CheckStep,
    Field(discriminator="do"),
]


class Lesson(Record):
    """A lesson on the diagram that it belongs to."""

    goal: Text = ""
    """One sentence: what the learner can do after it."""
    minutes: Annotated[int, Strict(), Field(ge=1, le=60)] = 5
    course: Annotated[Characters, StringConstraints(max_length=100)] = ""
    language: Annotated[Characters, StringConstraints(max_length=35, pattern=LANGUAGE)] = ""
    """The language of its texts, as in ``de`` or ``pt-BR``; English if empty."""
    support: Literal["worked", "faded", "predict first"] = "worked"
    hide: tuple[Control, ...] = ()
    vary: Annotated[
        Mapping[Place, Annotated[Row, Field(min_length=1)]], Field(max_length=MAX_ENTRIES)
    ] = Field(default_factory=dict)
    """What a seed may choose for scalar sources, by path."""
    steps: Annotated[tuple[LessonStep, ...], Field(max_length=MAX_STEPS)] = ()

    def to_record(self) -> dict[str, Any]:
        """The JSON form, without fields that have their default values."""
        record = self.model_dump(mode="json", exclude_defaults=True)
        steps = [
            {"do": step.do, **step.model_dump(mode="json", exclude_defaults=True)}
            for step in self.steps
        ]
        return record | ({"steps": steps} if steps else {})
