"""Matrix products by vectors as long as a line of the caches, as AVX-512 has.

Operands are read where they lie, or else packed by blocks, so that what a tile reads lies side by
side. What comes next is fetched into a cache while a tile is computed, as it lies too far apart for
the processor to see it coming.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.engine.plan.native.products.form import VECTORS, Form
from gradwire.runtime.engine.plan.native.products.packing import copy_vectors
from gradwire.runtime.engine.plan.native.products.tiles import Block, Matrices, Number, Sums, Tiles

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.native.assembly import Assembly


def by_long_vectors(
    w: Assembly,
    form: Form,
    matrices: Matrices,
    panels: tuple[str, str],
    then: tuple[Matrices, str],
) -> None:
    """Write the product for the panels of columns from start to stop.

    ``then`` are the matrices of the product that follows, and whether one follows.
    """
    with w.steps("first", "%tiles", "%block") as tiles:
        with w.steps("term", "%depth", "%chunk") as terms:
            block = _LongTiles(w, form, matrices, Block(tiles, terms))
            block.follow(*then)
            block.write(*panels)


class _LongTiles(Tiles):
    """Tiles for panels of columns, of which one at a time is packed, if at all."""

    def __init__(self, w: Assembly, form: Form, matrices: Matrices, block: Block) -> None:
        super().__init__(w, form, matrices, block)
        self._groups = w.put(f"udiv i64 {w.add(self._count, w.lanes - 1)}, {w.lanes}")
        board = form.board if form.is_turned else 0
        self._packed_right = self._packed_left = w.add("%scratch", board * w.bytes)
        if form.right_is_packed:
            panel = w.multiply(w.add(self._count, form.lanes), form.columns * w.bytes)
            self._packed_left = w.add(self._packed_right, panel)

    def follow(self, matrices: Matrices, is_followed: str) -> None:
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
            self._aim(j)
            if form.right_is_packed:
                self._pack_right()
            if form.is_turned:
                self._turned_tiles()
            else:
                self._write_panel()

    def _pack_left_terms(self) -> None:
        w, form = self._w, self._form
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
            self._pack_deep_right()
            return
        with w.loop("right.k", 0, self._count) as k:
            source = w.add(self._panel, w.multiply(k, "%right_next"))
            target = w.add(self._packed_right, w.multiply(k, form.columns * w.bytes))
            copy_vectors(w, source, target, self._masks)

    def _summed(self, name: str, sums: Sums, tile: str, places: Sums) -> Sums:
        """The sums of the terms, added to those of the chunks before."""
        firsts = dict.fromkeys((x for row in sums for x in row), "zeroinitializer")
        if self._form.in_chunks:
            firsts = self._before(name, sums, places)
        self._sum(name, sums, tile, firsts)
        return sums

    def _turned_tiles(self) -> None:
        """Tiles one after another; each is left on a board first, and read from it turned."""
        w, form, wide = self._w, self._form, self._is_wide()
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

    def _before(self, name: str, sums: Sums, places: Sums) -> dict[str, str]:
        """The sums of the chunks before."""
        w = self._w
        firsts = {f"{x}.first": "zeroinitializer" for row in sums for x in row}
        with w.loop(f"{name}.before", 0, w.least(self._term, 1), firsts):
            for row, there in zip(sums, places, strict=True):
                for v, (x, place) in enumerate(zip(row, there, strict=True)):
                    w.name(self._read(v, place), f"{x}.first.next")
        return {x: f"{x}.first" for row in sums for x in row}

    def _sum(self, name: str, sums: Sums, tile: str, firsts: dict[str, str]) -> None:
        """Add a panel of each operand to the sums of a tile.

        What is needed next is fetched between groups of terms, so that their own loop is of nothing
        but products.
        """
        w = self._w
        numbers = self._numbers(self._left_rows(tile), len(sums))
        then = {x: f"{x}.then" for row in sums for x in row}
        with w.loop(f"{name}.group", 0, self._groups, firsts, then) as group:
            term = w.multiply(group, w.lanes)
            self._fetch_right(f"{name}.right", tile, term)
            self._fetch_left(f"{name}.left", tile, term)
            stop = w.least(w.add(term, w.lanes), self._count)
            with w.loop(f"{name}.k", term, stop, {y: x for x, y in then.items()}) as k:
                self._add_products(then, numbers, k, {x: f"{y}.next" for x, y in then.items()})

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

    def _numbers(self, left: str, rows: int) -> list[Number]:
        w, form = self._w, self._form
        if form.left_is_packed:
            return [Number(left, form.packed_rows * w.bytes, a * w.bytes) for a in range(rows)]
        if not form.left_is_deep:
            return [Number(left, "%left_next", a * w.bytes) for a in range(rows)]
        thirds = [w.add(left, w.multiply("%left_row", a)) for a in range(0, rows, 3)]
        further = ["0", "%left_row", w.multiply("%left_row", 2)]
        return [Number(thirds[a // 3], w.bytes, further[a % 3]) for a in range(rows)]
