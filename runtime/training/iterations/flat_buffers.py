"""Memory in which variables lie side by side, so that one call updates all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.calculus.dtypes import NUMPY

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.program import Program


class VariableSpec(NamedTuple):
    """A variable's path, dtype and shape."""

    path: str
    dtype: np.dtype[np.generic]
    shape: Shape


def variable_specs(program: Program) -> dict[str, VariableSpec]:
    """The specs of all variables, by path."""
    leaves = {
        path: program.leaves[path].value
        for path in program.sources("variable")
        if path in program.leaves
    }
    return {path: VariableSpec(path, NUMPY[v.dtype], v.shape) for path, v in leaves.items()}


@by_identity
class _Place(NamedTuple):
    block: Array
    start: int
    stop: int


class FlatBuffer:
    """Arrays by path, in a few one-dimensional blocks."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.blocks: list[Array] = []
        """Everything, in one dimension."""
        self._places: dict[str, _Place] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._places

    def add(self, specs: Iterable[VariableSpec]) -> None:
        """Zeros for the variables that have no place yet; those of one dtype in one block."""
        alike: dict[np.dtype[np.generic], list[VariableSpec]] = {}
        for spec in in_order(specs):
            if spec.path not in self._places:
                alike.setdefault(spec.dtype, []).append(spec)
        for dtype, members in alike.items():
            block = np.zeros(sum(prod(spec.shape) for spec in members), dtype)
            self.blocks.append(block)
            start = 0
            for spec in members:
                stop = start + prod(spec.shape)
                self._places[spec.path] = _Place(block, start, stop)
                self.arrays[spec.path] = block[start:stop].reshape(spec.shape)
                start = stop

    def place(self, path: str) -> _Place:
        """Where a variable lies."""
        return self._places[path]


@by_identity
class FlatSlice(NamedTuple):
    """Variables that lie side by side in several arenas, in the same order."""

    paths: tuple[str, ...]
    flat: tuple[Array, ...]
    """Their elements in one dimension, for each arena."""
    cuts: tuple[int, ...]
    """Where each begins, and where the last ends."""

    def parts(self, array: Array) -> dict[str, Array]:
        """The parts of an array of the same length, by variable."""
        pairs = zip(self.paths, self.cuts, self.cuts[1:], strict=False)
        return {path: array[start:stop] for path, start, stop in pairs}


def in_order(specs: Iterable[VariableSpec]) -> list[VariableSpec]:
    """Variables of one dtype and shape one after another, so that plans can stack them."""
    alike: dict[tuple[np.dtype[np.generic], Shape], list[VariableSpec]] = {}
    for spec in specs:
        alike.setdefault((spec.dtype, spec.shape), []).append(spec)
    return [spec for members in alike.values() for spec in members]


def flat_slices(*sides: tuple[FlatBuffer, Sequence[str]]) -> list[FlatSlice]:
    """The fewest flat_slices that cover lists of variables, of one length: one list for each arena.

    Named by the first list.
    """
    found: list[FlatSlice] = []
    rows = [
        (names[0], [arena.place(name) for (arena, _), name in zip(sides, names, strict=True)])
        for names in zip(*(paths for _, paths in sides), strict=True)
    ]
    begun: list[tuple[str, list[_Place]]] = []
    for path, places in rows:
        if begun and not all(
            old.block is new.block and old.stop == new.start
            for old, new in zip(begun[-1][1], places, strict=True)
        ):
            found.append(_joined(begun))
            begun = []
        begun.append((path, places))
    if begun:
        found.append(_joined(begun))
    return found


def _joined(rows: Sequence[tuple[str, list[_Place]]]) -> FlatSlice:
    first, last = rows[0][1], rows[-1][1]
    cuts = [places[0].start - first[0].start for _, places in rows]
    return FlatSlice(
        tuple(path for path, _ in rows),
        tuple(a.block[a.start : b.stop] for a, b in zip(first, last, strict=True)),
        (*cuts, last[0].stop - first[0].start),
    )
