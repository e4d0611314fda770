"""Sentences about the steps inside a block: each primitive with its formula and its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.lessons.amounts import amount, brief, is_written_out, term
from gradwire.runtime.lessons.inside import PrimitiveBackward, PrimitiveForward

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.blocks.values import Array
    from gradwire.runtime.lessons.derivative.primitives import NamedFormula
    from gradwire.runtime.lessons.inside import PrimitiveReturn

_LONGEST = 90
"""Characters of a formula in numbers; a longer one is left out."""
_MOST_SENT = 2
"""Gradients that stand beside a block; the sentence has them all."""


def forward(step: PrimitiveForward) -> str:
    """What a primitive computes: ``norm: t₂ = x − t₁ = 5 − 3 = 2``."""
    if step.value is None:
        return f"{step.path}: {step.result} = {step.formula.text}; it is too large to be kept."
    return f"{step.path}: {step.result} = {_chain(step.formula, step.value, amount)}."


def backward(step: PrimitiveBackward) -> str:
    """What goes back: ``norm, t₂ = x²: g = 4 arrives. x gets g × 2 × x = 4 × 2 × 3 = 24``."""
    if step.formula is None:
        return f"{step.path}: what {step.result} gets adds up, {_sum(step, amount)}."
    parts = [f"{step.path}, {step.result} = {step.formula.text}:"]
    if step.total is None:
        parts.append("what arrives is too large to be kept.")
    elif len(step.terms) == 1:
        parts.append(f"g = {amount(step.total)} arrives.")
    else:
        parts.append(f"g = {_sum(step, amount)} arrives.")
    return " ".join([*parts, *map(_returned, step.returns)])


def short(step: PrimitiveForward | PrimitiveBackward) -> str:
    """The numbers of a step beside its block."""
    if isinstance(step, PrimitiveForward):
        value = step.formula.text if step.value is None else brief(step.value)
        return f"{step.result} = {value}"
    if step.formula is None:
        return f"{step.result}: {_sum(step, brief)}"
    sent = [back for back in step.returns if back.rule is not None]
    if not sent:
        return f"⊣ {brief(step.total)}"
    return ",  ".join(f"{back.receiver}: {_sent(back, brief)}" for back in sent[:_MOST_SENT])


def _returned(back: PrimitiveReturn) -> str:
    if back.rule is None:
        return f"{back.receiver} gets None: {back.reason}."
    text = f"{back.receiver} gets {_sent(back, amount)}"
    return f"{text}, which is thrown away further on." if back.is_discarded else f"{text}."


def _sent(back: PrimitiveReturn, written: Callable[[Array | None], str]) -> str:
    assert back.rule is not None  # something is sent
    return _chain(back.rule, back.value, written) if back.is_known else back.rule.text


def _sum(step: PrimitiveBackward, written: Callable[[Array | None], str]) -> str:
    """``2 + 3 = 5``; of larger arrays only the sum, because their sizes don't add up."""
    if step.total is None:
        return "too large to be kept"
    if not is_written_out(step.total):
        return f"Σ of {len(step.terms)} = {written(step.total)}"
    terms = " + ".join(term(written(array)) for _, array in step.terms)
    return f"{terms} = {written(step.total)}"


def _chain(
    formula: NamedFormula, value: Array | None, written: Callable[[Array | None], str]
) -> str:
    """A formula, the same in numbers where they are few, and the result."""
    parts = [formula.text] if written is amount else []
    if all(map(is_written_out, formula.arrays.values())):
        numbers = formula.with_numbers(written)
        parts += [numbers] if len(numbers) <= _LONGEST else []
    return " = ".join(dict.fromkeys(part for part in (*parts, written(value)) if part))
