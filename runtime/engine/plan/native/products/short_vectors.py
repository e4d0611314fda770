"""Matrix products by vectors shorter than a line of the caches, such as AVX2 has.

There are as many of these registers as hold a tile, its columns of a term, and one number; so it is
small, and done in less time than it takes to bring what it reads from afar. All columns are packed
first, each panel so that it fits into the first-level cache beside the rows of a tile; rows are
read where they lie, unless these places share lines of that cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.engine.plan.native.products.form import VECTORS, Form
from gradwire.runtime.engine.plan.native.products.packing import copy_vectors, copy_whole
from gradwire.runtime.engine.plan.native.products.tiles import Block, Matrices, Number, Sums, Tiles

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.native.assembly import Assembly

AT_ONCE = 4
"""Terms that are added from branch to branch."""


def by_short_vectors(w: Assembly, form: Form, matrices: Matrices, panels: tuple[str, str]) -> None:
    """Write the product for the panels of columns from start to stop."""
    begin, end = panels
    with w.steps("term", "%depth", "%chunk") as terms:
        with w.steps("beside", w.subtract(end, begin), str(form.beside)) as (number, count):
            some = w.add(begin, number), count
            if form.right_is_packed:
                whole = Block(("0", "%tiles"), terms)
                _ShortTiles(w, form, matrices, whole, some).pack_right()
            with w.steps("first", "%tiles", "%block") as tiles:
                _ShortTiles(w, form, matrices, Block(tiles, terms), some).write()


class _ShortTiles(Tiles):
    """Tiles for some panels of columns, start and count, which are packed one after another."""

    def __init__(
        self, w: Assembly, form: Form, matrices: Matrices, block: Block, panels: tuple[str, str]
    ) -> None:
        super().__init__(w, form, matrices, block)
        self._begin, self._stop = panels[0], w.add(*panels)
        row = form.columns * w.bytes
        self._each = w.multiply(w.add(self._count, 1), row)
        if form.right_is_packed:
            whole = w.multiply(self._each, w.least("%panels", form.beside))
            self._packed_left = w.add("%scratch", w.add(whole, form.lanes * row))

    def _aim(self, panel: str) -> None:
        super()._aim(panel)
        self._packed_right = self._packed_panel(panel)

    def _packed_panel(self, panel: str) -> str:
        """Where a panel is packed."""
        w = self._w
        return w.add("%scratch", w.multiply(w.subtract(panel, self._begin), self._each))

    def pack_right(self) -> None:
        """Pack all panels."""
        w, form = self._w, self._form
        if form.right_is_deep:
            with w.loop("panel", self._begin, self._stop) as j:
                self._aim(j)
                self._pack_deep_right()
            return
        last, high = w.add(self._stop, -1), form.columns * w.bytes
        self._aim(last)
        with w.loop("right.k", 0, self._count) as k:
            row, away = w.add(self._right, w.multiply(k, "%right_next")), w.multiply(k, high)
            with w.loop("panel", self._begin, last) as j:
                target = w.add(self._packed_panel(j), away)
                copy_whole(w, w.add(row, w.multiply(j, high)), target, VECTORS)
            target = w.add(self._packed_right, away)
            copy_vectors(w, w.add(row, w.multiply(last, high)), target, self._masks)

    def write(self) -> None:
        """All tiles of all panels."""
        if self._form.left_is_packed:
            self._pack_left()
        with self._w.loop("j", self._begin, self._stop) as j:
            self._aim(j)
            self._write_panel()

    def _pack_left_terms(self) -> None:
        """Pack all rows; vectors that reach beyond a tile are overwritten by the next term."""
        w, form = self._w, self._form
        vectors = -(-form.packed_rows // w.lanes)
        beyond = -(-vectors * w.lanes // max(1, form.rows - 1))
        border = w.most(w.add(self._end, -beyond), self._first)
        with w.loop("k", 0, self._count) as k:
            source = w.add(self._left, w.multiply(k, "%left_next"))
            away = w.multiply(k, form.packed_rows * w.bytes)
            with w.loop("packed", self._first, border) as i:
                place = w.add(source, w.multiply(self._row(i), w.bytes))
                copy_whole(w, place, w.add(self._packed(i), away), vectors)
            with w.loop("edge", border, self._end) as i:
                row = self._row(i)
                masks = w.lanes_before(w.subtract("%rows", row), vectors)
                place = w.add(source, w.multiply(row, w.bytes))
                copy_vectors(w, place, w.add(self._packed(i), away), masks)

    def _summed(self, name: str, sums: Sums, tile: str, places: Sums) -> Sums:
        """The sums of the terms, to which those of the chunks before are added, as they were not
        there yet when the tile was begun.
        """
        w, numbers = self._w, self._numbers(self._left_rows(tile), len(sums))
        many, then = ({x: f"{x}_{how}" for row in sums for x in row} for how in ("many", "then"))
        steps = w.put(f"udiv i64 {self._count}, {AT_ONCE}")
        with w.loop(f"{name}.many", 0, steps, dict.fromkeys(many.values(), "zeroinitializer")) as i:
            k, now = w.multiply(i, AT_ONCE), many
            for u in range(AT_ONCE - 1):
                now = self._add_products(now, numbers, w.add(k, u))
            names = {x: f"{y}.next" for x, y in many.items()}
            self._add_products(now, numbers, w.add(k, AT_ONCE - 1), names)
        firsts = {then[x]: y for x, y in many.items()}
        with w.loop(f"{name}.k", w.multiply(steps, AT_ONCE), self._count, firsts) as k:
            self._add_products(then, numbers, k, {x: f"{y}.next" for x, y in then.items()})
        if not self._form.in_chunks:
            return [[then[x] for x in row] for row in sums]
        firsts = {x: then[x] for row in sums for x in row}
        with w.loop(f"{name}.before", 0, w.least(self._term, 1), firsts):
            for row, there in zip(sums, places, strict=True):
                for v, (x, place) in enumerate(zip(row, there, strict=True)):
                    w.name(w.plus(self._read(v, place), x), f"{x}.next")
        return sums

    def _numbers(self, left: str, rows: int) -> list[Number]:
        w, form = self._w, self._form
        if form.left_is_packed:
            return [Number(left, form.packed_rows * w.bytes, a * w.bytes) for a in range(rows)]
        if not form.left_is_deep:
            return [Number(left, "%left_next", a * w.bytes) for a in range(rows)]
        starts = (w.add(left, w.multiply("%left_row", a)) for a in range(rows))
        return [Number(w.kept(x), w.bytes, 0) for x in starts]
