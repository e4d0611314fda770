"""Predictions on any diagram: gradients, values and states, compared with what is computed.

A number gets 1 point for its sign, 1 more within a factor of two, and 2 more within 5 %; where an
estimate is asked for, 1 for its sign and 3 more within a factor of two. None is right or wrong, as
are signs and decades. A wrong number is compared with what known misconceptions would give, and
gets no points where one alone gives it; where two of them give the same, the feedback has both, and
neither is taken for sure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.lessons.amounts import amount
from gradwire.runtime.lessons.answers import AnswerError
from gradwire.runtime.lessons.misconceptions import (
    Distractor,
    computed_distractors,
    simple_distractors,
)
from gradwire.runtime.lessons.steps import Phase

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.lesson import PredictStep
    from gradwire.runtime.lessons.expressions.facts import Facts

Form: TypeAlias = Literal["number", "estimate", "sign", "decade"]
MOST_POINTS = 4.0
MOST_ELEMENTS = 4
"""Elements of an array that is asked for."""
ZERO = 1e-12
"""Numbers below this count as 0."""
_NEAR = 0.01
"""A wrong answer this near to what a misconception gives is taken for it."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.IGNORECASE)
_NAMED = {"nan": math.nan, "inf": math.inf, "∞": math.inf, "infinity": math.inf}
_SIGNS = {"+": 1.0, "positive": 1.0, "-": -1.0, "negative": -1.0, "zero": 0.0}


@dataclass(frozen=True)
class Guess:
    """What is predicted: the ``gradient`` of a variable, the ``value`` of a port, or the ``state``
    of a wire, each by path; ``text`` is the prediction as it was typed or chosen.
    """

    about: Literal["gradient", "value", "state"]
    place: str
    text: str
    form: Form = "number"


@dataclass(frozen=True)
class PredictionOutcome:
    """A prediction, or any answer to a step, beside what is computed.

    ``misconception`` is empty where none, or more than one, would give the answer. ``place`` is
    the path of the block, port or wire that the feedback is about.
    """

    points: float
    right: bool
    yours: str
    actual: str
    misconception: str = ""
    feedback: str = ""
    place: str = ""
    disagreements: tuple[str, ...] = ()


def guess_of(step: PredictStep, text: str) -> Guess:
    """The prediction that a step asks for."""
    if step.gradient:
        return Guess("gradient", step.gradient, text, step.answer)
    return Guess("value", step.value, text, step.answer)


def judge(facts: Facts, guess: Guess) -> PredictionOutcome:
    """The outcome of one prediction.

    Raises AnswerError for what is no answer, and RunError for a place that means nothing.
    """
    return _judge_state(facts, guess) if guess.about == "state" else _judge_number(facts, guess)


def is_answer(facts: Facts, guess: Guess, value: Array | None) -> bool:
    """Whether a prediction of a gradient or value is what some belief leads to."""
    assert guess.about != "state"
    actual = askable(facts, guess.about, guess.place)
    count = 1 if actual is None else actual.size
    return _gives(value, read_numbers(guess.text, count, guess.form), guess.form)


def judge_all(facts: Facts, guesses: Iterable[Guess]) -> tuple[list[PredictionOutcome], list[str]]:
    """The outcome of each prediction, and the places of the wrong ones in backward's order."""
    every = list(guesses)
    found = [judge(facts, guess) for guess in every]
    wrong = [g.place for g, outcome in zip(every, found, strict=True) if not outcome.right]
    return found, in_backward_order(facts, wrong)


def in_backward_order(facts: Facts, places: Iterable[str]) -> list[str]:
    """Places from the loss backwards, as gradient meets them."""
    forward = [e.path for e in facts.timeline.events if e.phase is Phase.FORWARD]
    position = {path: -i for i, path in enumerate(forward)}
    blocks = {place: _block(facts, place) for place in places}
    return sorted(blocks, key=lambda place: position.get(blocks[place], 1))


def painted_points(wires: Sequence[str], outcomes: Mapping[str, PredictionOutcome]) -> float:
    """4 points for all wires right; a wrong one takes away a right one, one left out does not."""
    hits = sum(outcome.right for outcome in outcomes.values())
    return MOST_POINTS * max(0.0, (2 * hits - len(outcomes)) / max(1, len(wires)))


def askable(facts: Facts, about: Literal["gradient", "value"], place: str) -> Array | None:
    """The gradient or value that can be asked for. Raises RunError for one that can't."""
    found = facts.gradient(place) if about == "gradient" else facts.value(place)
    if found is not None and not 0 < found.size <= MOST_ELEMENTS:
        raise AnswerError(
            f"The {about} of {place} has too many numbers to be asked for.",
            expected=f"1 to {MOST_ELEMENTS}",
            got=str(found.size),
        )
    return found


# ---- numbers ------------------------------------------------------------------------------------


def read_numbers(text: str, count: int, form: Form = "number") -> list[float] | None:
    """The numbers in a typed answer; None for "None". Raises AnswerError."""
    plain = text.replace("−", "-").strip().lower()
    if plain in ("none", "null"):
        return None
    if count == 1 and re.fullmatch(r"[+-]?\d+,\d+", plain):
        plain = plain.replace(",", ".")
    parts = [part for part in re.split(r"[\s,;\[\]]+", plain) if part]
    found = [_number(part, form) for part in parts]
    if len(found) != count or any(each is None for each in found):
        kinds = {"sign": "+, − or 0", "decade": "a number such as 1e-6"}
        wanted = kinds.get(form, "a number" if count == 1 else f"{count} numbers")
        raise AnswerError(
            "This is no answer to the question.", expected=f"{wanted}, or None", got=repr(text)[:60]
        )
    return [each for each in found if each is not None]


def _number(text: str, form: Form) -> float | None:
    if form == "sign" and text in _SIGNS:
        return _SIGNS[text]
    unsigned = text.lstrip("+-")
    if unsigned in _NAMED and len(text) - len(unsigned) <= 1:
        return -_NAMED[unsigned] if text.startswith("-") else _NAMED[unsigned]
    above, slash, below = text.partition("/")
    if slash and _NUMBER.fullmatch(above) and _NUMBER.fullmatch(below):
        return float(above) / float(below) if float(below) else None
    return _finite(text) if _NUMBER.fullmatch(text) else None


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def points(yours: float, actual: float, form: Form = "number") -> float:
    """The points for one number."""
    if form == "sign":
        return MOST_POINTS if _sign(yours) == _sign(actual) else 0.0
    if form == "decade":
        return MOST_POINTS if _decade(yours) == _decade(actual) else 0.0
    if not math.isfinite(actual) or not math.isfinite(yours) or abs(actual) < ZERO:
        same = yours == actual or (math.isnan(yours) and math.isnan(actual))
        return MOST_POINTS if same or (abs(yours) < ZERO and abs(actual) < ZERO) else 0.0
    ratio = yours / actual
    if form == "estimate":
        return float((ratio > 0) + 3 * (0.5 <= ratio <= 2.0))
    return float((ratio > 0) + (0.5 <= ratio <= 2.0) + 2 * (abs(ratio - 1.0) <= 0.05 + 1e-9))


def _sign(value: float) -> float:
    return math.nan if math.isnan(value) else 0.0 if abs(value) < ZERO else math.copysign(1, value)


def _decade(value: float) -> float:
    """The power of ten below a number; that of 0 is −∞."""
    if not math.isfinite(value):
        return math.nan
    return math.floor(math.log10(abs(value)) + 1e-9) if abs(value) > 0 else -math.inf


def _judge_number(facts: Facts, guess: Guess) -> PredictionOutcome:
    assert guess.about != "state"
    actual = askable(facts, guess.about, guess.place)
    count = 1 if actual is None else actual.size
    yours = read_numbers(guess.text, count, guess.form)
    outcome = PredictionOutcome(
        0.0, False, _written(yours, actual, guess.form), _actual(actual, guess.form)
    )
    if actual is None or yours is None:
        right = actual is None and yours is None
        outcome = replace(outcome, points=MOST_POINTS * right, right=right)
    else:
        pairs = zip(yours, actual.astype(np.float64).ravel(), strict=True)
        each = [points(one, float(other), guess.form) for one, other in pairs]
        mean = round(sum(each) / len(each), 2)
        outcome = replace(outcome, points=mean, right=min(each) == MOST_POINTS)
    if outcome.right:
        return outcome
    outcome = replace(outcome, place=guess.place, disagreements=(guess.place,))
    if guess.form == "decade":
        return outcome
    return _explained(outcome, _matching(facts, guess, yours, actual))


def _matching(
    facts: Facts, guess: Guess, yours: list[float] | None, actual: Array | None
) -> list[Distractor]:
    """The misconceptions that give what was answered; they differ in name or in place."""
    every = _gradient_distractors if guess.about == "gradient" else value_distractors
    found: dict[str, Distractor] = {}
    for several in every(facts, guess.place, actual):
        for each in several:
            if _gives(each.value, yours, guess.form):
                found.setdefault(each.feedback, each)
        if found:
            break
    return list(found.values())


def _gradient_distractors(
    facts: Facts, place: str, actual: Array | None
) -> Iterator[Iterable[Distractor]]:
    """Those of a wrong computation first: they say more."""
    path = InstancePath(facts.session.program.flat.canonical(place))
    right, wrong = facts.backpropagation
    yield computed_distractors(path, actual, right.get(path), wrong)
    yield simple_distractors(place, actual)


def value_distractors(
    facts: Facts, place: str, actual: Array | None
) -> Iterator[Iterable[Distractor]]:
    """Wrong answers about a value that need no other computation."""
    port = facts.session.program.flat.source(PortPath.named(place))
    arriving = facts.observed.arriving(port) if facts.timeline.steps.run.losses else None
    if arriving is not None:
        text = f"This is the gradient that arrives at {place}, not its value."
        yield [Distractor(arriving, "gradient for value", text, place)]
    if actual is not None and np.any(actual):
        text = "The sign is the other way round."
        zero = f"The value of {place} is computed forward, and nothing stops it on that way."
        yield [
            Distractor(-actual, "sign", text, place),
            Distractor(np.zeros_like(actual), "value stopped", zero, place),
        ]


def _gives(value: Array | None, yours: list[float] | None, form: Form) -> bool:
    if value is None or yours is None:
        return value is None and yours is None
    if value.size != len(yours):
        return False
    wrong, given = value.astype(np.float64).ravel(), np.array(yours)
    if form == "sign":
        return [_sign(float(each)) for each in wrong] == [_sign(each) for each in yours]
    if form == "decade":
        return [_decade(float(each)) for each in wrong] == [_decade(each) for each in yours]
    with np.errstate(all="ignore"):
        return bool(np.all((wrong == given) | (np.abs(wrong - given) <= _NEAR * np.abs(wrong))))


def _explained(outcome: PredictionOutcome, found: list[Distractor]) -> PredictionOutcome:
    if not found:
        return outcome
    names = {each.name for each in found}
    first = found[0]
    if len(found) == 1:
        text = first.feedback
    else:
        several = " Or: ".join(each.feedback for each in found[:3])
        text = f"There is more than one way to get there. {several}"
    name = first.name if len(names) == 1 else ""
    points = 0.0 if name else outcome.points
    place = str(first.place)
    return replace(outcome, points=points, misconception=name, feedback=text, place=place)


def _written(yours: list[float] | None, actual: Array | None, form: Form) -> str:
    if yours is None:
        return "None"
    if form == "sign":
        return ", ".join(_sign_word(each) for each in yours)
    shape = () if actual is None else actual.shape
    return amount(np.array(yours).reshape(shape))


def _actual(actual: Array | None, form: Form) -> str:
    if actual is None or form in ("number", "estimate"):
        return amount(actual)
    numbers = [float(each) for each in actual.ravel()]
    words = [_sign_word(each) for each in numbers] if form == "sign" else [""]
    text = amount(actual)
    return f"{', '.join(words)} ({text})" if form == "sign" else f"{text}, {_decade_word(numbers)}"


def _sign_word(value: float) -> str:
    return {1.0: "+", -1.0: "−", 0.0: "0"}.get(_sign(value), "NaN")


def _decade_word(numbers: list[float]) -> str:
    powers = [(each, _decade(each)) for each in numbers]
    return "from " + ", ".join(
        f"10^{number(int(power))}" if math.isfinite(power) else number(each)
        for each, power in powers
    ) + " on"  # fmt: skip


# ---- states -------------------------------------------------------------------------------------

_ARRIVES = frozenset(
    {State.CARRIES, State.PARTIAL, State.VANISHING, State.EXPLODING, State.NONFINITE}
)
_ABSENT = frozenset({State.STOPPED, State.NO_RULE, State.OFF_ROUTE, State.FROZEN,
                     State.NOTHING_TO_TRAIN})  # fmt: skip


def read_state(text: str) -> State:
    """The state with this name. Raises AnswerError."""
    try:
        return State(text.replace("_", " ").upper())
    except ValueError:
        raise AnswerError(
            f"There is no state {text[:40]!r}.", expected="one of " + ", ".join(State)
        ) from None


def _judge_state(facts: Facts, guess: Guess) -> PredictionOutcome:
    yours, actual = read_state(guess.text), State(facts.state(guess.place))
    if yours is actual:
        return PredictionOutcome(MOST_POINTS, True, str(yours), str(actual))
    return PredictionOutcome(
        0.0,
        False,
        str(yours),
        str(actual),
        _confusion(yours, actual),
        facts.observed.verdict(guess.place).sentence,
        guess.place,
        (guess.place,),
    )


def _confusion(yours: State, actual: State) -> str:
    """The misconception behind a state that was taken for another."""
    if yours in _ARRIVES and actual is State.STOPPED:
        return "stop ignored"
    if yours is State.STOPPED and actual in _ARRIVES:
        return "stop blocks all"
    if State.ZERO in (yours, actual) and (yours in _ABSENT or actual in _ABSENT):
        return "None for 0"
    if yours is State.ZERO and actual in _ARRIVES:
        return "nothing arrives"
    return ""


def _block(facts: Facts, place: str) -> InstancePath:
    """The block of a place: of a wire that it enters, of a port that it leaves."""
    flat = facts.session.program.flat
    if WirePath(place) in facts.session.program.wire_sources:
        return WirePath(place).block
    known = flat.canonical(place)
    return (
        InstancePath(known) if known in flat.instances else flat.source(PortPath.named(place)).block
    )
