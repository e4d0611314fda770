"""Tables of which rows repeat, as those of a loop's steps do: one period of them, and what changes.

A row is JSON. Rows repeat where they have the same words, and numbers that grow by the same from
period to period, be they in texts or not: ``["rnn/3/h", 41]``, ``["rnn/4/h", 63]``. What is left
out comes back exactly: ``script/loops/tables.js`` reads it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import add
from typing import Any, NamedTuple

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.diagram import InstancePath
from gradwire.runtime.engine.flat import COMPILED

Json = Any

FEWEST = 5
"""Periods from which rows are left out."""
LEAST = 8
"""Rows that a run must save."""
_GRAM = 3
_CANDIDATES = 64
"""Periods that are tried at a row: the distances to the next places that begin as it does."""
_LARGEST = 10**15
_NUMBER = re.compile(r"(?<![0-9])(?:0|[1-9][0-9]{0,14})(?![0-9])")


@by_identity
class Run(NamedTuple):
    """``width`` rows from ``start`` on, a place among those that are kept, so many ``times``; what
    changes from one period to the next, row by row.
    """

    start: int
    width: int
    times: int
    changes: list[Json]


@by_identity
class Repeats(NamedTuple):
    """The rows that are kept, and the runs of which they have the first period."""

    rows: list[Json]
    runs: list[Run]


def is_long(uses: Iterable[str]) -> bool:
    """Whether a Scan has more steps than the runtime writes out, by the paths of uses of pages."""
    return any(InstancePath(use).name == str(COMPILED.long) for use in uses)


def repeats(rows: Sequence[Json], rigid: Callable[[int], Hashable] | None = None) -> Repeats:
    """The rows without those that follow from others. Rows differ where ``rigid``, a function of
    their place, does.
    """
    signatures: dict[Hashable, int] = {}
    kinds: list[int] = []
    numbers: list[list[int]] = []
    for place, row in enumerate(rows):
        words: list[Hashable] = [] if rigid is None else [rigid(place)]
        found: list[int] = []
        _read(row, words, found)
        kinds.append(signatures.setdefault(tuple(words), len(signatures)))
        numbers.append(found)
    kept: list[Json] = []
    runs: list[Run] = []
    search = _Search(kinds, numbers)
    place = 0
    while place < len(rows):
        width, count = search.longest(place)
        if not width:
            kept.append(rows[place])
            place += 1
            continue
        start = len(kept)
        period = range(place, place + width)
        kept += [rows[at] for at in period]
        changes = [_changes(rows[at], iter(search.steps(at, width))) for at in period]
        runs.append(Run(start, width, count, changes))
        place += width * count
    return Repeats(kept, runs)


def rigid_in(tape: Mapping[str, Json], data: Mapping[str, Json]) -> Callable[[int], Hashable]:
    """What operations of a tape at some place must have alike to be those of one loop: their shape,
    and whether they are computed once. Sources, and where the backward part starts, are in none.
    """
    ops = tape["ops"]
    heads = [data["aliases"].get(head, head) for head in data["heads"]]
    alone = {tape["ports"][head][2] for head in heads}
    alone |= {tape["wires"][wire][1] for wires in data["seeds"] for wire in wires}
    alone |= {
        at for path, at in tape["leaves"].items() if data["leaves"][path]["kind"] != "literal"
    }
    alone.add(tape["step"])
    fixed: list[bool] = []
    for name, inputs, *_ in ops:
        fixed.append(name not in ("leaf", "collect") and all(fixed[x] for x in inputs))

    def rigid(place: int) -> Hashable:
        name, _, shape, *_, attributes = ops[place]
        data = repr(attributes) if name == "constant" else ""
        return tuple(shape), fixed[place], place if place in alone else -1, data

    return rigid


class _Search:
    """Looks for what repeats: rows of some kinds, with their numbers."""

    def __init__(self, kinds: Sequence[int], numbers: Sequence[list[int]]) -> None:
        self._kinds = kinds
        self._numbers = numbers
        self._grams: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for place in range(len(kinds)):
            self._grams[self._gram(place)].append(place)
        self._seen: dict[tuple[int, ...], int] = defaultdict(int)

    def _gram(self, place: int) -> tuple[int, ...]:
        return tuple(self._kinds[place : place + _GRAM])

    def longest(self, place: int) -> tuple[int, int]:
        """The period that saves most rows from a place on, and how often it is there; 0 for none.
        Places are asked for in order.
        """
        gram = self._gram(place)
        alike, first = self._grams[gram], self._seen[gram]
        while alike[first] <= place:
            first += 1
            if first == len(alike):
                return 0, 0
        self._seen[gram] = first
        best = 0, 0
        for other in alike[first : first + _CANDIDATES]:
            width = other - place
            if (FEWEST - 1) * width + other > len(self._kinds):
                break
            if best[0] and width % best[0] == 0 and width < best[0] * best[1]:
                continue  # the same rows in longer periods
            count = self._count(place, width)
            saved = (count - 1) * width
            if count >= FEWEST and saved >= LEAST and saved > (best[1] - 1) * best[0]:
                best = width, count
        return best

    def steps(self, place: int, width: int) -> list[int]:
        """By how much the numbers of a row grow."""
        first, second = self._numbers[place], self._numbers[place + width]
        return [after - before for before, after in zip(first, second, strict=True)]

    def _count(self, place: int, width: int) -> int:
        """How many periods there are."""
        kinds, numbers = self._kinds, self._numbers
        alike = {kinds[place + k * width] for k in range(3)}
        if len(alike) > 1 or not self._is_even(place, width):
            return 0
        period = kinds[place : place + width]
        if kinds[place + width : place + 2 * width] != period:
            return 1
        steps = [self.steps(row, width) for row in range(place, place + width)]
        rows = numbers[place + width : place + 2 * width]
        end = place + 3 * width
        while kinds[end - width : end] == period:
            rows = [list(map(add, row, by)) for row, by in zip(rows, steps, strict=True)]
            if numbers[end - width : end] != rows:
                break
            end += width
        return (end - place) // width - 1

    def _is_even(self, place: int, width: int) -> bool:
        """Whether the numbers of a row grow by the same in two periods."""
        three = (self._numbers[place + k * width] for k in range(3))
        return all(z - y == y - x for x, y, z in zip(*three, strict=True))


def _read(row: Json, words: list[Hashable], numbers: list[int]) -> None:
    """Add what must be the same in a row, and its numbers."""
    match row:
        case bool() | float() | None:
            words.append((type(row), repr(row)))
        case int():
            if abs(row) < _LARGEST:
                words.append(int)
                numbers.append(row)
            else:
                words.append(row)
        case str():
            words.append(_NUMBER.sub("\0", row))
            numbers += map(int, _NUMBER.findall(row))
        case Mapping():
            words.append(("{", *row))
            for each in row.values():
                _read(each, words, numbers)
        case _:
            words.append(("[", len(row)))
            for each in row:
                _read(each, words, numbers)


def _changes(row: Json, steps: Any) -> Json:
    """The growth of each number in the form of the row; 0 where nothing of it changes."""
    found: list[Json]
    match row:
        case bool() | float() | None:
            return 0
        case int():
            return next(steps) if abs(row) < _LARGEST else 0
        case str():
            found = [next(steps) for _ in _NUMBER.findall(row)]
        case Mapping():
            named = {name: _changes(each, steps) for name, each in row.items()}
            return {name: each for name, each in named.items() if each} or 0
        case _:
            found = [_changes(each, steps) for each in row]
    return found if any(found) else 0
