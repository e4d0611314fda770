"""The words for what a wire says about its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What a wire says about the gradient of one loss.

    The structural states need no values; PARTIAL, ZERO, FAINT, FLOOD and NONFINITE refine CARRIES
    after a run.
    """

    CARRIES = "CARRIES"
    PARTIAL = "PARTIAL"
    ZERO = "ZERO"
    FAINT = "FAINT"
    FLOOD = "FLOOD"
    NONFINITE = "NONFINITE"
    STOPPED = "STOPPED"
    NO_RULE = "NO RULE"
    OFF_ROUTE = "OFF ROUTE"
    FROZEN = "FROZEN"
    NOTHING_TO_TRAIN = "NOTHING TO TRAIN"
    UNKNOWN = "UNKNOWN"


PASSING = frozenset(
    {State.CARRIES, State.PARTIAL, State.ZERO, State.FAINT, State.FLOOD, State.NONFINITE}
)
"""States in which gradient passes, whatever its size."""

RANK = {
    State.CARRIES: 0,
    State.FROZEN: 1,
    State.STOPPED: 2,
    State.NO_RULE: 3,
    State.NOTHING_TO_TRAIN: 4,
    State.OFF_ROUTE: 5,
    State.UNKNOWN: 6,
}
"""Over several losses a wire is in the best of its states."""


@dataclass(frozen=True, slots=True)
class Cutter:
    """A closed slot that cuts: input ``port`` of ``block``.

    ``kind`` is "stop" for a StopGradient, "no rule" for arithmetic without a derivative;
    ``why`` says the latter in words. In a repair ``leaf`` is the path of the leaf of a tree that
    a StopGradient would have to let through; else it is empty.
    """

    block: str
    port: str
    kind: str
    why: str = ""
    leaf: str = ""

    def __str__(self) -> str:
        return self.block


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why one wire, or one variable, carries the gradient of a loss or not.

    ``wire`` is the wire's key (or the variable's path), ``witness`` the blocks of the cheapest
    route from the loss to it, ``cutters`` the closed slots on the way, ``frozen`` the variables
    that would have to be trainable. ``repair`` are the fewest slots that would have to open, from
    the loss on. Long ones are computed on demand (see LazySequence); ``frozen`` has the
    first few. On a wire with a tree ``leaves`` is how many of its arrays carry gradient, and how
    many there are.
    """

    wire: str
    loss: str | None
    state: State
    sentence: str
    cutters: Sequence[Cutter] = ()
    witness: Sequence[str] = ()
    frozen: tuple[str, ...] = ()
    repair: Sequence[Cutter] = ()
    leaves: tuple[int, int] | None = None
