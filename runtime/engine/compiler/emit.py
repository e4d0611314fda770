"""Writes the loops of a nest as LLVM's text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from gradwire.runtime.engine.compiler.elements import ElementWriter
from gradwire.runtime.engine.plan.native.assembly import Assembly

if TYPE_CHECKING:
    from gradwire.runtime.engine.compiler.schedule import Nest
    from gradwire.runtime.engine.compiler.terms import LoopAxis

Place: TypeAlias = "dict[int, str]"
"""Of each array, the address of an element."""


class Loops:
    """Writes loops, and the places that arrays have in them."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.w = Assembly("nest", nest.store.dtype, nest.lanes, nest.frame)
        self.fold = nest.store.term
        self._steps = {1: dict(nest.store.steps), 0: dict(self.fold.of.steps)}
        self._loops = 0

    @contextmanager
    def _loop(
        self, start: str | int, stop: str | int, carried: Sequence[str] = ()
    ) -> Iterator[tuple[str, list[str]]]:
        """A loop over int64 that carries vectors with these first values: its number, and theirs,
        whose next ones are named ``x.next``. After the loop they have the last ones.
        """
        name = f"loop{self._loops}"
        self._loops += 1
        names = {f"%{name}.x{i}": first for i, first in enumerate(carried)}
        with self.w.loop(name, start, stop, names) as number:
            yield number, list(names)

    def _moved(self, place: Place, axis: LoopAxis, count: str | int) -> Place:
        """The place so many steps further along an axis."""
        return {
            array: self._further(address, array, axis, count) for array, address in place.items()
        }

    def _further(self, address: str, array: int, axis: LoopAxis, count: str | int) -> str:
        if axis not in self._steps[array] or count == 0:
            return address
        step = self._steps[array][axis] or f"%step{array}_{axis.name}"
        if isinstance(count, int):
            count, step = str(step), count
        return self.w.add(address, self.w.multiply(count, step))


class Emitter(Loops):
    """The loops of a copy, or of running sums."""

    def text(self) -> str:
        """A module with the function ``nest``: ``(frame, scratch, start, stop)`` computes the turns
        of the outermost loop from start to stop.
        """
        self._outer(0, {0: "%array0", 1: "%array1"})
        return self.w.text()

    def _outer(self, depth: int, place: Place) -> None:
        """Loops over single places of the result and over vectors, of which the first is cut."""
        counts = [f"%extent_{axis.name}" for axis in self.nest.outer]
        counts += ["%turns"] if "turns" in self.nest.frame else []
        if depth == len(counts):
            self._body([place])
            return
        bounds = ("%start", "%stop") if depth == 0 else (0, counts[depth])
        with self._loop(*bounds) as (number, _):
            if self.nest.joined and depth == 0:
                first = self.w.put(f"udiv i64 {number}, {counts[1]}")
                number = self.w.subtract(number, self.w.multiply(first, counts[1]))
                place, depth = self._moved(place, self.nest.outer[0], first), 1
            if depth < len(self.nest.outer):
                self._outer(depth + 1, self._moved(place, self.nest.outer[depth], number))
            else:
                self._vectors(place, number)

    def _vectors(self, place: Place, turn: str) -> None:
        """A turn of vectors along their axis."""
        axis, lanes, units = self.nest.vector, self.nest.lanes, self.nest.units
        assert axis is not None, "there are turns"
        last = self.w.subtract(f"%extent_{axis.name}", lanes)
        first = self.w.multiply(turn, lanes * units)
        firsts = [self.w.least(self.w.add(first, i * lanes), last) for i in range(units)]
        places = [self._moved(place, axis, x) for x in firsts]
        if self.nest.turned is None:
            self._body(places)
        elif self.fold.runs:
            self._turned_sums(places[0], axis)
        else:
            self._turned_copy(places[0], axis, self.nest.turned)

    def _body(self, places: list[Place]) -> None:
        """What is computed for some vectors of the result, or for one element."""
        if self.fold.runs:
            self._running_sums(places, self.fold.axes[0])
            return
        found = [self._read(place[0]) for place in places]
        for place, x in zip(places, found, strict=True):
            self.w.store(x, place[1])

    def _read(self, address: str) -> str:
        """A vector, of the dtype that is written."""
        dtype = self.fold.of.dtype
        if dtype != self.nest.store.dtype:
            return self.w.load_converted(address, dtype)
        return self.w.load(address)

    # running sums

    def _running_sums(self, places: list[Place], axis: LoopAxis) -> None:
        nothing = [self.w.constant(-0.0)] * len(places)
        with self._loop(0, f"%extent_{axis.name}", nothing) as (number, sums):
            for place, sum_ in zip(places, sums, strict=True):
                here = self._moved(place, axis, number)
                x = self.w.name(self.w.plus(sum_, self._read(here[0])), f"{sum_}.next")
                self.w.store(x, here[1])

    def _turned_sums(self, place: Place, vector: LoopAxis) -> None:
        """Running sums of as many rows as a vector has elements, in squares."""
        w, lanes, axis = self.w, self.nest.lanes, self.fold.axes[0]
        rows = [self._moved(place, vector, i) for i in range(lanes)]
        extent = f"%extent_{axis.name}"
        whole = w.put(f"udiv i64 {extent}, {lanes}")
        vectors = w.put(f"udiv i64 {w.add(extent, lanes - 1)}, {lanes}")
        with self._loop(0, whole, [w.constant(-0.0)]) as (number, sums):
            self._square(rows, w.multiply(number, lanes), sums[0])
        with self._loop(whole, vectors, sums) as (number, sums):
            first = w.multiply(number, lanes)
            self._square(rows, first, sums[0], w.subtract(extent, first))

    def _square(self, rows: list[Place], first: str, total: str, left: str | None = None) -> None:
        """As many elements of each row as a vector has; with ``left``, so many of them."""
        w, axis, e, dtype = self.w, self.fold.axes[0], ElementWriter(self.w), self.nest.store.dtype
        backwards = self._steps[0][axis] < 0
        away = w.multiply(first, w.bytes)
        back = w.subtract(-(w.lanes - 1) * w.bytes, away) if backwards else away
        read = mask = None if left is None else w.lanes_before(left)
        if left is not None and backwards:
            read = w.lanes_from(w.subtract(w.lanes, left))
        columns = w.transposed([e.load(dtype, w.add(row[0], back), some=read) for row in rows])
        sums: list[str] = []
        for column in reversed(columns) if backwards else columns:
            sums.append(w.plus(sums[-1] if sums else total, column))
        sums[-1] = w.name(sums[-1], f"{total}.next")
        for vector, row in zip(w.transposed(sums), rows, strict=True):
            e.store(dtype, vector, w.add(row[1], away), mask)

    # copies

    def _turned_copy(self, place: Place, read: LoopAxis, written: LoopAxis) -> None:
        """Squares of vectors that are read along one axis and written along another."""
        w, lanes = self.w, self.nest.lanes
        extent = f"%extent_{written.name}"
        last = w.subtract(extent, lanes)
        squares = w.put(f"udiv i64 {w.add(extent, lanes - 1)}, {lanes}")
        with self._loop(0, squares) as (number, _):
            here = self._moved(place, written, w.least(w.multiply(number, lanes), last))
            rows = [self._read(self._further(here[0], 0, written, i)) for i in range(lanes)]
            for i, x in enumerate(w.transposed(rows)):
                w.store(x, self._further(here[1], 1, read, i))
