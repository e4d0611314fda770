"""Sentences about the steps of a timeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, assert_never

import numpy as np

from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.flow.words.sentences import names
from gradwire.runtime.lessons.amounts import amount, brief, is_written_out, term
from gradwire.runtime.lessons.inside import PrimitiveBackward, PrimitiveForward
from gradwire.runtime.lessons.steps import (
    Arrival,
    BackwardStep,
    ForwardStep,
    Return,
    Seed,
    UpdateStep,
)
from gradwire.runtime.training.optimisers import SGD

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.lessons.derivative.local import LocalBlock
    from gradwire.runtime.lessons.derivative.notation import NamedFormula
    from gradwire.runtime.lessons.inside import PrimitiveReturn
    from gradwire.runtime.lessons.steps import Step, Steps


# Sentences about the steps inside a block: each primitive with its formula and its numbers.

_LONGEST = 90
"""Characters of a formula in numbers; a longer one is left out."""


def primitive_forward(step: PrimitiveForward) -> str:
    """What a primitive computes: ``norm: t₂ = x − t₁ = 5 − 3 = 2``."""
    if step.value is None:
        return f"{step.path}: {step.result} = {step.formula.text}; it is too large to be kept."
    return f"{step.path}: {step.result} = {_chain(step.formula, step.value, amount)}."


def primitive_backward(step: PrimitiveBackward) -> str:
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
    return " ".join([*parts, *map(_primitive_returned, step.returns)])


def primitive_short(step: PrimitiveForward | PrimitiveBackward) -> str:
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


def _primitive_returned(back: PrimitiveReturn) -> str:
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


_MOST_SENT = 2
"""Gradients that stand beside a block; the sentence has them all."""
_MOST_TERMS = 6
"""Terms of a sum that are written out."""


def sentence(steps: Steps, step: Step) -> str:
    """What happens in a step, with its numbers."""
    match step:
        case ForwardStep():
            return _forward(step)
        case Seed():
            return _seed(step, len(steps.run.losses))
        case BackwardStep():
            return _backward(steps, step)
        case UpdateStep():
            return _update(step)
        case PrimitiveForward():
            return primitive_forward(step)
        case PrimitiveBackward():
            return primitive_backward(step)
        case _:
            assert_never(step)


def _forward(step: ForwardStep) -> str:
    if not step.outputs:
        return f"{step.path} is computed; the result is too large to be kept."
    made = [
        f"{amount(array)}" if len(step.outputs) == 1 else f"{port.within_block} = {amount(array)}"
        for port, array in step.outputs.items()
    ]
    if not step.inputs:
        return f"{step.path} is {names(made)}."
    read = [f"{wire.within_block} = {amount(array)}" for wire, array in step.inputs.items()]
    verb = "gives" if len(read) == 1 else "give"
    return f"{step.path}: {names(read, _MOST_TERMS)} {verb} {names(made)}."


def _seed(step: Seed, losses: int) -> str:
    text = f"Backward starts at {step.port.block} with {amount(step.value)}"
    if np.all(step.value == 1):
        text += ", the derivative of the loss with respect to itself"
    return f"{text}." if losses == 1 else f"{text}; the gradients of the {losses} losses add up."


def _backward(steps: Steps, step: BackwardStep) -> str:
    parts = [arrival_text(step, arrival) for arrival in step.arrivals]
    if step.returns and all(back.wire in step.absorbs for back in step.returns):
        parts.append("It is thrown away:")
    local = steps.local(step.path) if step.returns else None
    times = Counter(back.source for back in step.returns)
    for back in step.returns:
        receiver = str(back.source.short)
        if times[back.source] > 1:
            receiver += f", through {back.port},"
        parts.append(_returned(step, back, receiver, local))
    return " ".join(parts)


def arrival_text(step: BackwardStep, arrival: Arrival) -> str:
    """What arrives at an output: the sum, with its terms if there are several."""
    place = step.path if len(step.arrivals) == 1 else arrival.port
    if arrival.total is None:
        return f"Gradient arrives at {place}; it is too large to be kept."
    if len(arrival.terms) > _MOST_TERMS:
        return f"At {place} {len(arrival.terms)} gradients add up to {amount(arrival.total)}."
    if len(arrival.terms) > 1 and is_written_out(arrival.total):
        terms = " + ".join(term(amount(entry.amount)) for entry in arrival.terms)
        origins = names([entry.by for entry in arrival.terms], _MOST_TERMS)
        return f"At {place} the gradients of {origins} add up: {terms} = {amount(arrival.total)}."
    if len(arrival.terms) > 1:  # sizes don't add up
        sizes = [f"{entry.by} ({brief(entry.amount)})" for entry in arrival.terms]
        total = f"{amount(arrival.total)}, element by element"
        return f"At {place} the gradients of {names(sizes, _MOST_TERMS)} add up to {total}."
    return f"{amount(arrival.total)} arrives at {place}."


def return_text(step: BackwardStep, back: Return, local: LocalBlock | None) -> str:
    """What goes back over one wire, and how it follows from what arrives."""
    return _returned(step, back, str(back.source.short), local)


def _returned(step: BackwardStep, back: Return, receiver: str, local: LocalBlock | None) -> str:
    if back.wire in step.absorbs:
        return f"{receiver} gets None. {step.absorbs[back.wire]}"
    if not back.is_known:
        why = "is thrown away further on" if back.is_discarded else "is too large to be kept"
        return f"What {receiver} gets {why}."
    text = f"{receiver} gets {_product(step, back, local)}"
    return f"{text}, which is thrown away further on." if back.is_discarded else f"{text}."


def _product(
    step: BackwardStep,
    back: Return,
    local: LocalBlock | None,
    written: Callable[[Array | None], str] = amount,
) -> str:
    """``4 × 2 = 8`` where the derivative is a number; else what goes back."""
    value = written(back.value)
    arrived = [arrival.total for arrival in step.arrivals if arrival.total is not None]
    if local is None or back.value is None or len(arrived) != 1 or arrived[0].size != 1:
        return value
    slope = local.number(step.arrivals[0].port.port, back.port)
    if slope is None or not _is_product(arrived[0], slope, back.value):
        return value  # such as of a block that clips gradients, whose rule is not linear
    return f"{term(written(arrived[0]))} × {term(written(slope))} = {value}"


def _is_product(arrived: Array, slope: Array, value: Array) -> bool:
    with np.errstate(all="ignore"):
        found = arrived.reshape(()) * slope.reshape(())
        return bool(np.isclose(found, value.reshape(()), rtol=1e-4, equal_nan=True))


def _update(step: UpdateStep) -> str:
    rule = type(step.rule).__name__
    if step.gradient is None:
        return f"{step.path} keeps {amount(step.before)}: its gradient is None, so {rule} skips it."
    if np.array_equal(step.before, step.after, equal_nan=True):
        return f"{step.path} keeps {amount(step.before)}: its gradient is {amount(step.gradient)}."
    is_short = is_written_out(step.before)
    if isinstance(step.rule, SGD) and step.rule.is_plain and is_short:
        rate, slope = number(step.rule.lr), term(amount(step.gradient))
        return f"{step.path}: {amount(step.before)} − {rate} × {slope} = {amount(step.after)}."
    return (
        f"{step.path}: {rule} makes {amount(step.after)} of {amount(step.before)}; "
        f"the gradient is {amount(step.gradient)}."
    )


def short(steps: Steps, step: Step) -> str:
    """The numbers of a step beside its block, such as ``4 × 2 = 8``; empty where a block computes,
    which shows its result itself.
    """
    match step:
        case ForwardStep():
            return ""
        case Seed():
            return f"∇ {brief(step.value)}"
        case UpdateStep():
            before, after = brief(step.before), brief(step.after)
            return f"{before}, ∇ None" if step.gradient is None else f"{before} → {after}"
        case BackwardStep():
            return _short_backward(steps, step)
        case PrimitiveForward() | PrimitiveBackward():
            return primitive_short(step)
        case _:
            assert_never(step)


def _short_backward(steps: Steps, step: BackwardStep) -> str:
    if step.returns and all(back.wire in step.absorbs for back in step.returns):
        return f"⊣ {', '.join(brief(arrival.total) for arrival in step.arrivals)}"
    if step.returns:
        local = steps.local(step.path)
        sent = [back for back in step.returns if back.wire not in step.absorbs]
        return ",  ".join(_product(step, back, local, brief) for back in sent[:_MOST_SENT])
    arrival = step.arrivals[0]
    terms = [term(brief(entry.amount)) for entry in arrival.terms]
    if len(terms) > 1 and (arrival.total is None or not is_written_out(arrival.total)):
        return f"Σ of {len(terms)}: {brief(arrival.total)}"
    if 1 < len(terms) <= _MOST_TERMS:
        return f"{' + '.join(terms)} = {brief(arrival.total)}"
    return f"∇ {brief(arrival.total)}"
