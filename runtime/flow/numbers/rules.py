"""Which numeric state a wire is in: the rules, in order of precedence, and their thresholds.

A rule is a predicate over what was measured on a wire, over the scale of its loss, and over the
thresholds. The first rule that applies gives the state; where none does the wire just CARRIES.
What was measured is that of one wire or columns for all wires: a rule joins conditions by ``&``,
``|`` and ``np.logical_not``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow.words.states import State

if TYPE_CHECKING:
    from gradwire.runtime.flow.numbers.magnitudes import Scale, Size, Sizes


def _threshold(default: float, words: str, *, percent: bool = False) -> float:
    """A field with the words of its entry in the dialog; shown as a power of ten, or in percent."""
    chosen: float = field(default=default, metadata={"words": words, "percent": percent})
    return chosen


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of the numeric states; all are dimensionless or in units of the gradient."""

    partial: float = _threshold(0.1, "Partly zero from this share of zeros on", percent=True)
    """Share of elements that are exactly 0 from which on a wire is PARTIAL."""
    faint: float = _threshold(1e-7, "Vanishing below")
    """Root mean square below which it is FAINT."""
    faint_relative: float = _threshold(
        1e-5, "Vanishing below this share of the loss's own gradient"
    )
    """The same, as a share of the gradient that leaves the loss."""
    flood: float = _threshold(1e4, "Exploding above")
    """Root mean square above which it is FLOOD."""
    flood_relative: float = _threshold(
        1e4, "Exploding above this many times the loss's own gradient"
    )
    """The same, as a multiple of the gradient that leaves the loss."""
    cancels: float = _threshold(1e-3, "Cancels below this share of the largest term")
    """Share of its largest term below which a sum CANCELS."""


THRESHOLDS = Thresholds()


class Rule(NamedTuple):
    """A wire is in ``state`` where ``applies`` is true of its size and no rule before does."""

    state: State
    applies: Callable[[Size | Sizes, Scale, Thresholds], Any]


def _floods(size: Size | Sizes, scale: Scale, limits: Thresholds) -> Any:
    return (size.rms > limits.flood) | (size.rms > limits.flood_relative * scale.seed)


def _is_faint(size: Size | Sizes, scale: Scale, limits: Thresholds) -> Any:
    least = max(limits.faint, limits.faint_relative * scale.seed)
    return size.subnormal | (size.rms < least)


def _is_partial(size: Size | Sizes, scale: Scale, limits: Thresholds) -> Any:
    return size.zeros >= limits.partial * size.total


RULES: tuple[Rule, ...] = (
    Rule(State.NONFINITE, lambda size, scale, limits: np.logical_not(size.finite)),
    Rule(State.ZERO, lambda size, scale, limits: size.is_zero),
    Rule(State.FLOOD, _floods),
    Rule(State.FAINT, _is_faint),
    Rule(State.PARTIAL, _is_partial),
)
"""One rule for each numeric state, the first that applies wins."""
BY_ROUNDING = frozenset({State.FAINT, State.PARTIAL})
"""The states that rounding alone may bring about where the gradient is exactly 0."""
NUMERIC = frozenset(rule.state for rule in RULES)
"""The states that numbers alone decide."""


def classify(size: Size, scale: Scale, thresholds: Thresholds = THRESHOLDS) -> State:
    """The numeric state of a wire that carries gradient; an empty array just CARRIES."""
    if size.total:
        for rule in RULES:
            if rule.applies(size, scale, thresholds):
                return rule.state
    return State.CARRIES


def classify_each(
    sizes: Sizes, scale: Scale, thresholds: Thresholds = THRESHOLDS
) -> dict[str, State]:
    """The numeric states of wires that carry gradient, by name, but for those that just CARRY."""
    codes = np.zeros(len(sizes), int)
    for code in range(len(RULES), 0, -1):
        codes[RULES[code - 1].applies(sizes, scale, thresholds)] = code
    codes[sizes.total == 0] = 0
    states = [State.CARRIES, *(rule.state for rule in RULES)]
    found = compress(zip(sizes, codes.tolist(), strict=True), codes.tolist())
    return {name: states[code] for name, code in found}
