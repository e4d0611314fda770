"""Questions about the gradients of any diagram, with wrong answers that are computed too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.arguments import explained
from blocks.errors import RunError
from runtime.diagram.paths import InstancePath
from runtime.lessons.misconceptions import Backpropagation, Misconception
from runtime.lessons.timeline import record
from runtime.lessons.words import amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.engine import Session
    from runtime.lessons.timeline import Timeline

Array = NDArray[Any]
MOST_ELEMENTS = 4
"""Elements of the largest gradient that is asked for."""
MOST_BLOCKS = 500
"""Blocks of the largest diagram that questions are made of."""
_OPTIONS = 4
_NUMBERS = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.5)
"""What the variables of further questions are."""
_TRIES = 40


@dataclass(frozen=True)
class Option:
    """One answer: its text, what it says to who chose it, and the misconception behind it."""

    text: str
    feedback: str
    misconception: str = ""

    @property
    def is_right(self) -> bool:
        """Whether this is the answer."""
        return not self.misconception


@dataclass(frozen=True)
class Question:
    """Which gradient a variable gets, with the values that the variables have then.

    The texts of the options all differ, and one of them is right.
    """

    variable: InstancePath
    text: str
    values: Mapping[str, str]
    options: tuple[Option, ...]

    @property
    def answer(self) -> int:
        """The place of the right option."""
        return next(i for i, option in enumerate(self.options) if option.is_right)


@explained
def quiz(
    session: Session, count: int = 10, seed: int = 0, losses: Sequence[str] | None = None
) -> list[Question]:
    """At most ``count`` questions; equal calls give equal ones. The session stays as it is.

    First each variable is asked about as the diagram is, then with other numbers in its scalar
    variables. A question needs two wrong answers that differ from the right one and from each
    other as they are written; where there are fewer, it is not asked.

    Raises RunError for a count below 1, without a loss, and for a diagram of more than MOST_BLOCKS
    blocks; and what ``Session.backward`` does.
    """
    if count < 1:
        raise RunError("A quiz has questions.", expected="a count from 1 on", got=str(count))
    random, found = Random(seed), dict[tuple[str, str], Question]()
    original = dict(session.values)
    drawn = [name for name in session.program.trainable if not original[name].shape]
    try:
        for attempt in range(_TRIES):
            if attempt and not drawn:
                break
            for name in drawn if attempt else ():
                session.set(name, random.choice(_NUMBERS))
            for question in _asked(record(session, losses), random):
                key = question.variable, str(sorted(question.values.items()))
                found.setdefault(key, question)
            if len(found) >= count:
                break
    finally:
        for name in drawn:
            session.set(name, original[name])
    return [*found.values()][:count]


def _asked(timeline: Timeline, random: Random) -> Iterator[Question]:
    run = timeline.steps.run
    if not run.losses:
        raise RunError(
            "There is no loss, so nothing has a gradient.",
            next_step="Put a Loss block behind what is to become small.",
        )
    way = Backpropagation(timeline)
    if len(way) > MOST_BLOCKS:
        raise RunError(
            "The diagram is too large for questions.",
            expected=f"at most {MOST_BLOCKS} blocks",
            got=str(len(way)),
        )
    right = way.gradients()
    wrong = [(each, way.gradients(each)) for each in way.misconceptions()]
    for name, gradient in run.gradients.items():
        path = InstancePath(name)
        known = right.get(path)
        if gradient is not None and (
            gradient.size > MOST_ELEMENTS or known is None or not np.allclose(known, gradient)
        ):
            continue
        question = _question(timeline, path, gradient, wrong, random)
        if question is not None:
            yield question


def _question(
    timeline: Timeline,
    path: InstancePath,
    gradient: Array | None,
    wrong: Sequence[tuple[Misconception, Mapping[InstancePath, Array]]],
    random: Random,
) -> Question | None:
    texts = {amount(gradient)}
    options: list[Option] = []
    computed, simple = [*_computed(path, wrong)], [*_mistaken(path, gradient)]
    random.shuffle(computed)
    random.shuffle(simple)
    for option in (*computed, *simple):
        if option.text not in texts and len(options) < _OPTIONS - 1:
            texts.add(option.text)
            options.append(option)
    if len(options) < 2:
        return None
    options.append(Option(amount(gradient), "Right."))
    random.shuffle(options)
    values = {
        name: amount(value)
        for name, value in timeline.steps.before.items()
        if value.size <= MOST_ELEMENTS
    }
    losses = " + ".join(loss.short for loss in timeline.steps.run.losses)
    return Question(path, f"What is ∂({losses})/∂{path}?", values, tuple(options))


def _computed(
    path: InstancePath, wrong: Sequence[tuple[Misconception, Mapping[InstancePath, Array]]]
) -> Iterator[Option]:
    for misconception, gradients in wrong:
        if path in gradients:
            text = amount(gradients[path])
            yield Option(text, misconception.feedback, misconception.name)


def _mistaken(path: InstancePath, gradient: Array | None) -> Iterator[Option]:
    """Wrong answers that need no other computation: another sign, None for 0 and 0 for None."""
    if gradient is None:
        text = f"No route reaches {path}: there is no gradient, which is not a gradient of 0."
        yield Option("0", text, "None for 0")
        return
    if np.any(gradient):
        yield Option(amount(-gradient), "The sign is the other way round.", "sign")
        yield Option("0", f"Gradient reaches {path}, and it is not 0.", "nothing arrives")
        yield Option("None", f"A route leads from the loss to {path}.", "None for a number")
    else:
        text = f"A route leads to {path}: what arrives is 0, which is not None."
        yield Option("None", text, "None for 0")
