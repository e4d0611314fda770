"""Looks at every iteration of a training for trouble, and observes the flow only where there may
be.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.flow import observe
from gradwire.runtime.training.alarms import STILL, AlarmKind, Alarms
from gradwire.runtime.training.iterations.validation import in_phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.blocks.values import Array
    from gradwire.runtime.training.alarms import Alarm
    from gradwire.runtime.training.iterations.protocols import OptimiserStep, Sizes
    from gradwire.runtime.training.records import StepRecord
    from gradwire.runtime.training.trainer import Trainer

Floats = NDArray[np.float64]

SMALL, LARGE = 1e-5, 1e2
"""Root mean squares of a variable's gradient below and above which the flow is observed: there it
can be VANISHING or EXPLODING by the usual thresholds, for losses whose own gradient is from 0.01
to 1.
"""
_SAME = 1e-6
"""Share of its sum of squares up to which a variable may have stayed the same."""
_PATROL = 12
"""Iterations after the first observation until the next where nothing is seen."""
_LONGEST = 256
"""Iterations without an observation at most; one takes as long as some iterations."""


class Sight(StrEnum):
    """Why the flow may be worth an observation."""

    SMALL = "a small gradient"
    LARGE = "a large gradient"
    STILL = "a variable that stands still"
    NOT_FINITE = "a number that is not finite on the way"
    PATROL = "nothing but time, since some trouble shows in no number of these"


_SHOWN_BY = {
    AlarmKind.VANISHING: Sight.SMALL,
    AlarmKind.DEAD: Sight.SMALL,
    AlarmKind.EXPLODING: Sight.LARGE,
    AlarmKind.NOT_MOVING: Sight.STILL,
}
"""Trouble that can't be without a sight."""


class AlarmWatch:
    """Gives the alarms of a trainer, by what is cheap to know of each iteration: the sizes of all
    gradients and variables, and whether numbers became NaN or infinite on the way.

    Where they look like trouble, and now and then anyway, the flow at the values after that
    iteration is observed in full, as the doctor does, which names the first block; see ``Alarms``.
    What was looked at in vain is looked at again after 1, 2, 4, … iterations, also where it comes
    and goes. The session's values and steps don't change.
    """

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._alarms = Alarms()
        self._looks: dict[str, _Look] = {}
        self._optimisers: Sequence[OptimiserStep] = ()
        self._waits: dict[Sight, _Wait] = {}

    def look(self, record: StepRecord) -> list[Alarm]:
        """New alarms after one of the trainer's iterations, the gravest first.

        Of iterations that were made in one call, only the last is looked at closely.
        """
        step, alarms = record.step, self._alarms
        alarms.record(step, record.losses)
        if step != self._trainer.iterations:
            return alarms.rising(step)
        if self._optimisers is not self._trainer.optimisers:
            self._optimisers = self._trainer.optimisers
            self._looks = {optimiser.name: _Look(optimiser) for optimiser in self._optimisers}
        moved: dict[str, float] = {}
        seen = {Sight.PATROL}
        with np.errstate(over="ignore", invalid="ignore"):
            for name in record.optimisers:
                seen |= self._looks[name].take(moved)
        alarms.calm(trouble for trouble, sight in _SHOWN_BY.items() if sight not in seen)
        waits = self._waits_of(seen, step)
        if not alarms.is_counting and all(step < wait.until for wait in waits):
            return alarms.rising(step)
        session = self._trainer.session
        with in_phase(session, "training"):
            found = alarms.observe(step, observe(session), moved)
        for wait in waits:
            wait.observe(step)
        return found

    def _waits_of(self, seen: set[Sight], step: int) -> list[_Wait]:
        """What is known of sights. One that is new, or was not seen for long, begins with the least
        wait of the others: what was observed in vain for them is likely to be so for it.
        """
        known = {
            sight: wait
            for sight in seen
            if (wait := self._waits.get(sight)) is not None and step - wait.seen <= _LONGEST
        }
        least = min((w.iterations for s, w in known.items() if s is not Sight.PATROL), default=1)
        for sight in seen - known.keys():
            known[sight] = self._waits[sight] = _Wait(_PATROL if sight is Sight.PATROL else least)
        for wait in known.values():
            wait.seen = step
        return list(known.values())


class _Wait:
    """When to observe what a sight was of."""

    def __init__(self, iterations: int) -> None:
        self.iterations = iterations
        """Iterations from the next observation to the one after it."""
        self.seen = 0
        """The last iteration with that sight."""
        self.until = 0
        """The iteration from which on it is worth an observation."""

    def observe(self, step: int) -> None:
        """Wait after an observation, be it for this or another sight, and the next time longer."""
        self.until = step + self.iterations
        self.iterations = min(2 * self.iterations, _LONGEST)


class _Look:
    """What is cheap to know of one optimiser's variables after an iteration."""

    def __init__(self, optimiser: OptimiserStep) -> None:
        self._optimiser = optimiser
        self._parts: list[_Sizes] | None = None

    def take(self, moved: dict[str, float]) -> set[Sight]:
        """What may be wrong; ``moved`` gets by how much variables that seem to stand still have
        changed since the iteration before, as a share of their size.
        """
        optimiser = self._optimiser
        found = {Sight.NOT_FINITE} if optimiser.take_flag() else set()
        norm = optimiser.norm
        if norm is None:
            return found
        sizes = optimiser.sizes()
        if self._parts is None:
            self._parts = [_Sizes(optimiser, of) for of in sizes]
        # The norm is that before clipping, which the gradients are not any more.
        if sizes and not norm <= LARGE * math.sqrt(sum(sum(of.lengths) for of in sizes)):
            found.add(Sight.LARGE)
        for part, of in zip(self._parts, sizes, strict=True):
            found |= part.take(of, moved)
        return found


class _Sizes:
    """Variables of one dtype and rate."""

    def __init__(self, optimiser: OptimiserStep, sizes: Sizes) -> None:
        self._optimiser = optimiser
        self._paths = sizes.paths
        self._shares = (1.0 / np.array(sizes.lengths)).astype(sizes.values.dtype)
        self._known: Array = np.full(len(sizes.paths), np.nan, sizes.values.dtype)
        """The sums of squares of the variables after the iteration before."""
        self._before: dict[str, Array] = {}
        """Copies of those that seemed to stand still then."""

    def take(self, sizes: Sizes, moved: dict[str, float]) -> set[Sight]:
        gradients = sizes.gradients * self._shares
        values, known = sizes.values, self._known
        seen = set()
        if not gradients.min() >= SMALL**2:
            seen.add(Sight.SMALL)
        if not gradients.max() <= LARGE**2:
            seen.add(Sight.LARGE)
        if self._before:
            found = {
                path: share(old, self._optimiser.value(path)) for path, old in self._before.items()
            }
            moved |= found
            if any(change < STILL for change in found.values()):
                seen.add(Sight.STILL)
            self._before = {}
        known -= values
        still = np.abs(known, out=known) <= _SAME * values
        if still.any():
            still &= gradients > 0.0
            paths = [self._paths[i] for i in np.flatnonzero(still).tolist()]
            self._before = {path: self._optimiser.value(path) for path in paths}
        self._known = values
        return seen


def share(before: Array, after: Array) -> float:
    """The Euclidean norm of a change as a share of that of the array."""
    change = float(np.linalg.norm(np.subtract(after, before, dtype=float)))
    size = float(np.linalg.norm(np.asarray(after, dtype=float)))
    return change / size if size else (0.0 if not change else 1.0)
