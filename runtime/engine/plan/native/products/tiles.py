"""Writes the tiles of a product: sums in registers of some rows and vectors of columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.engine.plan.native.products.form import LINE, VECTORS, Form
from gradwire.runtime.engine.plan.native.products.packing import DeepRows, lay_across

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.native.assembly import Assembly

Sums = Sequence[Sequence[str]]
"""The names of the vectors of a tile, row by row."""


class Matrices(NamedTuple):
    """The addresses of the matrices of a product."""

    left: str
    right: str
    out: str


class Number(NamedTuple):
    """Where the elements of a row of the left operand lie: an address, the bytes from term to term,
    and bytes from there on.
    """

    place: str
    step: str | int
    away: str | int


class Block(NamedTuple):
    """Rows of a product, of which some terms are added: each the start and count."""

    tiles: tuple[str, str]
    terms: tuple[str, str]


class Tiles(ABC):
    """The tiles of a block, for all columns."""

    def __init__(self, w: Assembly, form: Form, matrices: Matrices, block: Block) -> None:
        self._w, self._form = w, form
        self._out = matrices.out
        self._first, self._end = block.tiles[0], w.add(*block.tiles)
        self._term, self._count = block.terms
        self._is_last = w.subtract(
            1, w.least(w.subtract("%depth", w.add(self._term, self._count)), 1)
        )
        self._left = w.add(matrices.left, w.multiply(self._term, "%left_next"))
        self._right = w.add(matrices.right, w.multiply(self._term, "%right_next"))
        self._packed_left = self._packed_right = "%scratch"

    def _aim(self, panel: str) -> None:
        """What follows is of this panel of columns."""
        w = self._w
        self._column = w.multiply(panel, self._form.columns)
        self._left_over = w.subtract("%columns", self._column)
        self._masks = w.lanes_before(self._left_over, VECTORS)
        self._panel = w.add(self._right, w.multiply(self._column, "%right_column"))

    def _is_wide(self) -> str | int:
        """Whether the columns of this panel need all vectors of a tile."""
        w, form = self._w, self._form
        if not form.ends_narrow:
            return 1
        return w.most(w.least(w.add(self._left_over, -form.lanes), 1), 0)

    def _write_panel(self) -> None:
        """All tiles of this panel."""
        w, wide = self._w, self._is_wide()
        for rows, start, stop in self._parts():
            length = w.subtract(stop, start)
            self._tiles(rows, VECTORS, start, w.multiply(length, wide))
            if self._form.ends_narrow:
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
        """Pack the rows of all tiles."""
        if self._form.left_is_deep:
            self._pack_deep_left()
        else:
            self._pack_left_terms()

    @abstractmethod
    def _pack_left_terms(self) -> None:
        """Pack rows of which the elements of a term lie side by side."""

    def _pack_deep_left(self) -> None:
        w, form = self._w, self._form
        with w.loop("packed", self._first, self._end) as i:
            row = self._row(i)
            source = w.add(self._left, w.multiply(row, "%left_row"))
            last = w.add(w.subtract("%rows", row), -1)
            rows = DeepRows(source, "%left_row", last, form.rows)
            lay_across(w, "left", rows, self._count, self._packed(i), form.packed_rows)

    def _pack_deep_right(self) -> None:
        w, form = self._w, self._form
        last = w.add(self._left_over, -1)
        rows = DeepRows(self._panel, "%right_column", last, form.columns)
        lay_across(w, "right", rows, self._count, self._packed_right, form.columns)

    def _tiles(self, rows: int, vectors: int, start: str, length: str) -> None:
        """Tiles one after another, of so many rows and vectors."""
        w = self._w
        name = f"t{rows}_{vectors}"
        sums = [[f"%{name}_{a}_{v}" for v in range(vectors)] for a in range(rows)]
        with w.loop(name, start, w.add(start, length)) as i:
            places = self._places(i, rows, vectors)
            for row in places:
                for v, place in enumerate(row):
                    if v * w.lanes * w.bytes % LINE == 0:
                        w.fetch(place, for_writing=True)
            found = self._ended(name, self._summed(name, sums, i, places))
            for a in range(rows):
                for v in range(vectors):
                    self._write(v, found[a][v], places[a][v])

    @abstractmethod
    def _summed(self, name: str, sums: Sums, tile: str, places: Sums) -> Sums:
        """The names of the sums of a tile with those of the chunks before, which are there."""

    def _finished(self, vector: str, bias: str) -> str:
        """Sums with the ending of the form."""
        w, form = self._w, self._form
        if bias:
            vector = w.plus(vector, bias)
        return w.largest(vector, "zeroinitializer") if form.has_relu else vector

    def _ended(self, name: str, sums: Sums) -> Sums:
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

    def _places(self, tile: str, rows: int, vectors: int) -> Sums:
        """The addresses of a tile of the result."""
        w = self._w
        away = w.add(w.multiply(self._row(tile), "%out_step"), w.multiply(self._column, w.bytes))
        place = w.add(self._out, away)
        found = []
        for a in range(rows):
            row = w.add(place, w.multiply("%out_step", a))
            found.append([w.add(row, v * w.lanes * w.bytes) for v in range(vectors)])
        return found

    def _add_products(
        self,
        before: Mapping[str, str],
        numbers: Sequence[Number],
        k: str,
        names: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """Sums, with the products of a term added; ``names`` are those that they get."""
        w = self._w
        per_row = len(before) // len(numbers)
        vectors = [self._vector(k, v) for v in range(per_row)]
        after = {}
        for i, (x, so_far) in enumerate(before.items()):
            if i % per_row == 0:
                place, step, away = numbers[i // per_row]
                number = w.spread(w.add(w.add(place, w.multiply(k, step)), away), 0)
            after[x] = w.fused(number, vectors[i % per_row], so_far)
            if names is not None:
                after[x] = w.name(after[x], names[x])
        return after

    def _left_rows(self, tile: str) -> str:
        """Where the rows of a tile are read: the address of the first number."""
        w = self._w
        if self._form.left_is_packed:
            return self._packed(tile)
        return w.add(self._left, w.multiply(self._row(tile), "%left_row"))

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
