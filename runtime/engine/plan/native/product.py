"""Matrix products as loops of machine code.

Blocks of both operands are packed, so that what a tile of the result reads lies side by side: a
panel of one operand in the second-level cache, another in the first. The sums of a tile are held in
registers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from runtime.engine.plan.native import machine
from runtime.engine.plan.native.assembly import Assembly
from runtime.engine.plan.native.loops import Kernel

PRODUCT = (
    "matrices", "left_row", "left_next", "right_column", "right_next", "out_row", "rows", "columns",
    "depth", "chunk", "block", "panels",
)  # fmt: skip
"""The frame of ``product``: an address, bytes and counts, all int64."""

VECTORS = 2
"""Vectors in a row of a tile."""


class Form(NamedTuple):
    """How a product is computed: in tiles of ``rows`` by ``VECTORS`` vectors of ``lanes`` elements.

    Of a deep operand, elements along the sum lie side by side; of others, those across it.
    """

    dtype: str
    lanes: int
    rows: int
    left_is_deep: bool
    right_is_deep: bool

    @property
    def columns(self) -> int:
        """Columns of a tile."""
        return VECTORS * self.lanes

    @property
    def packed_rows(self) -> int:
        """Rows of a packed panel: whole vectors."""
        return -(-self.rows // self.lanes) * self.lanes


@lru_cache(maxsize=32)
def product(form: Form) -> Kernel:
    """``out[i, j] = Σ left[i, k] · right[k, j]``, each sum by chunks of so many terms in order.

    ``call(frame, scratch, start, stop)`` computes the units from start to stop, of which each is
    one of the ``panels`` of columns of one of the products. ``matrices`` has three addresses for
    each product: left, right and out. ``block`` is the rows that are packed at once, whole
    tiles; ``chunk`` is how many terms are. There must be as many rows and columns as in a packed
    panel, and a vector of terms in each chunk. See ``scratch_bytes``.
    """
    w = Assembly("product", form.dtype, form.lanes, PRODUCT)
    first = w.put("udiv i64 %start, %panels")
    last = w.put(f"udiv i64 {w.add(w.add('%stop', '%panels'), -1)}, %panels")
    with w.loop("n", first, last) as n:
        left, right, out = (w.entry("%matrices", w.add(w.multiply(n, 3), x)) for x in range(3))
        units = w.multiply(n, "%panels")
        begin = w.most(w.subtract("%start", units), 0)
        end = w.least(w.subtract("%stop", units), "%panels")
        with w.steps("first", "%rows", "%block") as (row, rows):
            block = w.add(left, w.multiply(row, "%left_row"))
            target = w.add(out, w.multiply(row, "%out_row"))
            with w.steps("term", "%depth", "%chunk") as (term, terms):
                _block(w, form, block, rows, right, target, (term, terms), (begin, end))
    return Kernel(*machine.function(w.text(), "product", is_vector=True))


def scratch_bytes(form: Form, chunk: int, block: int) -> int:
    """Bytes of memory that a call needs for itself."""
    item = int(form.dtype[5:]) // 8
    tiles = -(-block // form.rows)
    packed = (form.columns + tiles * form.packed_rows) * (chunk + 1)
    return (packed + form.rows * form.columns) * item


def _block(
    w: Assembly,
    form: Form,
    left: str,
    rows: str,
    right: str,
    out: str,
    terms: tuple[str, str],
    panels: tuple[str, str],
) -> None:
    """The product of some rows and all columns, over some of the terms."""
    wide, high = form.columns * w.bytes, form.packed_rows * w.bytes
    term, count = terms
    packed = w.add("%scratch", form.rows * wide)
    left = w.add(left, w.multiply(term, "%left_next"))
    right = w.add(right, w.multiply(term, "%right_next"))
    packed_left = w.add(packed, w.multiply(w.add(count, 1), wide))
    tiles = w.put(f"udiv i64 {w.add(rows, form.rows - 1)}, {form.rows}")
    with w.loop("packed", 0, tiles) as i:
        row = w.least(w.multiply(i, form.rows), w.add(rows, -form.packed_rows))
        source = w.add(left, w.multiply(row, "%left_row"))
        target = w.add(packed_left, w.multiply(w.multiply(i, high), count))
        step = "%left_row" if form.left_is_deep else "%left_next"
        _pack(w, "left", source, step, count, target, form.packed_rows, form.left_is_deep)
    with w.loop("j", *panels) as j:
        wanted = w.multiply(j, form.columns)
        column = w.least(wanted, w.add("%columns", -form.columns))
        source = w.add(right, w.multiply(column, "%right_column"))
        step = "%right_column" if form.right_is_deep else "%right_next"
        _pack(w, "right", source, step, count, packed, form.columns, form.right_is_deep)
        panel = w.add(packed, w.multiply(w.subtract(wanted, column), w.bytes))
        masks = w.lanes_before(w.subtract("%columns", wanted), VECTORS)
        target = w.add(out, w.multiply(wanted, w.bytes))
        with w.loop("i", 0, tiles) as i:
            row = w.multiply(i, form.rows)
            start = w.least(row, w.add(rows, -form.packed_rows))
            place = w.add(packed_left, w.multiply(w.multiply(i, high), count))
            place = w.add(place, w.multiply(w.subtract(row, start), w.bytes))
            _sum(w, form, place, panel, count)
            left_over = w.least(w.subtract(rows, row), form.rows)
            target_tile = w.add(target, w.multiply(row, "%out_row"))
            _write(w, form, target_tile, left_over, w.subtract("%columns", wanted), term, masks)


def _write(
    w: Assembly, form: Form, out: str, rows: str, columns: str, term: str, masks: list[str]
) -> None:
    """Write a whole tile of first sums at once, or else add what there is of it row by row."""
    places = [(a, v) for a in range(form.rows) for v in range(VECTORS)]
    missing = w.add(w.subtract(form.rows, rows), w.most(w.subtract(form.columns, columns), 0))
    is_cut = w.least(w.add(missing, term), 1)
    with w.loop("whole", is_cut, 1):
        for a in range(form.rows):
            row = w.add(out, w.multiply("%out_row", a))
            for v in range(VECTORS):
                w.store(f"%sum{a}_{v}", w.add(row, v * form.lanes * w.bytes))
    with w.loop("cut", 0, is_cut):
        for a, v in places:
            w.store(f"%sum{a}_{v}", w.add("%scratch", (a * VECTORS + v) * form.lanes * w.bytes))
        with w.loop("row", 0, rows) as r:
            found = w.add("%scratch", w.multiply(r, form.columns * w.bytes))
            row = w.add(out, w.multiply(r, "%out_row"))
            for v, mask in enumerate(masks):
                away = v * form.lanes * w.bytes
                before = w.load_where(w.if_more(mask, term, 0), w.add(row, away))
                w.store_where(mask, w.plus(before, w.load(w.add(found, away))), w.add(row, away))


def _pack(
    w: Assembly,
    name: str,
    source: str,
    step: str,
    count: str,
    target: str,
    length: int,
    is_deep: bool,
) -> None:
    """Copy a panel so that, for each term, its elements lie side by side.

    ``step`` is the number of bytes from one term to the next, or with ``is_deep`` from one element
    of a term to the next.
    """
    vectors = range(length // w.lanes)
    if not is_deep:
        with w.loop(f"{name}.k", 0, count) as k:
            row = w.add(source, w.multiply(k, step))
            place = w.add(target, w.multiply(k, length * w.bytes))
            for v in vectors:
                away = v * w.lanes * w.bytes
                w.store(w.load(w.add(row, away)), w.add(place, away))
        return
    rounds = w.put(f"udiv i64 {w.add(count, w.lanes - 1)}, {w.lanes}")
    with w.loop(f"{name}.k", 0, rounds) as some:
        k = w.least(w.multiply(some, w.lanes), w.add(count, -w.lanes))
        row = w.add(source, w.multiply(k, w.bytes))
        place = w.add(target, w.multiply(k, length * w.bytes))
        for v in vectors:
            found = []
            for _ in range(w.lanes):
                found.append(w.load(row))
                row = w.add(row, step)
            for a, vector in enumerate(w.transposed(found)):
                w.store(vector, w.add(place, (a * length + v * w.lanes) * w.bytes))


def _sum(w: Assembly, form: Form, left: str, right: str, count: str) -> None:
    """The sums of a tile over a panel of each operand, as ``%sum{row}_{vector}``."""
    places = [(a, v) for a in range(form.rows) for v in range(VECTORS)]
    with w.loop("k", 0, count, {f"%sum{a}_{v}": "zeroinitializer" for a, v in places}) as k:
        row = w.add(right, w.multiply(k, form.columns * w.bytes))
        vectors = [w.load(w.add(row, v * form.lanes * w.bytes)) for v in range(VECTORS)]
        numbers = w.add(left, w.multiply(k, form.packed_rows * w.bytes))
        for a in range(form.rows):
            number = w.spread(numbers, a)
            for v, vector in enumerate(vectors):
                w.name(w.fused(number, vector, f"%sum{a}_{v}"), f"%sum{a}_{v}.next")
