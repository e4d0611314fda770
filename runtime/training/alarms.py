"""Alarms: what goes wrong while a diagram trains, where it begins, and since which step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.flow.words.states import State

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.flow import ObservedFlow
    from gradwire.runtime.flow.numbers.origins import Origin

PATIENCE = 3
"""How often in a row something must be wrong before there is an alarm."""
WINDOW = 8
"""Steps at least whose mean loss is compared with that of the steps before."""
STILL = 1e-9
"""Share of its size that a step changes a variable with gradient by, unless it is stuck."""
_RISE = 0.01
_SOLVED, _DONE = 0.05, 0.01
"""Shares of the first loss up to which small gradients mean that nothing is left to learn: where
all are small, and where some are.
"""
AGAIN = 1024
"""Steps that trouble must have gone for before there is another alarm about it."""


class AlarmKind(StrEnum):
    """What an alarm is about; the value is its name in words."""

    NOT_FINITE = "not finite"
    EXPLODING = "exploding"
    VANISHING = "vanishing"
    DEAD = "dead"
    NOT_MOVING = "not moving"
    RISING = "loss rising"


_STATES = {
    State.NONFINITE: AlarmKind.NOT_FINITE,
    State.EXPLODING: AlarmKind.EXPLODING,
    State.VANISHING: AlarmKind.VANISHING,
    State.ZERO: AlarmKind.DEAD,
}
_SMALL = (AlarmKind.VANISHING, AlarmKind.DEAD)
_COUNTED = frozenset(AlarmKind) - {AlarmKind.RISING}


@dataclass(frozen=True, slots=True)
class Alarm:
    """Trouble that lasts: the block at which it begins, and the first step that showed it."""

    trouble: AlarmKind
    block: InstancePath
    step: int
    sentence: str


@dataclass(frozen=True, slots=True)
class _Sign:
    block: InstancePath
    text: str


class Alarms:
    """Looks for trouble at the steps that it is shown.

    Trouble of ``PATIENCE`` observations in a row gives one alarm, and no other until it has gone
    for ``AGAIN`` steps: small batches of rows differ. A gradient that is small because there is
    nothing left to learn is none: the loss must still be near its first value, the nearer the more
    variables get a small one.
    """

    def __init__(self) -> None:
        self._runs: dict[AlarmKind, tuple[int, int, _Sign]] = {}
        """By trouble how often in a row it was seen, the first step, and its sign then."""
        self._rising = _Rising()
        self._latest: dict[AlarmKind, int] = {}
        """The last step of trouble of which there was an alarm."""
        self._first: float | None = None
        self._now = math.nan

    def record(self, step: int, losses: Mapping[str, float]) -> None:
        """Take the losses of a step, by port. Call it for each step, as far as possible."""
        total = sum(losses.values())
        if self._first is None and losses:
            self._first = total
        self._now = total
        self._rising.record(step, losses)

    def observe(
        self,
        step: int,
        observed: ObservedFlow | None,
        moved: Mapping[str, float | None] | None = None,
    ) -> list[Alarm]:
        """New alarms at a step, the gravest first.

        ``observed`` is the flow at the values of that step. ``moved`` is by how much each variable
        changed in one step as a share of its size, None for one that no optimiser updated.
        """
        signs: dict[AlarmKind, _Sign] = {}
        if observed is not None:
            signs |= self._of_flow(observed)
            signs |= _still(observed, moved or {})
        found = []
        for trouble in AlarmKind:
            if trouble is AlarmKind.RISING:
                found += self.rising(step)
                continue
            if trouble not in signs:
                self._runs.pop(trouble, None)
                continue
            hits, since, sign = self._runs.get(trouble, (0, step, signs[trouble]))
            self._runs[trouble] = hits + 1, since, sign
            if trouble in self._latest and step - self._latest[trouble] <= AGAIN:
                self._latest[trouble] = step
            elif hits + 1 == PATIENCE:
                self._latest[trouble] = step
                found.append(_alarm(trouble, since, sign))
        return found

    def calm(self, troubles: Iterable[AlarmKind]) -> None:
        """Count these as gone, since the numbers of a step leave no doubt."""
        for trouble in troubles:
            self._runs.pop(trouble, None)

    def rising(self, step: int) -> list[Alarm]:
        """What the losses alone say at a step; other trouble goes on as it was."""
        loss = self._rising.loss()
        if loss is None:
            self._runs.pop(AlarmKind.RISING, None)
            return []
        text = f"{loss.block} has risen since step {self._rising.since}"
        hits, since, sign = self._runs.get(
            AlarmKind.RISING, (0, self._rising.since, _Sign(loss.block, text))
        )
        self._runs[AlarmKind.RISING] = hits + 1, since, sign
        return [] if hits else [_alarm(AlarmKind.RISING, since, sign)]

    @property
    def is_counting(self) -> bool:
        """Whether there is trouble that was not seen often enough yet."""
        return any(hits < PATIENCE for t, (hits, _, _) in self._runs.items() if t in _COUNTED)

    def _of_flow(self, observed: ObservedFlow) -> dict[AlarmKind, _Sign]:
        signs: dict[AlarmKind, _Sign] = {}
        if (origin := _maker(observed)) is not None:
            signs[AlarmKind.NOT_FINITE] = _Sign(origin.block, origin.sentence.rstrip("."))
        if not set(_STATES).intersection(observed.states().values()):
            return signs
        getting = {
            name: observed.variable(name).state
            for name in observed.program.trainable
            if observed.gradient(name) is not None
        }
        for name, state in getting.items():
            trouble = _STATES.get(state)
            if trouble is None or trouble in signs:
                continue
            if trouble in _SMALL and self._is_solved(getting.values()):
                continue
            culprits = observed.culprits(name)
            block, clause = next(iter(culprits.items()), (PortPath(name).block, ""))
            signs[trouble] = _Sign(block, clause or f"{name} gets {_effect(state)}")
        return signs

    def _is_solved(self, states: Iterable[State]) -> bool:
        """Whether gradients are small since the loss has fallen."""
        small = all(state in (State.ZERO, State.VANISHING) for state in states)
        first = self._first
        if first is None or not math.isfinite(self._now):
            return False
        return abs(self._now) <= (_SOLVED if small else _DONE) * abs(first)


def _maker(observed: ObservedFlow) -> Origin | None:
    """What spoils a loss first, or else the first block that makes NaN which spoils none: a Where
    may hide it. That a source merely holds one is not due to the training.
    """
    for origin in observed.origins:
        is_given = isinstance(observed.program.block(origin.block), Source)
        if origin.spoilt or (origin.what == "NaN" and not is_given):
            return origin
    return None


def _effect(state: State) -> str:
    complaint = state.row.complaint
    return complaint.effect if complaint else ""


def _still(observed: ObservedFlow, moved: Mapping[str, float | None]) -> dict[AlarmKind, _Sign]:
    """The first variable that has gradient, and that an optimiser updates in vain."""
    for name in observed.program.trainable:
        ratio = moved.get(name)
        if ratio is None or not ratio < STILL:
            continue
        verdict = observed.variable(name)
        if verdict.state in (State.CARRIES, State.PARTIAL, State.EXPLODING):
            text = (
                f"{name} gets a gradient, and a step changes it by less than {STILL:g} of its size"
            )
            return {AlarmKind.NOT_MOVING: _Sign(PortPath(name).block, text)}
    return {}


def _alarm(trouble: AlarmKind, since: int, sign: _Sign) -> Alarm:
    what = {
        AlarmKind.NOT_FINITE: "NaN or ∞",
        AlarmKind.EXPLODING: "Exploding gradient",
        AlarmKind.VANISHING: "Vanishing gradient",
        AlarmKind.DEAD: "No gradient left: it is 0",
        AlarmKind.NOT_MOVING: "Not moving",
        AlarmKind.RISING: "The loss rises",
    }[trouble]
    sentence = f"{what} from step {since} on, first at {sign.block}: {sign.text}."
    return Alarm(trouble, sign.block, since, sentence)


class _Rising:
    """Compares the mean losses of successive windows of steps."""

    def __init__(self) -> None:
        self._latest: list[dict[str, float]] = []
        self._start = 0
        self._before: dict[str, tuple[float, float]] = {}
        self._hits = 0
        self.since = 0
        """The first step of the windows that rise."""

    def record(self, step: int, losses: Mapping[str, float]) -> None:
        """Take the losses of a step."""
        if not self._latest:
            self._start = step
        self._latest.append(dict(losses))
        if len(self._latest) < WINDOW:
            return
        now = {name: _mean(self._latest, name) for name in losses}
        rises = bool(now) and all(_rises(self._before.get(name), now[name]) for name in now)
        if rises and not self._hits:
            self.since = self._start
        self._hits = self._hits + 1 if rises else 0
        self._before, self._latest = now, []

    def loss(self) -> PortPath | None:
        """The first loss, if all of them have risen for long enough."""
        if self._hits < PATIENCE or not self._before:
            return None
        return PortPath(next(iter(self._before)))


def _mean(window: list[dict[str, float]], name: str) -> tuple[float, float]:
    """The mean of a loss and its standard error."""
    values = [losses.get(name, math.nan) for losses in window]
    mean = math.fsum(values) / len(values) if all(map(math.isfinite, values)) else math.nan
    spread = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(spread / len(values))


def _rises(before: tuple[float, float] | None, now: tuple[float, float]) -> bool:
    """Whether a mean has grown by more than chance explains, and by more than a percent."""
    if before is None:
        return False
    growth = now[0] - before[0]
    return growth > 2.0 * math.hypot(before[1], now[1]) and growth > _RISE * abs(before[0])
