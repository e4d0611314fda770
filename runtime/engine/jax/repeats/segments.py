"""Finds where a computation repeats itself: isomorphic segments, one behind the other."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.runtime.calculus.primitives.elementwise import ADD
from gradwire.runtime.calculus.primitives.shape import EMBED
from gradwire.runtime.engine.jax.repeats.operations import CHEAP
from gradwire.runtime.engine.jax.repeats.periods import Run, runs

if TYPE_CHECKING:
    from gradwire.runtime.engine.jax.repeats.operations import Operations

_OUTSIDE, _FAR = 0, -1
_TOGETHER = CHEAP | {ADD, EMBED}


class Segments(NamedTuple):
    """``steps`` segments of ``length`` operations each, from that at ``start`` on."""

    start: int
    length: int
    steps: int

    @property
    def stop(self) -> int:
        """Where the operations behind the last segment begin."""
        return self.start + self.length * self.steps


def segments(
    operations: Operations, fewest: int, saved: int, without: Set[int] = frozenset()
) -> list[Segments]:
    """Repetitions that don't overlap, in their order; those that save most are found first.

    Each has at least ``fewest`` steps and saves ``saved`` operations. ``without`` are starts of
    repetitions that are not wanted.
    """
    search = _Search(operations, fewest, saved, without)
    return sorted(search.found())


class _Search:
    """The operations that are not yet in a repetition."""

    def __init__(self, operations: Operations, fewest: int, saved: int, without: Set[int]) -> None:
        self._operations, self._fewest, self._saved = operations, fewest, saved
        self._without = without
        self._taken = np.zeros(len(operations.entries), dtype=bool)

    def found(self) -> Iterator[Segments]:
        """All repetitions."""
        likely = runs(self._operations.kinds, self._fewest) if len(self._taken) else []
        pending = [(-run.saved, run) for run in likely if self._pays(run.saved)]
        heapq.heapify(pending)
        while pending:
            _, run = heapq.heappop(pending)
            if self._taken[run.start : run.start + run.length].any():
                for rest in self._rests(run):
                    if self._pays(rest.saved) and rest.length >= self._fewest * rest.period:
                        heapq.heappush(pending, (-rest.saved, rest))
                continue
            for each in self._verified(run):
                if self._pays(each.length * (each.steps - 1)):
                    self._taken[each.start : each.stop] = True
                    if each.start not in self._without:
                        self._take_sums(each)
                        yield each

    def _take_sums(self, found: Segments) -> None:
        """Keep the additions that sum up results of these steps out of other repetitions."""
        readers, place = self._operations.readers, self._operations.place
        results = self._operations.entries[found.start : found.stop]
        step = {
            reader: at // found.length
            for at, result in enumerate(results)
            for reader in readers.get(result, ())
            if reader.primitive is ADD and place[reader] >= found.stop
        }
        for reader in step:
            for total in self._operations.inputs[reader]:
                if total in step and step[total] != step[reader]:
                    self._taken[[place[reader], place[total]]] = True

    def _pays(self, saved: int) -> bool:
        return saved >= self._saved

    def _rests(self, run: Run) -> Iterator[Run]:
        """What is left of a run between the repetitions that were found."""
        taken = np.ones(run.length + 2, dtype=np.int8)
        taken[1:-1] = self._taken[run.start : run.start + run.length]
        ends = (np.flatnonzero(np.diff(taken)) + run.start).tolist()
        for start, stop in zip(ends[::2], ends[1::2], strict=True):
            yield Run(start, stop - start, run.period)

    def _verified(self, run: Run) -> Iterator[Segments]:
        """The parts of a run in which each segment reads what the one before it does.

        Runs of nothing but sums and cheap functions are left out: they bring together what other
        repetitions compute, and belong to these.
        """
        entries = self._operations.entries
        if all(x.primitive in _TOGETHER for x in entries[run.start : run.start + run.period]):
            return
        end = run.start + run.length
        start = run.start + self._phase(run)
        while start + self._fewest * run.period <= end:
            steps = self._steps(start, run.period, (end - start) // run.period)
            if steps >= self._fewest:
                yield Segments(start, run.period, steps)
                start += steps * run.period
            else:
                start += run.period

    def _steps(self, start: int, period: int, most: int) -> int:
        """How many segments from ``start`` on read the same of themselves and of the one before."""
        pattern = self._relations(start, start + period, period)
        first = self._relations(start, start, period)
        if _FAR in pattern or not _begins(first, pattern, period, self._offsets(start, period)):
            return 0
        steps = 2
        while steps < most:
            if self._relations(start, start + steps * period, period) != pattern:
                break
            steps += 1
        return steps

    def _relations(self, start: int, segment: int, period: int) -> list[int]:
        """How far back each input of a segment is; 0 for those that are outside the repetition."""
        place, inputs = self._operations.place, self._operations.inputs
        oldest = max(start, segment - period)
        found = []
        for at, value in enumerate(self._operations.entries[segment : segment + period], segment):
            for source in inputs[value]:
                where = place.get(source, _FAR)
                if where >= oldest:
                    found.append(at - where)
                else:
                    found.append(_OUTSIDE if where < start else _FAR)
        return found

    def _offsets(self, start: int, period: int) -> list[int]:
        """For each input of a segment, the place in the segment of what reads it."""
        inputs = self._operations.inputs
        values = self._operations.entries[start : start + period]
        return [i for i, value in enumerate(values) for _ in inputs[value]]

    def _phase(self, run: Run) -> int:
        """Where in its period a run is cut best: where the fewest values are passed on.

        A value must not be read across two cuts.
        """
        period, repeats = run.period, run.length // run.period
        middle = run.start + (repeats // 2 - 1) * period
        passed = np.zeros(period + 1, dtype=np.int64)
        twice = np.zeros(period + 1, dtype=np.int64)
        for at, last in enumerate(self._last_reads(run, middle), middle):
            whole, rest = divmod(last - at, period)
            passed[0] += whole
            twice[0] += max(whole - 1, 0)
            first = (at + 1 - run.start) % period
            for low, high in _wrapped(first, first + rest, period):
                passed[low] += 1
                passed[high] -= 1
                twice[low] += whole > 0
                twice[high] -= whole > 0
        crossings, doubly = np.cumsum(passed)[:period], np.cumsum(twice)[:period]
        cuts = range(min(period, run.length - self._fewest * period + 1))
        return min(cuts, key=lambda cut: (doubly[cut] > 0, crossings[cut], cut))

    def _last_reads(self, run: Run, middle: int) -> list[int]:
        """The last place within a run that reads each value of the period from ``middle`` on."""
        found = list(range(middle, middle + run.period))
        stop = min(middle + 3 * run.period, run.start + run.length)
        for at in range(middle, stop):
            for source in self._operations.inputs[self._operations.entries[at]]:
                back = self._operations.place.get(source, _FAR) - middle
                if 0 <= back < run.period:
                    found[back] = at
        return found


def _begins(first: list[int], pattern: list[int], period: int, offsets: list[int]) -> bool:
    """Whether a first segment reads from outside what the others read of the one before."""
    return all(
        here == (_OUTSIDE if there > offset else there)
        for here, there, offset in zip(first, pattern, offsets, strict=True)
    )


def _wrapped(low: int, high: int, period: int) -> list[tuple[int, int]]:
    """The places from ``low`` to ``high``, counted on a circle."""
    if high <= period:
        return [(low, high)]
    return [(low, period), (0, high - period)]
