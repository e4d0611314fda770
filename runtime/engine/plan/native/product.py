"""Matrix products as loops of machine code.

A tile of the result is held in registers, while it goes along rows of the left operand and across
columns of the right one. They are read where they lie, or else packed by blocks, so that what a
tile reads lies side by side. Nothing beyond the operands is read: vectors at edges are masked.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from runtime.engine.plan.native import machine
from runtime.engine.plan.native.assembly import Assembly
from runtime.engine.plan.native.loops import Kernel

PRODUCT = (
    "matrices", "left_row", "left_next", "right_column", "right_next", "out_step", "rows",
    "columns", "depth", "chunk", "block", "tiles", "full", "panels",
)  # fmt: skip
"""The frame of ``product``: an address, bytes and counts, all int64."""

VECTORS = 2
"""Vectors in a row of a tile."""


class Form(NamedTuple):
    """How a product is computed: in tiles of ``rows`` by ``VECTORS`` vectors of ``lanes`` elements.

    Some tiles have a row less. Of a deep operand, elements along the sum lie side by side; of
    others, those across it. A deep right operand is packed. Of a turned result, the elements of a
    column lie side by side; of others, those of a row. With ``ends_narrow`` the last columns fit
    into one vector; with ``in_chunks`` the terms are not all added at once.
    """

    dtype: str
    lanes: int
    rows: int
    left_is_deep: bool
    left_is_packed: bool
    right_is_deep: bool
    right_is_packed: bool
    is_turned: bool
    ends_narrow: bool
    in_chunks: bool

    @property
    def columns(self) -> int:
        """Columns of a tile."""
        return VECTORS * self.lanes

    @property
    def board(self) -> int:
        """Elements of a tile, in whole vectors of rows."""
        return self.packed_rows * self.columns

    @property
    def packed_rows(self) -> int:
        """Rows of a packed panel: whole vectors."""
        return -(-self.rows // self.lanes) * self.lanes


@lru_cache(maxsize=64)
def product(form: Form) -> Kernel:
    """``out[i, j] = Σ left[i, k] · right[k, j]``, each sum by chunks of so many terms in order.

    ``call(frame, scratch, start, stop)`` computes the units from start to stop, of which each is
    one of the ``panels`` of columns of one of the products. ``matrices`` has three addresses for
    each product: left, right and out. Of the ``tiles``, so many are ``full``, the first ones;
    ``block`` of them are computed at once, of ``chunk`` terms. See ``scratch_bytes``.
    """
    w = Assembly("product", form.dtype, form.lanes, PRODUCT)
    first = w.put("udiv i64 %start, %panels")
    last = w.put(f"udiv i64 {w.add(w.add('%stop', '%panels'), -1)}, %panels")
    with w.loop("n", first, last) as n:
        matrices = [w.entry("%matrices", w.add(w.multiply(n, 3), x)) for x in range(3)]
        units = w.multiply(n, "%panels")
        begin = w.most(w.subtract("%start", units), 0)
        end = w.least(w.subtract("%stop", units), "%panels")
        with w.steps("first", "%tiles", "%block") as tiles:
            with w.steps("term", "%depth", "%chunk") as terms:
                _Block(w, form, matrices, tiles, terms).write(begin, end)
    return Kernel(*machine.function(w.text(), "product", is_vector=True))


def scratch_bytes(form: Form, chunk: int, block: int) -> int:
    """Bytes of memory that a call needs for itself."""
    right = (chunk + form.lanes) * form.columns if form.right_is_packed else 0
    left = (block * (chunk + 1) + form.lanes) * form.packed_rows if form.left_is_packed else 0
    board = form.board if form.is_turned else 0
    return (board + right + left) * int(form.dtype[5:]) // 8


class _Block:
    """Writes the product of some tiles and all columns, over some of the terms.

    ``matrices`` are addresses: left, right and out; ``tiles`` and ``terms`` are start and count.
    """

    def __init__(
        self,
        w: Assembly,
        form: Form,
        matrices: list[str],
        tiles: tuple[str, str],
        terms: tuple[str, str],
    ) -> None:
        self._w, self._form = w, form
        left, right, self._out = matrices
        self._first, self._end = tiles[0], w.add(*tiles)
        self._term, self._count = terms
        self._left = w.add(left, w.multiply(self._term, "%left_next"))
        self._right = w.add(right, w.multiply(self._term, "%right_next"))
        board = form.board if form.is_turned else 0
        self._packed_right = self._packed_left = w.add("%scratch", board * w.bytes)
        if form.right_is_packed:
            panel = w.multiply(w.add(self._count, form.lanes), form.columns * w.bytes)
            self._packed_left = w.add(self._packed_right, panel)

    def write(self, begin: str, end: str) -> None:
        """The whole block, for the panels of columns from begin to end."""
        w, form = self._w, self._form
        if form.left_is_packed:
            self._pack_left()
        with w.loop("j", begin, end) as j:
            self._column = w.multiply(j, form.columns)
            self._left_over = w.subtract("%columns", self._column)
            self._masks = w.lanes_before(self._left_over, VECTORS)
            self._panel = w.add(self._right, w.multiply(self._column, "%right_column"))
            if form.right_is_packed:
                self._pack_right()
            wide: str | int = 1
            if form.ends_narrow:
                wide = w.most(w.least(w.add(self._left_over, -form.lanes), 1), 0)
            if form.is_turned:
                self._turned_tiles(wide)
                return
            for rows, start, stop in self._parts():
                length = w.subtract(stop, start)
                self._tiles(rows, VECTORS, start, w.multiply(length, wide))
                if form.ends_narrow:
                    self._tiles(rows, 1, start, w.multiply(length, w.subtract(1, wide)))

    def _parts(self) -> list[tuple[int, str, str]]:
        """Rows of a tile, with the first tile that has so many, and the end of these."""
        w, rows = self._w, self._form.rows
        border = w.most(w.least("%full", self._end), self._first)
        parts = [(rows, self._first, border), (rows - 1, border, self._end)]
        return parts[: min(rows, 2)]

    def _row(self, tile: str) -> str:
        """The first row of a tile."""
        w = self._w
        less = w.most(w.subtract(tile, "%full"), 0)
        return w.subtract(w.multiply(tile, self._form.rows), less)

    def _packed(self, tile: str) -> str:
        """Where a tile's rows are packed."""
        w, high = self._w, self._form.packed_rows * self._w.bytes
        each = w.multiply(w.add(self._count, 1), high)  # not a power of two: see the caches' sets
        return w.add(self._packed_left, w.multiply(w.subtract(tile, self._first), each))

    def _pack_left(self) -> None:
        w, form = self._w, self._form
        if form.left_is_deep:
            with w.loop("packed", self._first, self._end) as i:
                row = self._row(i)
                source = w.add(self._left, w.multiply(row, "%left_row"))
                last = w.add(w.subtract("%rows", row), -1)
                self._pack("left", source, "%left_row", last, self._packed(i), form.rows)
            return
        with w.loop("k", 0, self._count) as k:
            source = w.add(self._left, w.multiply(k, "%left_next"))
            with w.loop("packed", self._first, self._end) as i:
                row = self._row(i)
                masks = w.lanes_before(w.subtract("%rows", row), form.packed_rows // w.lanes)
                place = w.add(source, w.multiply(row, w.bytes))
                target = w.add(self._packed(i), w.multiply(k, form.packed_rows * w.bytes))
                for v, mask in enumerate(masks):
                    away = v * w.lanes * w.bytes
                    w.store(w.load_where(mask, w.add(place, away)), w.add(target, away))

    def _pack_right(self) -> None:
        w, form = self._w, self._form
        if form.right_is_deep:
            last = w.add(self._left_over, -1)
            self._pack(
                "right", self._panel, "%right_column", last, self._packed_right, form.columns
            )
            return
        with w.loop("right.k", 0, self._count) as k:
            source = w.add(self._panel, w.multiply(k, "%right_next"))
            target = w.add(self._packed_right, w.multiply(k, form.columns * w.bytes))
            for v, mask in enumerate(self._masks):
                away = v * w.lanes * w.bytes
                w.store(w.load_where(mask, w.add(source, away)), w.add(target, away))

    def _pack(self, name: str, source: str, step: str, last: str, target: str, rows: int) -> None:
        """Copy rows so that, for each term, their elements lie side by side, in whole vectors.

        The last row stands also for those that are not there. Up to a vector of terms more is
        written.
        """
        w, vectors = self._w, -(-rows // self._w.lanes)
        rounds = w.put(f"udiv i64 {w.add(self._count, w.lanes - 1)}, {w.lanes}")
        with w.loop(f"{name}.vector", 0, vectors) as v:
            first = w.multiply(v, w.lanes)
            places = [
                w.add(source, w.multiply(w.least(w.add(first, a), last), step))
                for a in range(min(rows, w.lanes))
            ]
            with w.loop(f"{name}.k", 0, rounds) as some:
                k = w.multiply(some, w.lanes)
                (mask,) = w.lanes_before(w.subtract(self._count, k), 1)
                away = w.multiply(k, w.bytes)
                found = [w.load_where(mask, w.add(x, away)) for x in places]
                found += ["zeroinitializer"] * (w.lanes - len(found))
                term = w.multiply(w.add(w.multiply(k, vectors), v), w.lanes * w.bytes)
                place = w.add(target, term)
                for a, vector in enumerate(w.transposed(found)):
                    w.store(vector, w.add(place, a * vectors * w.lanes * w.bytes))

    def _tiles(self, rows: int, vectors: int, start: str, length: str) -> None:
        """Tiles one after another, of so many rows and vectors."""
        w = self._w
        name = f"t{rows}_{vectors}"
        sums = [[f"%{name}_{a}_{v}" for v in range(vectors)] for a in range(rows)]
        with w.loop(name, start, w.add(start, length)) as i:
            firsts = {x: "zeroinitializer" for row in sums for x in row}
            places = self._places(i, rows, vectors)
            for row in places:
                for place in row:
                    w.fetch(place, for_writing=True)
            if self._form.in_chunks:
                firsts = self._before(name, sums, places)
            self._sum(name, sums, i, firsts)
            for a in range(rows):
                for v in range(vectors):
                    w.store_where(self._masks[v], sums[a][v], places[a][v])

    def _turned_tiles(self, wide: str | int) -> None:
        """Tiles one after another; each is left on a board first, and read from it turned."""
        w, form = self._w, self._form
        with w.loop("tile", self._first, self._end) as i:
            is_full = w.most(w.least(w.subtract("%full", i), 1), 0)
            for rows in range(form.rows, max(form.rows - 2, 0), -1):
                is_so = is_full if rows == form.rows else w.subtract(1, is_full)
                self._leave(rows, VECTORS, i, w.multiply(is_so, wide))
                if form.ends_narrow:
                    self._leave(rows, 1, i, w.multiply(is_so, w.subtract(1, wide)))
            self._write_turned(i, w.add(is_full, form.rows - 1))

    def _leave(self, rows: int, vectors: int, tile: str, times: str) -> None:
        """Leave the sums of a tile on the board, if at all."""
        w = self._w
        name = f"t{rows}_{vectors}"
        sums = [[f"%{name}_{a}_{v}" for v in range(vectors)] for a in range(rows)]
        with w.loop(name, 0, times):
            self._sum(name, sums, tile, {x: "zeroinitializer" for row in sums for x in row})
            for a, row in enumerate(sums):
                for v, x in enumerate(row):
                    w.store(x, w.add("%scratch", (a * VECTORS + v) * w.lanes * w.bytes))

    def _write_turned(self, tile: str, rows: str) -> None:
        w, form = self._w, self._form
        away = w.add(w.multiply(self._column, "%out_step"), w.multiply(self._row(tile), w.bytes))
        place = w.add(self._out, away)
        with w.loop("turned", 0, VECTORS) as v:
            first = w.multiply(v, w.lanes)
            left_over = w.subtract(self._left_over, first)
            board = w.add("%scratch", w.multiply(first, w.bytes))
            for start in range(0, form.packed_rows, w.lanes):
                (mask,) = w.lanes_before(w.add(rows, -start), 1)
                found = [
                    w.load(w.add(board, (start + a) * form.columns * w.bytes))
                    for a in range(w.lanes)
                ]
                for lane, vector in enumerate(w.transposed(found)):
                    column = w.multiply(w.add(first, lane), "%out_step")
                    target = w.add(w.add(place, column), start * w.bytes)
                    there = w.if_more(mask, left_over, lane)
                    if form.in_chunks:
                        before = w.load_where(w.if_more(there, self._term, 0), target)
                        vector = w.plus(before, vector)
                    w.store_where(there, vector, target)

    def _before(self, name: str, sums: list[list[str]], places: list[list[str]]) -> dict[str, str]:
        """The sums of the chunks before."""
        w = self._w
        firsts = {f"{x}.first": "zeroinitializer" for row in sums for x in row}
        with w.loop(f"{name}.before", 0, w.least(self._term, 1), firsts):
            for row, there in zip(sums, places, strict=True):
                for x, mask, place in zip(row, self._masks, there, strict=False):
                    w.name(w.load_where(mask, place), f"{x}.first.next")
        return {x: f"{x}.first" for row in sums for x in row}

    def _places(self, tile: str, rows: int, vectors: int) -> list[list[str]]:
        w = self._w
        away = w.add(w.multiply(self._row(tile), "%out_step"), w.multiply(self._column, w.bytes))
        place = w.add(self._out, away)
        found = []
        for a in range(rows):
            row = w.add(place, w.multiply("%out_step", a))
            found.append([w.add(row, v * w.lanes * w.bytes) for v in range(vectors)])
        return found

    def _sum(self, name: str, sums: list[list[str]], tile: str, firsts: dict[str, str]) -> None:
        """Add a panel of each operand to the sums of a tile."""
        w = self._w
        if self._form.left_is_packed:
            left = self._packed(tile)
        else:
            left = w.add(self._left, w.multiply(self._row(tile), "%left_row"))
        ahead, stride = self._ahead(tile)
        with w.loop(f"{name}.k", 0, self._count, firsts) as k:
            if not self._form.right_is_deep:
                w.fetch(w.add(ahead, w.multiply(k, stride)), for_writing=False)
            found = [self._vector(k, v) for v in range(len(sums[0]))]
            for a, row in enumerate(sums):
                number = w.spread(*self._number(left, k, a))
                for x, vector in zip(row, found, strict=True):
                    w.name(w.fused(number, vector, x), f"{x}.next")

    def _vector(self, k: str, number: int) -> str:
        """A vector of the right operand."""
        w, away = self._w, number * self._w.lanes * self._w.bytes
        if self._form.right_is_packed:
            row = w.add(self._packed_right, w.multiply(k, self._form.columns * w.bytes))
            return w.load(w.add(row, away))
        row = w.add(self._panel, w.multiply(k, "%right_next"))
        return w.load_where(self._masks[number], w.add(row, away))

    def _ahead(self, tile: str) -> tuple[str, str]:
        """Where a vector of the next panel begins, and the bytes to the next term's.

        The first tiles of a panel fetch one vector of each term; others fetch no more.
        """
        w, number = self._w, self._w.subtract(tile, self._first)
        is_early = w.most(w.least(w.subtract(VECTORS, number), 1), 0)
        away = w.multiply(w.multiply(number, w.lanes * w.bytes), is_early)
        ahead = w.add(self._panel, w.add(away, self._form.columns * w.bytes))
        return ahead, w.multiply("%right_next", is_early)

    def _number(self, left: str, k: str, a: int) -> tuple[str, int]:
        """Where the element of a row and term lies: an address, and an index from there on."""
        w, form = self._w, self._form
        if form.left_is_packed:
            return w.add(left, w.multiply(k, form.packed_rows * w.bytes)), a
        if not form.left_is_deep:
            return w.add(left, w.multiply(k, "%left_next")), a
        some = w.add(left, w.multiply("%left_row", a - a % 3))
        some = w.add(some, w.multiply(k, w.bytes))
        return w.add(some, w.multiply("%left_row", a % 3)), 0
