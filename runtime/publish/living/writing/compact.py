"""The data of a page as it is written into the file: tables by column, and numbers that grow by
their steps, which packs to half the size. Of what repeats with the steps of a long loop there is
one period (see ``repeats``). ``script/compact.js`` restores it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from gradwire.runtime.publish.living.writing.repeats import Run, is_long, repeats, rigid_in

Json = Any


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
