"""The loops of a nest as LLVM's text: copies, running sums, and tiles of sums of products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gradwire.runtime.engine.compiler.elements import ElementWriter
from gradwire.runtime.engine.compiler.products import STREAM
from gradwire.runtime.engine.compiler.schedule import LoopAxis
from gradwire.runtime.engine.plan.memory import LINE
from gradwire.runtime.engine.plan.native.writer import Assembly

if TYPE_CHECKING:
    from gradwire.runtime.engine.compiler.schedule import Nest, Order


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


AT_ONCE = 4
"""Steps of a fold from branch to branch."""


class _Line(NamedTuple):
    """Where what is read for each step of the fold lies: an address, the bytes from step to step,
    and bytes from there on.
    """

    place: str
    step: str | int
    away: int = 0


class Tiles(Loops):
    """The loops of a nest that has a tile."""

    def __init__(self, nest: Nest) -> None:
        super().__init__(nest)
        assert nest.tile is not None, "there are products"
        self.tile = nest.tile
        self._steps |= {read.array: dict(read.steps) for read in nest.store.reads}
        self._axes = {name: LoopAxis(name, 0) for name in "vr"}
        k = self.fold.axes[0]
        self._deep = k
        self._terms: tuple[str, str] = "0", str(k.extent or "%extent_k")
        self._some: dict[str, tuple[str, str]] = {"v": ("0", "%tiles_v"), "r": ("0", "%tiles_r")}
        """Of each axis the first tile and the last, of those in the loops so far;"""
        self._now = {"v": "0", "r": "0"}
        """the tile that is computed;"""
        self._laid: dict[str, str] = {}
        """the first tile that is laid anew;"""
        self._board, self._length = self._some, "%extent_k"
        """the tiles whose sums are kept from part to part, and the length of all parts."""

    def text(self) -> str:
        """The function."""
        place = {array: f"%array{array}" for array in self._steps}
        if not self.tile.cut:
            self._outer(0, place)
        elif not self.nest.outer:
            self._some[self.tile.cut] = "%start", "%stop"
            self._ordered(self.tile.order, place)
        else:
            self._several(place)
        return self.w.text()

    def _outer(self, depth: int, place: Place) -> None:
        """Loops over products, of which the first is cut."""
        if depth == len(self.nest.outer):
            self._ordered(self.tile.order, place)
            return
        axis = self.nest.outer[depth]
        bounds = (0, f"%extent_{axis.name}") if depth else ("%start", "%stop")
        with self._loop(*bounds) as (number, _):
            self._outer(depth + 1, self._moved(place, axis, number))

    def _several(self, place: Place) -> None:
        """Of several products, tiles from some of the first product to some of the last."""
        w, cut = self.w, self.tile.cut
        tiles = f"%tiles_{cut}"
        first = w.put(f"udiv i64 %start, {tiles}")
        last = w.put(f"udiv i64 {w.add(w.add('%stop', tiles), -1)}, {tiles}")
        with self._loop(first, last) as (number, _):
            done = w.multiply(number, tiles)
            begin = w.most(w.subtract("%start", done), 0)
            self._some[cut] = begin, w.least(w.subtract("%stop", done), tiles)
            self._ordered(self.tile.order, self._moved(place, self.nest.outer[0], number))

    def _ordered(self, order: Order, place: Place) -> None:
        """The loops in this order."""
        w = self.w
        if not order:
            self._tile(place)
            return
        (kind, axis), *rest = order
        if kind == "lay":
            self._lay(axis, place)
            self._ordered(tuple(rest), place)
            return
        if kind == "part":
            self._board, self._length = dict(self._some), f"%extent_{axis}"
            with w.steps("parts", self._length, "%part") as self._terms:
                self._ordered(tuple(rest), place)
            return
        first, stop = self._some[axis]
        if kind == "each":
            with self._loop(first, stop) as (self._now[axis], _):
                self._ordered(tuple(rest), place)
            return
        with w.steps(f"{kind}.{axis}", w.subtract(stop, first), f"%{kind}_{axis}") as some:
            start = w.add(first, some[0])
            self._some[axis] = start, w.add(start, some[1])
            self._ordered(tuple(rest), place)
        self._some[axis] = first, stop

    # places

    def _step(self, array: int, axis: LoopAxis) -> str | int:
        """The bytes from place to place."""
        if axis not in self._steps[array]:
            return 0
        return self._steps[array][axis] or f"%step{array}_{axis.name}"

    def _firsts(self, axis: str, tile: str) -> list[str]:
        """The first place of a tile of an axis; of narrow tiles, of each vector."""
        w = self.w
        if axis == "v" and self.tile.overlap:
            last = w.add("%extent_v", -w.lanes)
            return [w.least(last, i * w.lanes) for i in range(self.nest.units)]
        if ("each", axis) not in self.tile.order:
            return ["0"]
        width = self._width(axis)
        return [w.least(w.multiply(tile, width), w.add(f"%extent_{axis}", -width))]

    def _width(self, axis: str) -> int:
        """The places of a tile along an axis."""
        if axis == "r":
            return self.tile.rows
        return self.nest.units * (1 if self.nest.is_along else self.w.lanes)

    def _array(self, axis: str) -> int:
        """The operand that lies along an axis."""
        return self.tile.wide if axis == "v" else 2 - self.tile.wide

    def _term(self, place: str, array: int) -> str:
        """The address at the first step of the fold."""
        return self._further(place, array, self._deep, self._terms[0])

    def _single(self, axis: str, place: str) -> list[str]:
        """The addresses of each place of a tile along an axis, at the first step of the fold."""
        array, there = self._array(axis), self._axes[axis]
        start = self._term(place, array)
        firsts = self._firsts(axis, self._now[axis])
        each = self._width(axis) if len(firsts) == 1 else self.w.lanes
        found = [self._further(start, array, there, first) for first in firsts]
        return [self._further(x, array, there, i) for x in found for i in range(each)]

    # laying anew

    def _lay(self, axis: str, place: Place) -> None:
        """Copy the tiles of an axis, in each all that is multiplied in a step side by side."""
        w, array, width = self.w, self._array(axis), self._width(axis) * self.w.bytes
        first, stop = self._some[axis]
        self._laid[axis] = first
        start = self._term(place[array], array)
        across = self._step(array, self._deep)

        def rows(source: str, tile: str) -> list[str]:
            places = self._firsts(axis, tile)
            return [self._further(source, array, self._axes[axis], x) for x in places]

        if self._step(array, self._axes[axis]) == w.bytes:
            with self._loop(0, self._terms[1]) as (k, _):
                source, away = w.add(start, w.multiply(k, across)), w.multiply(k, width)
                with self._loop(first, stop) as (tile, _):
                    target, found = w.add(self._packed(axis, tile), away), rows(source, tile)
                    length = self._width(axis) // len(found)
                    for i, x in enumerate(found):
                        w.copy_row(x, w.add(target, i * length * w.bytes), length)
            return
        with self._loop(first, stop) as (tile, _):
            before, self._now[axis] = self._now[axis], tile
            sources = self._single(axis, place[array])
            self._now[axis] = before
            self._turned(sources, across, self._packed(axis, tile))

    def _turned(self, rows: list[str], step: str | int, target: str) -> None:
        """Copy rows so that what they have for a step lies side by side; by squares, if all of a
        row does. Vectors that reach beyond are overwritten by the next step.
        """
        w, lanes = self.w, self.w.lanes
        count, width = self._terms[1], len(rows) * w.bytes
        whole = w.put(f"udiv i64 {count}, {lanes if step == w.bytes else 1 << 62}")
        for group in reversed(range(0, len(rows), lanes)):
            with self._loop(0, whole) as (number, _):
                k = w.multiply(number, lanes)
                away = w.multiply(k, w.bytes)
                found = [w.load(w.add(x, away)) for x in rows[group : group + lanes]]
                found += ["zeroinitializer"] * (lanes - len(found))
                there = w.add(w.add(target, w.multiply(k, width)), group * w.bytes)
                for i, x in enumerate(w.transposed(found)):
                    w.store(x, w.add(there, i * width))
        with self._loop(w.multiply(whole, lanes), count) as (k, _):
            there, away = w.add(target, w.multiply(k, width)), w.multiply(k, step)
            for i, x in enumerate(rows):
                w.copy(w.add(x, away), w.add(there, i * w.bytes))

    def _packed(self, axis: str, tile: str) -> str:
        """Where a tile is laid."""
        w = self.w
        number = w.subtract(tile, self._laid[axis])
        start = w.add("%scratch", f"%packed_{axis}")
        return w.add(start, w.multiply(number, f"%each_{axis}"))

    # tiles

    def _tile(self, place: Place) -> None:
        """One tile of the result."""
        firsts = self._firsts("v", self._now["v"])
        (row,) = self._firsts("r", self._now["r"])
        places = self._outs(self._further(place[1], 1, self._axes["r"], row), firsts)
        if self.nest.is_along:
            lines, columns = self._single("r", place[2 - self.tile.wide]), self._columns(place)
            sums = self._summed_along(lines, columns)
        else:
            numbers, vectors = self._lines(place), self._vectors_of(place, firsts)
            self._fetch(places, vectors)
            sums = self._summed(numbers, vectors)
        (self._kept if self.nest.in_parts else self._end)(sums, places)

    def _outs(self, start: str, firsts: list[str]) -> list[list[str]]:
        """Where each sum belongs."""
        found = [self._further(start, 1, self._axes["v"], x) for x in firsts]
        step = (1 if self.nest.is_along else self.w.lanes) * self.w.bytes
        return self._rows(self._spread(found, step))

    def _rows(self, places: list[str]) -> list[list[str]]:
        """The same places in each row."""
        r = self._axes["r"]
        return [[self._further(x, 1, r, a) for x in places] for a in range(self.tile.rows)]

    def _columns(self, place: Place) -> list[str]:
        """Where the columns of a tile of vectors along the fold begin."""
        return self._single("v", place[self.tile.wide])

    def _fetch(self, places: list[list[str]], vectors: list[_Line]) -> None:
        """Bring what is written after long sums, or what the next part reads, into a cache."""
        w, high = self.w, self.w.lanes * self.w.bytes
        lines = [u for u in range(self.nest.units) if u * high % LINE == 0]
        if not self.nest.in_parts:
            for x in [row[u] for row in places for u in lines if not self._deep.extent]:
                w.fetch(x, for_writing=True)
        elif ("lay", "v") not in self.tile.order:
            for u in lines:
                for i in range(STREAM, 2 * STREAM):
                    w.fetch(self._at(vectors[u], i), for_writing=False)

    def _spread(self, firsts: Sequence[str], step: int) -> list[str]:
        """As many addresses as there are vectors."""
        if len(firsts) == self.nest.units:
            return list(firsts)
        return [self.w.add(firsts[0], u * step) if u else firsts[0] for u in range(self.nest.units)]

    def _lines(self, place: Place) -> list[_Line]:
        """Where numbers are read."""
        w, array = self.w, self._array("r")
        if ("lay", "r") in self.tile.order:
            start, high = self._packed("r", self._now["r"]), self.tile.rows * w.bytes
            return [_Line(start, high, a * w.bytes) for a in range(self.tile.rows)]
        found, step = self._single("r", place[array]), self._step(array, self._deep)
        if len(found) > 1 and self._step(array, self._axes["r"]) == w.bytes:
            return [_Line(found[0], step, a * w.bytes) for a in range(self.tile.rows)]
        return [_Line(w.kept(x) if len(found) > 1 else x, step) for x in found]

    def _vectors_of(self, place: Place, firsts: list[str]) -> list[_Line]:
        """Where vectors are read."""
        array, high = self.tile.wide, self.w.lanes * self.w.bytes
        if ("lay", "v") in self.tile.order:
            start, width = self._packed("v", self._now["v"]), self.nest.units * high
            return [_Line(start, width, u * high) for u in range(self.nest.units)]
        start = self._term(place[array], array)
        found = [self._further(start, array, self._axes["v"], x) for x in firsts]
        step = self._step(array, self._deep)
        if len(found) == self.nest.units:
            return [_Line(x, step) for x in found]
        return [_Line(found[0], step, u * high) for u in range(self.nest.units)]

    def _summed(self, lines: list[_Line], vectors: list[_Line]) -> list[str]:
        """The sums of a tile, row by row, over the steps of the fold."""
        w, count = self.w, len(lines) * len(vectors)
        zeros = ["zeroinitializer"] * count
        if self._deep.extent:
            found = zeros
            for k in range(self._deep.extent):
                found = self._added(found, lines, vectors, k)
            return found
        rounds = w.put(f"udiv i64 {self._terms[1]}, {AT_ONCE}")
        with self._loop(0, rounds, zeros) as (number, sums):
            first, now = w.multiply(number, AT_ONCE), sums
            for i in range(AT_ONCE - 1):
                now = self._added(now, lines, vectors, w.add(first, i) if i else first)
            last = [f"{x}.next" for x in sums]
            self._added(now, lines, vectors, w.add(first, AT_ONCE - 1), last)
        with self._loop(w.multiply(rounds, AT_ONCE), self._terms[1], sums) as (step, rest):
            self._added(rest, lines, vectors, step, [f"{x}.next" for x in rest])
        return rest

    def _added(
        self,
        sums: list[str],
        lines: list[_Line],
        vectors: list[_Line],
        k: str | int,
        names: list[str] | None = None,
    ) -> list[str]:
        """Sums, with the products of a step added. What there are fewer of is held in registers."""
        w, found = self.w, list(sums)

        def number(line: _Line) -> str:
            return w.spread(self._at(line, k))

        def vector(line: _Line) -> str:
            return w.load(self._at(line, k))

        across = len(lines) >= len(vectors)
        held = [vector(x) for x in vectors] if across else [number(x) for x in lines]
        for i, line in enumerate(lines if across else vectors):
            other = number(line) if across else vector(line)
            for j, x in enumerate(held):
                place = i * len(vectors) + j if across else j * len(vectors) + i
                found[place] = w.fused(*((other, x) if across else (x, other)), sums[place])
                if names is not None:
                    found[place] = w.name(found[place], names[place])
        return found

    def _at(self, line: _Line, k: str | int) -> str:
        w, place = self.w, line.place
        if k != 0 and line.step != 0:
            place = w.add(place, w.multiply(k, line.step))
        return w.add(place, line.away) if line.away else place

    def _end(self, sums: list[str], places: list[list[str]]) -> None:
        """Write what is complete."""
        w = self.w
        for i, x in enumerate(sums):
            place = places[i // self.nest.units][i % self.nest.units]
            if self.nest.is_along:
                w.store_element(w.total(x), place)
            else:
                w.store(x, place)

    def _kept(self, sums: list[str], places: list[list[str]]) -> None:
        """Add the sums of the parts before, and keep these, or write them after the last part."""
        w = self.w
        first, count = self._terms
        number = "0"
        for axis in "vr":
            begin, stop = self._board[axis]
            number = w.multiply(number, w.subtract(stop, begin))
            number = w.add(number, w.subtract(self._now[axis], begin))
        length = w.lanes * w.bytes
        board = w.add("%scratch", w.multiply(number, len(sums) * length))
        kept = [w.add(board, i * length) for i in range(len(sums))]
        with self._loop(0, w.least(first, 1), sums) as (_, names):
            for name, x in zip(names, kept, strict=True):
                w.name(w.plus(w.load(x), name), f"{name}.next")
        more = w.least(w.subtract(self._length, w.add(first, count)), 1)
        with self._loop(more, 1):
            self._end(names, places)
        with self._loop(0, more):
            for name, x in zip(names, kept, strict=True):
                w.store(name, x)

    # vectors along the fold

    def _summed_along(self, lines: list[str], columns: list[str]) -> list[str]:
        """Vectors of sums, whose elements are added last: of whole vectors, and then of the last
        one, which overlaps the one before it.
        """
        lines, columns = ([self.w.kept(x) for x in some] for some in (lines, columns))
        zeros = ["zeroinitializer"] * (len(lines) * len(columns))
        mask = self.w.lanes_from("%skipped")
        with self._loop(0, "%whole", zeros) as (number, sums):
            self._add_along(lines, columns, number, sums, None)
        with self._loop("%whole", "%all", sums) as (number, rest):
            self._add_along(lines, columns, number, rest, mask)
        return rest

    def _add_along(
        self, lines: list[str], columns: list[str], number: str, sums: list[str], mask: str | None
    ) -> None:
        """Add the products of a vector of each line and each column."""
        w, (along, across) = self.w, self._offsets(number)

        def vector(x: str, away: str) -> str:
            found = w.load(w.add(x, away))
            return found if mask is None else w.masked(mask, found)

        held = [vector(x, along) for x in columns]
        for a, line in enumerate(lines):
            x = vector(line, across)
            for c, y in enumerate(held):
                name = sums[a * len(columns) + c]
                w.name(w.fused(x, y, name), f"{name}.next")

    def _offsets(self, number: str) -> tuple[str, str]:
        """Where a vector of this number is in columns, and in lines."""
        w = self.w
        first = w.least(w.multiply(number, w.lanes), w.add("%extent_k", -w.lanes))
        return (w.multiply(first, w.bytes),) * 2


class _Tables(Tiles):
    """Sums of products of which tables say where the terms of array 2 are."""

    def _entry(self, table: str, number: str | int, side: int = 0, sides: int = 1) -> str:
        number = self.w.add(self.w.multiply(number, sides), side)
        return self.w.entry(f"%table_{table}", number)

    def _at(self, line: _Line, k: str | int) -> str:
        if line.step == "%table_k":
            return self.w.add(line.place, self._entry("k", self.w.add(self._terms[0], k)))
        return super()._at(line, k)


class GatheredTiles(_Tables):
    """Those of which tables also say where its rows are."""

    def _lines(self, place: Place) -> list[_Line]:
        w, (first,) = self.w, self._firsts("r", self._now["r"])
        rows = [self._entry("v", w.add(first, a)) for a in range(self.tile.rows)]
        return [_Line(w.kept(w.add(place[2], x)), "%table_k") for x in rows]


class WindowTiles(_Tables):
    """Sums over windows: taps of them, and vectors of places, are where tables have them."""

    def __init__(self, nest: Nest) -> None:
        super().__init__(nest)
        if nest.is_along:
            self._terms = "0", "%extent_n"

    def _term(self, place: str, array: int) -> str:
        """Terms are at places of their own."""
        return place

    def _place(self, u: int, side: int) -> str:
        """Where a vector of the tile is: in array 2, or in the result."""
        w = self.w
        number = w.add(w.multiply(self._now["v"], self.nest.units), u)
        return self._entry("v", number, side, 2)

    def _outs(self, start: str, firsts: list[str]) -> list[list[str]]:
        if self.nest.is_along:
            return super()._outs(start, firsts)
        return self._rows([self.w.add(start, self._place(u, 1)) for u in range(self.nest.units)])

    def _vectors_of(self, place: Place, firsts: list[str]) -> list[_Line]:
        return [
            _Line(self.w.add(place[2], self._place(u, 0)), "%table_k")
            for u in range(self.nest.units)
        ]

    def _fetch(self, places: list[list[str]], vectors: list[_Line]) -> None:
        """Neighbours have brought it."""

    def _columns(self, place: Place) -> list[str]:
        w, (first,) = self.w, self._firsts("v", self._now["v"])
        taps = [self._entry("v", w.add(first, c)) for c in range(self.nest.units)]
        return [w.add(place[2], x) for x in taps]

    def _summed_along(self, lines: list[str], columns: list[str]) -> list[str]:
        """Of some images, all places."""
        w, (start, count) = self.w, self._terms
        n = LoopAxis("n", 0)
        zeros = ["zeroinitializer"] * (len(lines) * len(columns))
        names = [f"%image{i}" for i in range(len(zeros))]
        last = dict(zip(names, [f"{x}.last" for x in names], strict=True))
        first = dict(zip(names, zeros, strict=True))
        with w.loop("images", start, w.add(start, count), first, last) as image:
            here = [self._further(x, 0, n, image) for x in lines]
            there = [self._further(x, 2, n, image) for x in columns]
            with self._loop(0, "%whole", names) as (number, sums):
                self._add_along(here, there, number, sums, None)
            ends = {last[x]: y for x, y in zip(names, sums, strict=True)}
            with w.loop("cut", "%whole", "%all", ends) as number:
                mask = w.lanes_from("%skipped")
                self._add_along(here, there, number, list(ends), mask)
        return names

    def _offsets(self, number: str) -> tuple[str, str]:
        return self._entry("k", number, 0, 2), self._entry("k", number, 1, 2)
