"""What the optimiser of a recipe makes of a gradient that is too small or too large by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.engine.norms import rms
from gradwire.runtime.flow.tools.patterns import names_variable, owns
from gradwire.runtime.flow.words import value_sentences
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.flow.words.states import State

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.training import OptimiserRule, Training
    from gradwire.runtime.engine.program import Program

_AGAINST_EPS = 10.0
"""How many times eps a gradient is of which the size is divided away."""
_LEAST, _MOST = 1e-4, 0.1
"""Changes by one step that are neither too small nor too large, as a share of a variable."""


class StepRemark(NamedTuple):
    """What is said of the steps of a variable, and whether they are as they should be."""

    sentence: str
    is_fine: bool


def step_of(
    training: Training | None,
    program: Program,
    name: str,
    state: State,
    value: Array,
    gradient: Array,
) -> StepRemark | None:
    """What the optimiser that owns a variable makes of its gradient, which is VANISHING or
    EXPLODING; None where none or several do, or where that depends on more.
    """
    owners = [] if training is None else training.optimisers
    rules = [rule for rule in owners if owns(rule, name, program)]
    if len(rules) != 1 or rules[0].clip is not None:
        return None
    rule, (lr, decay) = rules[0], _of_group(rules[0], name, program)
    method, size = rule.method, rms(gradient)
    is_coupled = decay > 0.0 and not method.is_decoupled
    if is_coupled or not 0.0 < size < float("inf"):
        return None
    if method.ignores_scale:
        eps = getattr(method, "eps", 0.0)
        if size >= _AGAINST_EPS * eps:
            return StepRemark(
                value_sentences.DIVIDED.format(rule.name, method.kind, number(lr)), True
            )
        share = number(size / (size + eps))
        said = value_sentences.NEAR_EPS.format(rule.name, method.kind, number(eps), share)
        return StepRemark(said, False)
    if method.kind != "sgd" or not (own := rms(value)):
        return None
    change = lr * size / own
    is_fine = change >= _LEAST if state is State.VANISHING else change <= _MOST
    return StepRemark(value_sentences.MOVED.format(rule.name, number(lr), number(change)), is_fine)


def _of_group(rule: OptimiserRule, name: str, program: Program) -> tuple[float, float]:
    """The rate and the weight decay of a variable."""
    for group in rule.groups:
        if any(names_variable(pattern, name, program) for pattern in group.variables):
            lr, decay = group.lr, group.weight_decay
            break
    else:
        lr = decay = None
    method = rule.method
    return (
        method.lr if lr is None else lr,
        method.weight_decay if decay is None else decay,
    )
