"""Matrix products as loops of machine code.

A tile of the result is held in registers, while it goes along rows of the left operand and across
columns of the right one. They are read where they lie, or else packed by blocks, so that what a
tile reads lies side by side. What comes next is fetched into a cache while a tile is computed, as
it lies too far apart for the processor to see it coming. Nothing beyond the operands is read:
vectors at edges are masked.
"""

from __future__ import annotations

from functools import lru_cache

from runtime.engine.plan.native import machine
from runtime.engine.plan.native.assembly import Assembly
from runtime.engine.plan.native.loops import Kernel
from runtime.engine.plan.native.products.form import PRODUCT, VECTORS, Form
from runtime.engine.plan.native.products.packing import DeepRows, copy_vectors, lay_across


@lru_cache(maxsize=64)
def product(form: Form) -> Kernel:
    """``out[i, j] = Σ left[i, k] · right[k, j]``, each sum by chunks of so many terms in order.

    ``call(frame, scratch, start, stop)`` computes the units from start to stop, of which each is
    one of the ``panels`` of columns of one of the products. ``matrices`` has three addresses for
    each product: left, right and out. Of the ``tiles``, so many are ``full``, the first ones;
    ``block`` of them are computed at once, of ``chunk`` terms. ``bias`` is the address of a row,
    where the form has one. See ``scratch_bytes``.
    """
    w = Assembly("product", form.dtype, form.lanes, PRODUCT)
    first = w.put("udiv i64 %start, %panels")
    last = w.put(f"udiv i64 {w.add(w.add('%stop', '%panels'), -1)}, %panels")
    with w.loop("n", first, last) as n:
        units = w.multiply(n, "%panels")
        begin = w.most(w.subtract("%start", units), 0)
        end = w.least(w.subtract("%stop", units), "%panels")
        following = w.least(w.add(n, 1), w.add(last, -1))
        is_followed = w.subtract(following, n)
        now, then = (
            [w.entry("%matrices", w.add(w.multiply(number, 3), x)) for x in range(3)]
            for number in (n, following)
        )
        with w.steps("first", "%tiles", "%block") as tiles:
            with w.steps("term", "%depth", "%chunk") as terms:
                block = _Block(w, form, now, tiles, terms)
                block.follow(then, is_followed)
                block.write(begin, end)
    return Kernel(*machine.function(w.text(), "product", is_vector=True))


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
        self._is_last = w.subtract(
            1, w.least(w.subtract("%depth", w.add(self._term, self._count)), 1)
        )
        self._groups = w.put(f"udiv i64 {w.add(self._count, w.lanes - 1)}, {w.lanes}")
        self._left = w.add(left, w.multiply(self._term, "%left_next"))
        self._right = w.add(right, w.multiply(self._term, "%right_next"))
        board = form.board if form.is_turned else 0
        self._packed_right = self._packed_left = w.add("%scratch", board * w.bytes)
        if form.right_is_packed:
            panel = w.multiply(w.add(self._count, form.lanes), form.columns * w.bytes)
            self._packed_left = w.add(self._packed_right, panel)

    def follow(self, matrices: list[str], is_followed: str) -> None:
        """Where another product follows, of these matrices, its operands are fetched with the last
        panel of this one, if the block is all of it.
        """
        w = self._w
        other_terms, other_tiles = (
            w.subtract("%depth", self._count),
            w.subtract("%tiles", w.subtract(self._end, self._first)),
        )
        is_part = w.least(w.add(other_terms, other_tiles), 1)
        self._then = matrices
        self._is_followed = w.multiply(is_followed, w.subtract(1, is_part))

    def write(self, begin: str, end: str) -> None:
        """The whole block, for the panels of columns from begin to end."""
        w, form = self._w, self._form
        if form.left_is_packed:
            self._pack_left()
        with w.loop("j", begin, end) as j:
            is_last = w.subtract(1, w.least(w.subtract(w.add(end, -1), j), 1))
            self._is_first = w.subtract(1, w.least(w.subtract(j, begin), 1))
            self._is_left = w.multiply(is_last, self._is_followed)
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
                rows = DeepRows(source, "%left_row", last, form.rows)
                lay_across(w, "left", rows, self._count, self._packed(i))
            return
        with w.loop("k", 0, self._count) as k:
            source = w.add(self._left, w.multiply(k, "%left_next"))
            with w.loop("packed", self._first, self._end) as i:
                row = self._row(i)
                masks = w.lanes_before(w.subtract("%rows", row), form.packed_rows // w.lanes)
                place = w.add(source, w.multiply(row, w.bytes))
                target = w.add(self._packed(i), w.multiply(k, form.packed_rows * w.bytes))
                copy_vectors(w, place, target, masks)

    def _pack_right(self) -> None:
        w, form = self._w, self._form
        if form.right_is_deep:
            last = w.add(self._left_over, -1)
            rows = DeepRows(self._panel, "%right_column", last, form.columns)
            lay_across(w, "right", rows, self._count, self._packed_right)
            return
        with w.loop("right.k", 0, self._count) as k:
            source = w.add(self._panel, w.multiply(k, "%right_next"))
            target = w.add(self._packed_right, w.multiply(k, form.columns * w.bytes))
            copy_vectors(w, source, target, self._masks)

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
            found = self._ended(name, sums)
            for a in range(rows):
                for v in range(vectors):
                    self._write(v, found[a][v], places[a][v])

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
        left = w.multiply(self._row(tile), w.bytes)
        place = w.add(self._out, w.add(w.multiply(self._column, "%out_step"), left))
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
                bias = ""
                if form.has_bias:
                    bias = w.load_where(mask, w.add("%bias", w.add(left, start * w.bytes)))
                for lane, vector in enumerate(w.transposed(found)):
                    column = w.multiply(w.add(first, lane), "%out_step")
                    target = w.add(w.add(place, column), start * w.bytes)
                    there = w.if_more(mask, left_over, lane)
                    if form.in_chunks:
                        before = w.load_where(w.if_more(there, self._term, 0), target)
                        vector = w.plus(before, vector)
                    ended = self._finished(vector, bias)
                    if form.in_chunks:
                        ended = w.choose(w.if_more(there, self._is_last, 0), ended, vector)
                    w.store_where(there, ended, target)

    def _finished(self, vector: str, bias: str) -> str:
        """Sums with the ending of the form."""
        w, form = self._w, self._form
        if bias:
            vector = w.plus(vector, bias)
        return w.largest(vector, "zeroinitializer") if form.has_relu else vector

    def _ended(self, name: str, sums: list[list[str]]) -> list[list[str]]:
        """The sums of a tile; with the ending, if the last terms are among them."""
        w, form = self._w, self._form
        if not form.has_ending:
            return sums
        firsts = {f"{x}.ended": x for row in sums for x in row}
        with w.loop(f"{name}.ending", 0, self._is_last, firsts):
            place = w.add("%bias", w.multiply(self._column, w.bytes))
            biases = [
                self._read(v, w.add(place, v * w.lanes * w.bytes)) if form.has_bias else ""
                for v in range(len(sums[0]))
            ]
            for row in sums:
                for x, bias in zip(row, biases, strict=True):
                    w.name(self._finished(f"{x}.ended", bias), f"{x}.ended.next")
        return [[f"{x}.ended" for x in row] for row in sums]

    def _before(self, name: str, sums: list[list[str]], places: list[list[str]]) -> dict[str, str]:
        """The sums of the chunks before."""
        w = self._w
        firsts = {f"{x}.first": "zeroinitializer" for row in sums for x in row}
        with w.loop(f"{name}.before", 0, w.least(self._term, 1), firsts):
            for row, there in zip(sums, places, strict=True):
                for v, (x, place) in enumerate(zip(row, there, strict=True)):
                    w.name(self._read(v, place), f"{x}.first.next")
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
        """Add a panel of each operand to the sums of a tile.

        What is needed next is fetched between groups of terms, so that their own loop is of nothing
        but products.
        """
        w = self._w
        if self._form.left_is_packed:
            left = self._packed(tile)
        else:
            left = w.add(self._left, w.multiply(self._row(tile), "%left_row"))
        then = {x: f"{x}.then" for row in sums for x in row}
        with w.loop(f"{name}.group", 0, self._groups, firsts, then) as group:
            term = w.multiply(group, w.lanes)
            self._fetch_right(f"{name}.right", tile, term)
            self._fetch_left(f"{name}.left", tile, term)
            stop = w.least(w.add(term, w.lanes), self._count)
            with w.loop(f"{name}.k", term, stop, {y: x for x, y in then.items()}) as k:
                found = [self._vector(k, v) for v in range(len(sums[0]))]
                for a, row in enumerate(sums):
                    number = w.spread(*self._number(left, k, a))
                    for x, vector in zip(row, found, strict=True):
                        w.name(w.fused(number, vector, then[x]), f"{then[x]}.next")

    def _fetch_right(self, name: str, tile: str, term: str) -> None:
        """With each of the first tiles, fetch a vector of columns of the next panel."""
        w, form = self._w, self._form
        number = w.subtract(tile, self._first)
        is_early = w.most(w.least(w.subtract(VECTORS, number), 1), 0)
        next_panel = w.add(self._panel, w.multiply("%right_column", form.columns))
        panel = w.choose_number(self._is_left, self._then[1], next_panel)
        column = w.multiply(w.multiply(number, w.lanes), "%right_column")
        place = w.add(w.add(panel, column), w.multiply(term, "%right_next"))
        self._fetch(name, is_early, place, "%right_column" if form.right_is_deep else "%right_next")

    def _fetch_left(self, name: str, tile: str, term: str) -> None:
        """With the first panel, fetch the rows of the next tile; with the last one, those of this
        tile in the product that follows.
        """
        w, form = self._w, self._form
        if form.left_is_packed:
            return
        left = w.choose_number(self._is_left, self._then[0], self._left)
        row = self._row(w.add(tile, w.subtract(1, self._is_left)))
        place = w.add(w.add(left, w.multiply(row, "%left_row")), w.multiply(term, "%left_next"))
        times = w.most(self._is_first, self._is_left)
        self._fetch(name, times, place, "%left_row" if form.left_is_deep else "%left_next")

    def _fetch(self, name: str, times: str, place: str, step: str) -> None:
        """Fetch lines at steps from each other, so many times: once or not at all."""
        w = self._w
        with w.loop(name, 0, times):
            for i in range(w.lanes):
                w.fetch(w.add(place, w.multiply(step, i)), for_writing=False)

    def _vector(self, k: str, number: int) -> str:
        """A vector of the right operand."""
        w, away = self._w, number * self._w.lanes * self._w.bytes
        if self._form.right_is_packed:
            row = w.add(self._packed_right, w.multiply(k, self._form.columns * w.bytes))
            return w.load(w.add(row, away))
        row = w.add(self._panel, w.multiply(k, "%right_next"))
        return self._read(number, w.add(row, away))

    def _read(self, number: int, place: str) -> str:
        """A vector of a panel's columns, of which the last ones may be missing."""
        if self._form.is_whole:
            return self._w.load(place)
        return self._w.load_where(self._masks[number], place)

    def _write(self, number: int, vector: str, place: str) -> None:
        """Write a vector of columns."""
        if self._form.is_whole:
            self._w.store(vector, place)
        else:
            self._w.store_where(self._masks[number], vector, place)

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
