"""Makes loops of repeated segments, and moves what belongs to their steps into them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.engine.jax.repeats.body import Body, Home
from gradwire.runtime.engine.jax.repeats.given import Given
from gradwire.runtime.engine.jax.repeats.parts import Carried
from gradwire.runtime.engine.jax.repeats.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.jax.repeats.operations import Operations

_MANY = 64
"""Readers of a value from which on it is not searched what they have in common."""


class Building:
    """The loops of a computation, and the ``homes`` of the values that they compute."""

    def __init__(self, operations: Operations, found: Sequence[Segments], fewest: int) -> None:
        self.operations = operations
        self.homes: dict[Value, Home] = {}
        self.stacks: dict[Value, Home] = {}
        """The stacks of results of loops, each with the value that is stacked."""
        self.given = Given(operations, self.homes)
        self.bodies = {each.start: self._body(self._trimmed(each, fewest)) for each in found}
        """The loops by the start of the segments that they were made of."""
        for body in self.bodies.values():
            self._take_in(body)

    def ready(self, value: Value, body: Body) -> bool:
        """Whether a value is at hand before a loop begins, or can be with little effort."""
        pending, seen = [value], {value}
        while pending and len(seen) <= _MANY:
            x = pending.pop()
            if self._before(x, body):
                continue
            if x in self.homes:
                if body < self.homes[x].body or body is self.homes[x].body:
                    return False
                continue
            new = [source for source in self.operations.inputs[x] if source not in seen]
            pending += new
            seen.update(new)
        return not pending

    def _trimmed(self, found: Segments, fewest: int) -> Segments:
        """The segments without the first or last if these alone read something from elsewhere.

        To stack it with what the others read would take a copy of all that.
        """
        entries, length = self.operations.entries, found.length
        first = last = False
        for at in range(found.start, found.start + length):
            values = entries[at : found.stop : length]
            for sources in zip(*(self.operations.inputs[x] for x in values), strict=True):
                if self._place(sources[1]) >= found.start or self.given.even(found, sources):
                    continue
                if self.given.even(found, sources[1:]):
                    first = True
                elif self.given.even(found, sources[:-1]):
                    last = True
                elif self.given.even(found, sources[1:-1]):
                    first = last = True
        trimmed = Segments(found.start + first * length, length, found.steps - first - last)
        return trimmed if trimmed.steps >= fewest else found

    def _body(self, found: Segments) -> Body:
        """The loop of the segments alone."""
        entries, length = self.operations.entries, found.length
        body = Body(found, self.operations.order[entries[found.start]], self.stacks)
        copies: list[Value] = []
        carried: dict[tuple[int, Value], Value] = {}
        for at in range(found.start, found.start + length):
            originals = tuple(entries[at : found.stop : length])
            read = zip(*(self.operations.inputs[x] for x in originals), strict=True)
            inputs = []
            for sources in read:
                back = self._place(sources[1]) - found.start - length
                if back >= 0:
                    inputs.append(copies[back])
                elif back >= -length:
                    key = back + length, sources[0]
                    if key not in carried:
                        carried[key] = body.slot(sources[0])
                    inputs.append(carried[key])
                else:
                    inputs.append(self.given.slot(body, sources))
            copies.append(body.add(originals, inputs))
        for (place, initial), slot in carried.items():
            body.carried.append(Carried(slot, initial, copies[place]))
        strides = [rows.stride for rows, _ in body.rows]
        body.reverse = sum(s < 0 for s in strides) > sum(s > 0 for s in strides)
        for copy in copies:
            self._settle(body, copy)
        return body

    def _settle(self, body: Body, copy: Value) -> None:
        for step, value in enumerate(body.originals[copy]):
            self.homes[value] = Home(body, copy, step)

    def _place(self, value: Value) -> int:
        return self.operations.place.get(value, -1)

    def _take_in(self, body: Body) -> None:
        """Compute in the loop what reads the results of each step in the same way."""
        pending = [copy for copy, _ in body.computed if body.originals[copy][0] in self.homes]
        while pending:
            results = body.originals[pending.pop()]
            for readers in self._alike(results):
                inputs = self._inputs(body, readers)
                if inputs is not None:
                    copy = body.add(readers, inputs)
                    self._settle(body, copy)
                    pending.append(copy)

    def _alike(self, results: Sequence[Value]) -> list[tuple[Value, ...]]:
        """The readers outside loops that all results have, by kind; for each step one."""
        by_step = []
        for result in results:
            readers = dict.fromkeys(self.operations.readers.get(result, ()))
            if len(readers) > _MANY:
                return []
            found: dict[tuple[int, int], Value] = {}
            count: dict[int, int] = {}
            for reader in readers:
                if reader not in self.homes:
                    kind = self.operations.kind(reader)
                    count[kind] = count.get(kind, 0) + 1
                    found[kind, count[kind]] = reader
            if not found:
                return []
            by_step.append(found)
        every = [key for key in by_step[0] if all(key in found for found in by_step)]
        alike = [tuple(found[key] for found in by_step) for key in every]
        return [readers for readers in alike if len(set(readers)) == len(readers)]

    def _inputs(self, body: Body, readers: Sequence[Value]) -> list[Value] | None:
        """What such readers read within the loop; None if they read what is computed behind it."""
        read = list(zip(*(self.operations.inputs[x] for x in readers), strict=True))
        copies = [self._common_copy(body, sources) for sources in read]
        for sources, copy in zip(read, copies, strict=True):
            if copy is None and not all(self._before(x, body) for x in sources):
                return None
        return [
            self.given.slot(body, sources) if copy is None else copy
            for sources, copy in zip(read, copies, strict=True)
        ]

    def _common_copy(self, body: Body, sources: Sequence[Value]) -> Value | None:
        """The value of the loop that the sources are in their steps."""
        homes = [self.homes.get(x) for x in sources]
        first = homes[0]
        if first is None or first.body is not body:
            return None
        same = all(
            home is not None and home.body is body and home.copy is first.copy and home.step == i
            for i, home in enumerate(homes)
        )
        return first.copy if same else None

    def _before(self, value: Value, body: Body) -> bool:
        return self.operations.free(value) or self.operations.order[value] < body.first
