"""What-if: interventions tried on a copy of a diagram, and what they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from numpy import typing as npt

from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.paths import split_leaf
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.session.session import on_numpy
from gradwire.runtime.flow.numbers.rules import THRESHOLDS, Thresholds
from gradwire.runtime.flow.observing import observe
from gradwire.runtime.flow.tools.interventions import (
    Bridge,
    CloseStop,
    CutWire,
    Freeze,
    Intervention,
    OpenStop,
    Train,
)
from gradwire.runtime.flow.tools.repairs import trial
from gradwire.runtime.flow.words.formatting import cosine, percent

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Batch, Diagram
    from gradwire.runtime.flow.observed import ObservedFlow
    from gradwire.runtime.flow.words.states import State


@dataclass(frozen=True, eq=False)
class Difference:
    """A variable's gradient before and after; None where no path connects."""

    before: Array | None
    after: Array | None

    @property
    def percent(self) -> float | None:
        """Growth in percent; None if either is None, or if before is 0."""
        return percent(self.before, self.after)

    @property
    def cosine(self) -> float | None:
        """The cosine of the angle between before and after; None where one is None or 0."""
        return cosine(self.before, self.after)

    @property
    def changed(self) -> bool:
        """Whether a single bit differs."""
        before, after = self.before, self.after
        if before is None or after is None:
            return before is not after
        return before.shape != after.shape or before.tobytes() != after.tobytes()


@dataclass(frozen=True)
class Comparison:
    """One diagram observed twice, before and after a trial. A loss of None is all of them."""

    before: ObservedFlow
    after: ObservedFlow
    change: Batch

    @property
    def losses(self) -> tuple[str, ...]:
        """The ports of the losses."""
        return self.before.losses

    def variables(self, loss: str | None = None) -> dict[str, Difference]:
        """The gradient of every variable before and after."""
        return {
            name: Difference(self.before.gradient(name, loss), self.after.gradient(name, loss))
            for name in self.before.program.sources("variable")
        }

    def states(self, loss: str | None = None) -> dict[str, tuple[State | None, State]]:
        """The state of every wire before and after; before is None for a wire that is new."""
        before = self.before.states(loss)
        return {wire: (before.get(wire), now) for wire, now in self.after.states(loss).items()}

    def changed(self, loss: str | None = None) -> dict[str, tuple[State | None, State]]:
        """The wires whose state differs."""
        return {wire: both for wire, both in self.states(loss).items() if both[0] is not both[1]}


class WhatIf:
    """A trial on a diagram, which stays unchanged. Each step returns a new trial; steps add up.

    ``WhatIf(session).open("sg1").cut("w.out→mul1.a").freeze("W1").compare()``. A session lends
    its values; a diagram is run with its own. Both sides run on NumPy, whatever the session's
    engine. ``feeds`` are values of inputs, as for ``backward``.
    """

    def __init__(
        self,
        subject: Session | Diagram,
        losses: Sequence[str] | None = None,
        *,
        feeds: Mapping[str, npt.ArrayLike] | None = None,
        thresholds: Thresholds = THRESHOLDS,
    ) -> None:
        self._session = on_numpy(subject if isinstance(subject, Session) else Session(subject))
        self._losses = losses
        self._feeds = feeds
        self._thresholds = thresholds
        self._before: list[ObservedFlow] = []
        self.steps: tuple[Intervention, ...] = ()

    @explained
    def open(self, *stops: str) -> WhatIf:
        """Let gradient pass these StopGradient blocks; ``stop:encoder/w`` for one leaf alone."""
        return self.take(*(OpenStop(*split_leaf(stop)) for stop in stops))

    @explained
    def close(self, *stops: str) -> WhatIf:
        """Close these StopGradient blocks, which are open or spare leaves."""
        return self.take(*map(CloseStop, stops))

    @explained
    def cut(self, *wires: str) -> WhatIf:
        """Put a StopGradient on these wires: ``mul1.a``, ``w.out→mul1.a`` or ``w.out->mul1.a``."""
        return self.take(*map(CutWire, wires))

    @explained
    def freeze(self, *variables: str) -> WhatIf:
        """Don't train these variables."""
        return self.take(*map(Freeze, variables))

    @explained
    def train(self, *variables: str) -> WhatIf:
        """Train these variables."""
        return self.take(*map(Train, variables))

    def bridge(self, hard: str, soft: str, target: str) -> WhatIf:
        """Put a StraightThrough before input ``target``: value of hard, gradient to soft."""
        return self.take(Bridge(hard, soft, target))

    def take(self, *steps: Intervention) -> WhatIf:
        """Add these steps, such as those of a Fix."""
        other = WhatIf(self._session, self._losses, feeds=self._feeds, thresholds=self._thresholds)
        other.steps = (*self.steps, *steps)
        other._before = self._before
        return other

    def as_change(self) -> Batch:
        """All steps as one change of the diagram, to apply and to undo; raises ChangeError."""
        return self._trial[1]

    @property
    def diagram(self) -> Diagram:
        """The diagram with the steps made; raises ChangeError."""
        return self._trial[0].diagram

    def compare(self) -> Comparison:
        """Run before and after. Raises ChangeError, and what ``backward`` raises."""
        session, change = self._trial
        if not self._before:
            self._before.append(self._observe(self._session, self._losses))
        before = self._before[0]
        return Comparison(before, self._observe(session, before.losses), change)

    @cached_property
    def _trial(self) -> tuple[Session, Batch]:
        return trial(self._session, self.steps)

    def _observe(self, session: Session, losses: Sequence[str] | None) -> ObservedFlow:
        return observe(session, losses, feeds=self._feeds, thresholds=self._thresholds)
