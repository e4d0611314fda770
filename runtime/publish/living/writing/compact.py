"""The data of a page as it is written into the file: tables by column, and numbers that grow by
their steps, which packs to half the size. ``script/compact.js`` restores it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

Json = Any


def compacted(data: Mapping[str, Json]) -> dict[str, Json]:
    """The data of a page in fewer characters; see the package for what it is before."""
    verdicts = data["verdicts"]
    wires = list(data["wires"])
    names = verdicts["names"]
    has_wires = names[: len(wires)] == wires
    return {
        **data,
        "tapes": [_tape(tape) for tape in data["tapes"]],
        "verdicts": {
            **verdicts,
            "names": [int(has_wires), *names[len(wires) * has_wires :]],
            "routes": [
                [place - ahead for place, (ahead, _) in enumerate(verdicts["routes"])],
                _steps(block for _, block in verdicts["routes"]),
            ],
            "table": {key: _steps(row) for key, row in verdicts["table"].items()},
        },
    }


def _tape(tape: Mapping[str, Json]) -> dict[str, Json]:
    ops, edges = tape["ops"], tape["edges"]
    names, inputs, shapes, dtypes, owners, guards, backs, attributes = _columns(ops, 8)
    values, sources, gates, switches = _columns(edges, 4)
    return {
        **tape,
        "ops": [
            names,
            [[place - x for x in read] for place, read in enumerate(inputs)],
            shapes,
            dtypes,
            _steps(owners),
            _steps(guards),
            _steps(backs),
            [[place, _attributes(each)] for place, each in enumerate(attributes) if each],
        ],
        "arrive": [
            _steps(value for value, _ in tape["arrive"]),
            [
                [step for reader, gate in conditions for step in (reader - value, gate)]
                for value, conditions in tape["arrive"]
            ],
        ],
        "edges": [
            _steps(values),
            [value - source for value, source in zip(values, sources, strict=True)],
            gates,
            switches,
        ],
        **{key: _by_path(tape[key], 3 if key == "ports" else 2) for key in _BY_PATH},
    }


_BY_PATH = ("ports", "wires", "gradients")


def _attributes(given: Mapping[str, Json]) -> Mapping[str, Json]:
    """Numbers that count from 0 up as how many they are."""
    data = given.get("data")
    if isinstance(data, list) and len(data) > 2 and data == list(range(len(data))):
        return {**given, "data": len(data)}
    return given


def _by_path(table: Mapping[str, Sequence[int]], width: int) -> list[Json]:
    return [list(table), *(_steps(column) for column in _columns(table.values(), width))]


def _columns(rows: Iterable[Sequence[Json]], width: int) -> list[list[Json]]:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return columns or [[] for _ in range(width)]


def _steps(numbers: Iterable[int]) -> list[int]:
    """From each number to the next, beginning at 0."""
    return [after - before for before, after in pairwise((0, *numbers))]
