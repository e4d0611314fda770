"""The arithmetic of a round as stages of a loop: passes, updates and averages in primitives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from runtime.calculus.primitives.base import LEAF
from runtime.engine.engine import Stage
from runtime.engine.plan.simplify import leaves_of

if TYPE_CHECKING:
    from runtime.calculus import Trace, Value
    from runtime.diagram.training import Clip
    from runtime.engine.plan.recording import Recording

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


class Moves(NamedTuple):
    """An update of variables that lie in one group: what is done, and with which scalars."""

    recording: Recording
    scalars: Value
    """A row: the scalars of the recording."""
    arrays: Mapping[str, Sequence[Value]]
    """By variable, the leaves that the recording writes: the variable, and then the state."""


class Blend(NamedTuple):
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

    def collect(self, given: Pass, into: Mapping[str, Value], changing: Iterable[Value]) -> Stage:
        """A pass that leaves its gradients in leaves, by variable. Results: see ``measured``."""
        results = self.measured(given)
        return self._stage(
            {into[path]: gradient for path, gradient in given.gradients.items()},
            results,
            changing,
            self._and(self._healthy, results[-1]),
        )

    def accumulate(
        self, given: Pass, into: Mapping[str, Value], changing: Iterable[Value], times: int
    ) -> Stage:
        """More passes, whose gradients are added to leaves. Results: see ``measured``."""
        results = self.measured(given)
        sums = {into[path]: into[path] + gradient for path, gradient in given.gradients.items()}
        healthy = self._and(self._healthy, results[-1])
        return self._stage(sums, results, changing, healthy)._replace(times=times)

    def update(
        self,
        gradients: Mapping[str, Value],
        divisor: int,
        clip: Clip | None,
        moves: Sequence[Moves],
    ) -> Stage:
        """An update of variables by gradients. Results: see ``moved``."""
        writes, results = self.moved(gradients, divisor, clip, moves, self._healthy)
        rows = [move.scalars for move in moves]
        return self._stage(writes, results, rows, self._and(self._healthy, results[-1]))

    def collect_and_update(
        self, given: Pass, changing: Iterable[Value], clip: Clip | None, moves: Sequence[Moves]
    ) -> Stage:
        """A pass, and an update by its gradients. Results: those of both."""
        measured = self.measured(given)
        healthy = self._and(self._healthy, measured[-1])
        writes, moved = self.moved(given.gradients, 1, clip, moves, healthy)
        rows = [*changing, *(move.scalars for move in moves)]
        return self._stage(writes, (*measured, *moved), rows, self._and(healthy, moved[-1]))

    def average(self, blends: Sequence[Blend]) -> Stage:
        """An update of an average; no results."""
        writes: dict[Value, Value] = {}
        for blend in blends:
            for arrays in blend.arrays:
                new = self._replayed(blend.recording, blend.scalars, arrays)
                for place, value in new.items():
                    writes[arrays[place]] = self._if(self._healthy, value, arrays[place])
        return self._stage(writes, (), [blend.scalars for blend in blends], self._healthy)

    def measured(self, given: Pass) -> tuple[Value, Value, Value, Value]:
        """The losses, each the sum of its elements; the means of what is watched; the sums of the
        squares of the gradients; whether losses and gradients are finite.
        """
        xp = self._xp
        losses = self._vector(xp.sum(xp.astype(head, "float64")) for head in given.losses)
        watched = self._vector(xp.mean(xp.astype(port, "float64")) for port in given.watched)
        gradients = list(given.gradients.values())
        squares = self._squares(gradients)
        fine = self._and(xp.all(xp.isfinite(losses)), self._finite(gradients, squares))
        return losses, watched, squares, fine

    def moved(
        self,
        gradients: Mapping[str, Value],
        divisor: int,
        clip: Clip | None,
        moves: Sequence[Moves],
        healthy: Value,
    ) -> tuple[dict[Value, Value], tuple[Value, Value, Value, Value]]:
        """What an update writes. Its results: the sums of the squares of the gradients before
        clipping, after it, and of the variables; whether the variables are finite.
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
                new = self._replayed(move.recording, move.scalars, arrays)
                for place, value in new.items():
                    writes[arrays[place]] = self._if(healthy, value, arrays[place])
                variables.append(writes[leaves[0]])
        squares = self._squares(variables)
        return writes, (before, after, squares, self._finite(variables, squares))

    def _stage(
        self,
        writes: dict[Value, Value],
        results: Sequence[Value],
        rows: Iterable[Value],
        healthy: Value,
    ) -> Stage:
        """A stage with those of ``rows`` that it reads."""
        if healthy is not self._healthy:
            writes[self._healthy] = healthy
        read = set(leaves_of([*writes.values(), *results]))
        return Stage(writes, tuple(results), tuple(row for row in rows if row in read))

    def _replayed(
        self, recording: Recording, scalars: Value, arrays: Sequence[Value]
    ) -> dict[int, Value]:
        """What a recording leaves in the arrays that it writes, by their place."""
        found = list(arrays)
        for name, operands in recording.operations:
            inputs = [found[n] if n >= 0 else scalars[-1 - n] for n in operands]
            found.append(getattr(self._xp, name)(*inputs))
        return {place: found[number] for place, number in recording.written.items()}

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
        xp = self._xp
        return self._vector(xp.sum(xp.square(xp.astype(x, "float64"))) for x in arrays)

    def _finite(self, arrays: Sequence[Value], squares: Value) -> Value:
        """Whether all elements are finite; the squares of float64 overflow before they are not."""
        xp = self._xp
        if all(x.dtype != "float64" for x in arrays):
            return xp.all(xp.isfinite(squares))
        return xp.all(self._vector(xp.all(xp.isfinite(x)) for x in arrays))

    def _vector(self, numbers: Iterable[Value]) -> Value:
        found = list(numbers)
        return self._xp.stack(found) if found else self._xp.zeros(0, "float64")

    def _and(self, one: Value, other: Value) -> Value:
        return self._xp.logical_and(one, other)

    def _if(self, healthy: Value, new: Value, old: Value) -> Value:
        return self._xp.where(healthy, new, old)


def leaf(trace: Trace, like: Any) -> Value:
    """A new leaf of the shape and dtype of something; no part of the diagram."""
    owner, trace.owner = trace.owner, None
    try:
        return trace.apply(LEAF, shape=tuple(like.shape), dtype=str(like.dtype))
    finally:
        trace.owner = owner
