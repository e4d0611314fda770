"""The arithmetic of an iteration as stages of a loop: passes, updates and averages in
primitives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.engine import LoopPhase
from gradwire.runtime.engine.norms import square_of
from gradwire.runtime.engine.plan.simplify import leaves_of

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Trace, Value
    from gradwire.runtime.diagram.training import Clip
    from gradwire.runtime.engine.plan.recording import Recording

_ROOM = 1e-6
"""Added to the norm that gradients are clipped by."""


class Pass(NamedTuple):
    """What one pass computes."""

    losses: Sequence[Value]
    """The heads, of any shape."""
    watched: Sequence[Value]
    """Ports to record, of any shape."""
    gradients: Mapping[str, Value]
    """By variable."""


class ParameterUpdates(NamedTuple):
    """An update of variables that lie in one group: what is done, and with which scalars."""

    recording: Recording
    scalars: Value
    """A row: the scalars of the recording."""
    arrays: Mapping[str, Sequence[Value]]
    """By variable, the leaves that the recording writes: the variable, and then the state."""


class AverageUpdate(NamedTuple):
    """An update of averages of one dtype."""

    recording: Recording
    scalars: Value
    arrays: Sequence[Sequence[Value]]
    """The leaves of each target: itself, its source, and what is averaged."""


class Staging:
    """Builds stages on a trace.

    Everything is written only while ``healthy``, a boolean leaf, is true. It becomes false where a
    loss, a gradient or a variable is not finite: then the leaves stay as they were in that pass.
    """

    def __init__(self, trace: Trace, healthy: Value) -> None:
        self._trace, self._xp = trace, trace.xp
        self._healthy = healthy

    def collect(
        self, given: Pass, into: Mapping[str, Value], changing: Iterable[Value]
    ) -> LoopPhase:
        """A pass that hands its gradients on in leaves, by variable. Results: see ``measured``."""
        gradients = {into[path]: gradient for path, gradient in given.gradients.items()}
        return self._pass(given, gradients, changing)

    def accumulate(
        self, given: Pass, into: Mapping[str, Value], changing: Iterable[Value], times: int
    ) -> LoopPhase:
        """More passes, whose gradients are added to leaves. Results: see ``measured``."""
        sums = {into[path]: into[path] + gradient for path, gradient in given.gradients.items()}
        return self._pass(given, sums, changing)._replace(times=times)

    def update(
        self,
        gradients: Mapping[str, Value],
        divisor: int,
        clip: Clip | None,
        moves: Sequence[ParameterUpdates],
    ) -> LoopPhase:
        """An update of variables by gradients.

        Results: the sums of the squares of the gradients before clipping, after it, and of the
        variables; whether the variables are finite.
        """
        given = dict(gradients)
        if divisor != 1:
            given = {path: self._xp.divide(g, divisor) for path, g in given.items()}
        before = self._squares(given.values())
        given = self._clipped(given, before, clip)
        after = before if clip is None else self._squares(given.values())
        writes: dict[Value, Value] = {}
        variables: list[Value] = []
        for move in moves:
            for path, leaves in move.arrays.items():
                arrays = (leaves[0], given[path], *leaves[1:])
                writes |= self._replayed(move.recording, move.scalars, arrays)
                variables.append(writes[leaves[0]])
        squares = self._squares(variables)
        fine = self._finite(variables, squares)
        rows = [move.scalars for move in moves]
        writes[self._healthy] = fine
        return self._stage(writes, (before, after, squares, fine), rows)

    def average(self, blends: Sequence[AverageUpdate]) -> LoopPhase:
        """An update of an average; no results."""
        writes: dict[Value, Value] = {}
        for blend in blends:
            for arrays in blend.arrays:
                writes |= self._replayed(blend.recording, blend.scalars, arrays)
        return self._stage(writes, (), [blend.scalars for blend in blends])

    def measured(self, given: Pass) -> tuple[Value, Value, Value, Value]:
        """The losses, each the sum of its elements; the means of what is watched; the sums of the
        squares of the gradients; whether losses and gradients are finite.
        """
        xp = self._xp
        losses = self._vector(xp.sum(xp.astype(head, "float64")) for head in given.losses)
        watched = self._vector(xp.mean(xp.astype(port, "float64")) for port in given.watched)
        gradients = list(given.gradients.values())
        squares = self._squares(gradients)
        fine = xp.logical_and(xp.all(xp.isfinite(losses)), self._finite(gradients, squares))
        return losses, watched, squares, fine

    def _pass(
        self, given: Pass, hands_on: Mapping[Value, Value], changing: Iterable[Value]
    ) -> LoopPhase:
        results = self.measured(given)
        healthy = self._xp.logical_and(self._healthy, results[-1])
        read = set(leaves_of([healthy, *hands_on.values(), *results]))
        rows = tuple(row for row in changing if row in read)
        return LoopPhase({self._healthy: healthy}, results, rows, hands_on=hands_on)

    def _stage(
        self, writes: Mapping[Value, Value], results: tuple[Value, ...], rows: Iterable[Value]
    ) -> LoopPhase:
        """A stage for healthy iterations, with those of ``rows`` that it reads."""
        read = set(leaves_of([*writes.values(), *results]))
        rows = tuple(row for row in rows if row in read)
        return LoopPhase(writes, results=results, rows=rows, guard=self._healthy)

    def _replayed(
        self, recording: Recording, scalars: Value, arrays: Sequence[Value]
    ) -> dict[Value, Value]:
        """What a recording leaves in the leaves that it writes."""
        numbers = [scalars[place] for place in range(len(recording.scalars))]
        found = recording.replayed(self._xp, arrays, numbers)
        return {arrays[place]: value for place, value in found.items()}

    def _clipped(
        self, gradients: dict[str, Value], squares: Value, clip: Clip | None
    ) -> dict[str, Value]:
        """Gradients limited as ``clip_gradients`` does."""
        xp = self._xp
        if clip is None:
            return gradients
        if clip.by == "value":
            return {p: xp.clip(g, -clip.limit, clip.limit) for p, g in gradients.items()}
        norm = xp.sqrt(xp.sum(squares))
        factor = xp.minimum(xp.divide(clip.limit, norm + _ROOM), 1.0)
        return {p: g * xp.astype(factor, g.dtype) for p, g in gradients.items()}

    def _squares(self, arrays: Iterable[Value]) -> Value:
        return self._vector(square_of(x) for x in arrays)

    def _finite(self, arrays: Sequence[Value], squares: Value) -> Value:
        """Whether all elements are finite; the squares of float64 overflow before they are not."""
        xp = self._xp
        if all(x.dtype != "float64" for x in arrays):
            return xp.all(xp.isfinite(squares))
        return xp.all(self._vector(xp.all(xp.isfinite(x)) for x in arrays))

    def _vector(self, numbers: Iterable[Value]) -> Value:
        found = list(numbers)
        return self._xp.stack(found) if found else self._xp.zeros(0, "float64")


def leaf(trace: Trace, like: Array | Value) -> Value:
    """A new leaf of the shape and dtype of something; no part of the diagram."""
    owner, trace.owner = trace.owner, None
    try:
        return trace.apply(LEAF, shape=tuple(like.shape), dtype=str(like.dtype))
    finally:
        trace.owner = owner
