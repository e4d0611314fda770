"""Which numeric state a wire is in: the rules, in order of precedence, and their thresholds.

A rule is a predicate over what was measured on a wire, over the scale of its loss, and over the
thresholds. The first rule that applies gives the state; where none does the wire just CARRIES.
What was measured is that of one wire or columns for all wires: a rule joins conditions by ``&``,
``|`` and ``np.logical_not``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import wraps
from itertools import compress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow.words.states import State

if TYPE_CHECKING:
    from gradwire.runtime.flow.numbers.magnitudes import ArraySize, ArraySizes, LossScale


def _threshold(default: float, words: str, *, percent: bool = False) -> float:
    """A field with the words of its entry in the dialog; shown as a power of ten, or in percent."""
    chosen: float = field(default=default, metadata={"words": words, "percent": percent})
    return chosen


OLDER_THRESHOLDS = MappingProxyType({
    "faint": "vanishing",
    "faint_relative": "vanishing_relative",
    "flood": "exploding",
    "flood_relative": "exploding_relative",
})  # fmt: skip
"""Thresholds by the names that they had before version 3 of the file format. Both are taken."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of the numeric states; all are dimensionless or in units of the gradient."""

    partial: float = _threshold(0.1, "Partly zero from this share of zeros on", percent=True)
    """Share of elements that are exactly 0 from which on a wire is PARTIAL."""
    vanishing: float = _threshold(1e-7, "Vanishing below")
    """Root mean square below which it is VANISHING."""
    vanishing_relative: float = _threshold(
        1e-5, "Vanishing below this share of the loss's own gradient"
    )
    """The same, as a share of the gradient that leaves the loss."""
    exploding: float = _threshold(1e4, "Exploding above")
    """Root mean square above which it is EXPLODING."""
    exploding_relative: float = _threshold(
        1e4, "Exploding above this many times the loss's own gradient"
    )
    """The same, as a multiple of the gradient that leaves the loss."""
    cancels: float = _threshold(1e-3, "Cancels below this share of the largest term")
    """Share of its largest term below which a sum CANCELS."""

    if not TYPE_CHECKING:  # an older name is read, but not suggested

        def __getattr__(self, name: str) -> float:
            if name in OLDER_THRESHOLDS:
                return getattr(self, OLDER_THRESHOLDS[name])
            raise AttributeError(f"Thresholds have no {name!r}.", name=name, obj=self)


def _taking_older_names(init: Callable[..., None]) -> Callable[..., None]:
    @wraps(init)
    def __init__(self: Thresholds, *given: float, **named: float) -> None:
        newer = {OLDER_THRESHOLDS.get(name, name): number for name, number in named.items()}
        if len(newer) < len(named):
            raise TypeError("A threshold is given by its name and by its older name.")
        init(self, *given, **newer)

    return __init__


# Not in the class, whose constructor has the newer names alone for editors and type checkers.
setattr(Thresholds, "__init__", _taking_older_names(Thresholds.__init__))  # noqa: B010 - mypy refuses an assignment
THRESHOLDS = Thresholds()


class Rule(NamedTuple):
    """A wire is in ``state`` where ``applies`` is true of its size and no rule before does."""

    state: State
    applies: Callable[[ArraySize | ArraySizes, LossScale, Thresholds], Any]


def _is_exploding(size: ArraySize | ArraySizes, scale: LossScale, limits: Thresholds) -> object:
    return (size.rms > limits.exploding) | (size.rms > limits.exploding_relative * scale.seed)


def _is_vanishing(size: ArraySize | ArraySizes, scale: LossScale, limits: Thresholds) -> object:
    least = max(limits.vanishing, limits.vanishing_relative * scale.seed)
    return size.subnormal | (size.rms < least)


def _is_partial(size: ArraySize | ArraySizes, scale: LossScale, limits: Thresholds) -> object:
    return size.zeros >= limits.partial * size.total


RULES: tuple[Rule, ...] = (
    Rule(State.NONFINITE, lambda size, scale, limits: np.logical_not(size.finite)),
    Rule(State.ZERO, lambda size, scale, limits: size.is_zero),
    Rule(State.EXPLODING, _is_exploding),
    Rule(State.VANISHING, _is_vanishing),
    Rule(State.PARTIAL, _is_partial),
)
"""One rule for each numeric state, the first that applies wins."""
BY_ROUNDING = frozenset({State.VANISHING, State.PARTIAL})
"""The states that rounding alone may bring about where the gradient is exactly 0."""
NUMERIC = frozenset(rule.state for rule in RULES)
"""The states that numbers alone decide."""


def classify(size: ArraySize, scale: LossScale, thresholds: Thresholds = THRESHOLDS) -> State:
    """The numeric state of a wire that carries gradient; an empty array just CARRIES."""
    if size.total:
        for rule in RULES:
            if rule.applies(size, scale, thresholds):
                return rule.state
    return State.CARRIES


def classify_each(
    sizes: ArraySizes, scale: LossScale, thresholds: Thresholds = THRESHOLDS
) -> dict[str, State]:
    """The numeric states of wires that carry gradient, by name, but for those that just CARRY."""
    codes = np.zeros(len(sizes), int)
    for code in range(len(RULES), 0, -1):
        codes[RULES[code - 1].applies(sizes, scale, thresholds)] = code
    codes[sizes.total == 0] = 0
    states = [State.CARRIES, *(rule.state for rule in RULES)]
    found = compress(zip(sizes, codes.tolist(), strict=True), codes.tolist())
    return {name: states[code] for name, code in found}
