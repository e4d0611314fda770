"""Tables of which rows repeat, as those of a loop's steps do: one period of them, and what changes.

A row is JSON. Rows repeat where they have the same words, and numbers that grow by the same from
period to period, be they in texts or not: ``["rnn/3/h", 41]``, ``["rnn/4/h", 63]``. What is left
out comes back exactly: ``script/loops/tables.js`` reads it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
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


# The data of a page as it is written into the file: tables by column, and numbers that grow by
# their steps, which packs to half the size. Of what repeats with the steps of a long loop there is
# one period (see ``repeats``). ``script/compact.js`` restores it.


def compacted(data: Mapping[str, Json]) -> dict[str, Json]:
    """The data of a page in fewer characters; see the package for what it is before."""
    folds = _Folds(is_long(data["uses"]))
    verdicts = data["verdicts"]
    wires = list(data["wires"])
    names = verdicts["names"]
    has_wires = names[: len(wires)] == wires
    routes = folds.rows("routes", verdicts["routes"])
    cuts = folds.rows("cuts", verdicts["cuts"])
    named = {name: folds.named(name, data[name]) for name in _NAMED if name in data}
    if "blocks" in folds.runs:
        named["blocks"] = [
            (path, [kind, folds.list(inputs), more])
            for path, (kind, inputs, more) in named["blocks"]
        ]
    found = {
        **data,
        **named,
        "tapes": [_tape(tape, data) for tape in data["tapes"]],
        "verdicts": {
            **verdicts,
            "names": [int(has_wires), *names[len(wires) * has_wires :]],
            "texts": folds.rows("texts", verdicts["texts"]),
            "told": folds.rows("told", verdicts["told"]),
            "routes": [
                [place - ahead for place, (ahead, _) in enumerate(routes)],
                _steps(block for _, block in routes),
            ],
            "cuts": [[place - rest for place, (rest, _) in enumerate(cuts)], [w for _, w in cuts]],
            "table": {key: _steps(folds.rows(key, row)) for key, row in verdicts["table"].items()},
        },
    }
    return found | folds.told


_NAMED = (
    "leaves", "wires", "trees", "portTrees", "aliases", "shared", "blocks", "uses", "paths",
    "invariant",
)  # fmt: skip
"""What is by name."""
_LONG = 16
"""Elements from which a list in a row is looked through for what repeats."""


_FAR = 5
"""Values within so many places of each other are as far apart in each period of a loop. That tells
the edges of a step from one another, which are otherwise alike."""


class _Folds:
    """Leaves out what repeats, if it ``folds``, and knows where that was."""

    def __init__(self, folds: bool) -> None:
        self._folds = folds
        self.runs: dict[str, list[Run]] = {}

    def rows(
        self, name: str, rows: Sequence[Json], rigid: Callable[[int], Hashable] | None = None
    ) -> Sequence[Json]:
        """The rows of a table that are kept."""
        if not self._folds:
            return rows
        kept, runs = repeats(rows, rigid)
        if runs:
            self.runs[name] = runs
        return kept

    def named(self, name: str, table: Mapping[str, Json]) -> Json:
        """A table by name; its rows ``[name, entry]`` where some of them are left out."""
        kept = self.rows(name, [*table.items()])
        return kept if name in self.runs else table

    def list(self, given: Json) -> Json:
        """A long list in a row."""
        if not self._folds or not isinstance(given, Sequence) or len(given) < _LONG:
            return given
        kept, runs = repeats(given)
        return {"rows": kept, "runs": runs} if runs else given

    @property
    def told(self) -> dict[str, Json]:
        """What the data says of it."""
        return {"runs": self.runs} if self._folds else {}


def _tape(tape: Mapping[str, Json], data: Mapping[str, Json]) -> dict[str, Json]:
    folds = _Folds(is_long(data["uses"]))
    ops = folds.rows("ops", tape["ops"], rigid_in(tape, data))
    near = [min(value - source, _FAR) for value, source, *_ in tape["edges"]]
    edges = folds.rows("edges", tape["edges"], near.__getitem__)
    arrive = folds.rows("arrive", tape["arrive"])
    names, inputs, shapes, dtypes, owners, guards, backs, attributes = _columns(ops, 8)
    values, sources, gates, switches = _columns(edges, 4)
    found = {
        **tape,
        "ops": [
            names,
            [folds.list([place - x for x in read]) for place, read in enumerate(inputs)],
            shapes,
            dtypes,
            _steps(owners),
            _steps(guards),
            _steps(backs),
            [[place, _attributes(each, folds)] for place, each in enumerate(attributes) if each],
        ],
        "owners": folds.rows("owners", tape["owners"]),
        "leaves": folds.named("leaves", tape["leaves"]),
        "arrive": [
            _steps(value for value, _ in arrive),
            [
                folds.list([step for reader, gate in ways for step in (reader - value, gate)])
                for value, ways in arrive
            ],
        ],
        "edges": [
            _steps(values),
            [value - source for value, source in zip(values, sources, strict=True)],
            gates,
            switches,
        ],
        **{key: _by_path(folds.rows(key, [*tape[key].items()]), key) for key in _BY_PATH},
    }
    return found | folds.told


_BY_PATH = ("ports", "wires", "gradients")


def _attributes(given: Mapping[str, Json], folds: _Folds) -> Mapping[str, Json]:
    """Numbers that count from 0 up as how many they are."""
    data = given.get("data")
    if isinstance(data, list) and len(data) > 2 and data == list(range(len(data))):
        return {**given, "data": len(data)}
    return {name: folds.list(each) for name, each in given.items()}


def _by_path(pairs: Sequence[tuple[str, Sequence[int]]], key: str) -> list[Json]:
    columns = _columns((row for _, row in pairs), 3 if key == "ports" else 2)
    return [[path for path, _ in pairs], *map(_steps, columns)]


def _columns(rows: Iterable[Sequence[Json]], width: int) -> list[list[Json]]:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return columns or [[] for _ in range(width)]


def _steps(numbers: Iterable[int]) -> list[int]:
    """From each number to the next, beginning at 0."""
    return [after - before for before, after in pairwise((0, *numbers))]
