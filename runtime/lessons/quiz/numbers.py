"""Questions about numbers: gradients, values, and whether a gradient is None, 0 or a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.library.arithmetic import Add, Mul, Sub
from gradwire.blocks.library.functions import Square
from gradwire.blocks.library.pages import PageInput
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.lessons.amounts import amount, in_full
from gradwire.runtime.lessons.misconceptions import (
    Distractor,
    computed_distractors,
    simple_distractors,
)
from gradwire.runtime.lessons.prediction import value_distractors
from gradwire.runtime.lessons.quiz.question import AnswerOption, Question, QuestionKind, options_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from gradwire.blocks.values import Array
    from gradwire.runtime.lessons.expressions.facts import Facts

MOST_ELEMENTS = 4
"""Elements of the largest array that is asked for."""
MOST_STATED = 16
"""Elements of the largest array whose numbers a question states."""
_OTHER = "a number other than 0"
_OPERATIONS: tuple[tuple[type, str, str, Callable[..., Array]], ...] = (
    (Mul, "sum for product", "{0} multiplies its inputs.", lambda a, b: a + b),
    (Mul, "one factor only", "{0} multiplies both of its inputs.", lambda a, b: a),
    (Add, "product for sum", "{0} adds its inputs.", lambda a, b: a * b),
    (Add, "one term only", "{0} adds both of its inputs.", lambda a, b: a),
    (Sub, "sign", "{0} subtracts its second input from its first.", lambda a, b: b - a),
    (Sub, "sum for difference", "{0} subtracts its second input.", lambda a, b: a + b),
    (Square, "derivative for value", "2x is the derivative at {0}, not x².", lambda x: 2 * x),
)  # fmt: skip
"""Kind of block, name of the misconception, what to say about it, and the wrong value."""


def gradient_questions(facts: Facts, random: Random) -> Iterator[Question]:
    """Which gradient each variable gets, where it can be computed from what is stated."""
    if not _is_stated(facts):
        return
    right, wrong = facts.backpropagation
    for path, gradient in _gradients(facts).items():
        known = right.get(path)
        if gradient is not None and (
            gradient.size > MOST_ELEMENTS or known is None or not np.allclose(known, gradient)
        ):
            continue
        computed = [*map(_option, computed_distractors(path, gradient, known, wrong))]
        simple = [*map(_option, simple_distractors(path, gradient))]
        random.shuffle(computed)
        random.shuffle(simple)
        options = options_of(_written(gradient), (*computed, *simple), random, _number(gradient))
        if options is not None:
            text = f"What is ∂({losses_of(facts)})/∂{path}?"
            yield Question(QuestionKind.GRADIENT, path, text, values_of(facts), options)


def presence_questions(facts: Facts, random: Random) -> Iterator[Question]:
    """Whether the gradient of each variable is None, 0 or a number."""
    for path, gradient in _gradients(facts).items():
        if gradient is not None and not np.all(np.isfinite(gradient)):
            continue
        if gradient is None:
            right, why = "None", f"No route leads from the loss to {path} that nothing cuts."
            names = {"0": "None for 0", _OTHER: "stop ignored"}
        elif not np.any(gradient):
            right, why = "0", f"A route leads to {path}, and what arrives there is 0."
            names = {"None": "None for 0", _OTHER: "zero ignored"}
        else:
            right, why = _OTHER, f"Gradient reaches {path}, and it is not 0."
            names = {"0": "nothing arrives", "None": "None for a number"}
        options = options_of(
            right, (AnswerOption(t, why, name) for t, name in names.items()), random
        )
        assert options is not None  # the three texts differ
        text = f"What does {path} get as ∂({losses_of(facts)})/∂{path}: None, 0 or another number?"
        yield Question(QuestionKind.PRESENCE, path, text, values_of(facts), options)


def value_questions(facts: Facts, random: Random) -> Iterator[Question]:
    """What blocks compute, where it can be computed from what is stated."""
    if not _is_stated(facts):
        return
    program, run = facts.session.program, facts.timeline.steps.run
    for path, instance in program.instances.items():
        if not instance.wires or len(instance.block.output_names()) != 1:
            continue
        port = instance.port(instance.block.output_names()[0])
        value = run.values.get(port)
        if value is None or value.dtype.kind != "f" or not 0 < value.size <= MOST_ELEMENTS:
            continue
        wrong = [*map(_option, _wrong_values(facts, path, value))]
        random.shuffle(wrong)
        options = options_of(_written(value), wrong, random, _number(value))
        if options is not None:
            text = f"What is the value of {path}?"
            yield Question(QuestionKind.VALUE, port, text, values_of(facts), options)


def _wrong_values(facts: Facts, path: InstancePath, value: Array) -> Iterator[Distractor]:
    local, block = facts.timeline.steps.local(path), facts.session.program.block(path)
    given = [] if local is None else [*local.inputs.values()]
    for kind, name, feedback, wrong in _OPERATIONS:
        if isinstance(block, kind) and len(given) == wrong.__code__.co_argcount:
            with np.errstate(all="ignore"):  # of values that are not finite, as a run has it
                found = np.asarray(wrong(*given))
            if found.shape == value.shape:
                yield Distractor(found, name, feedback.format(path), path)
    for several in value_distractors(facts, path, value):
        yield from several


def _gradients(facts: Facts) -> Mapping[InstancePath, Array | None]:
    run = facts.timeline.steps.run
    return {InstancePath(name): gradient for name, gradient in run.gradients.items()}


def _option(distractor: Distractor) -> AnswerOption:
    value = distractor.value
    return AnswerOption(_written(value), distractor.feedback, distractor.name, _number(value))


def _number(value: Array | None) -> float | None:
    """A value without axes as a number, if it is finite."""
    is_one = value is not None and not value.shape and bool(np.isfinite(value))
    return float(value) if is_one and value is not None else None


def _written(value: Array | None) -> str:
    """A number as an option. Zeros are written as 0, whatever the shape: [0, 0] beside 0 would be
    the same answer twice.
    """
    return "0" if value is not None and value.size and not np.any(value) else amount(value)


def values_of(facts: Facts) -> dict[str, str]:
    """The values of the small variables, by path."""
    before = facts.timeline.steps.before
    return {name: stated(value) for name, value in before.items() if value.size <= MOST_STATED}


def stated(value: Array) -> str:
    """A value as a question states it: all of its numbers, if they are few; else empty."""
    return in_full(value) if value.size <= MOST_STATED else ""


def _is_stated(facts: Facts) -> bool:
    """Whether a question states the values of all sources and of what inputs are set to."""
    before = facts.timeline.steps.before
    for path, instance in facts.session.program.instances.items():
        block = instance.block
        if any(literal.array.size > MOST_STATED for literal in block.literals.values()):
            return False
        if isinstance(block, Source) and not isinstance(block, PageInput):
            value = before.get(path, given.array if (given := _given(block)) else None)
            if value is None or value.size > MOST_STATED:
                return False
    return True


def _given(block: Source) -> Tensor | None:
    """The value that a source has by itself."""
    value = getattr(block, "value", None)
    return value if isinstance(value, Tensor) else None


def losses_of(facts: Facts) -> str:
    """The losses in a formula."""
    return " + ".join(loss.short for loss in facts.timeline.steps.run.losses)
