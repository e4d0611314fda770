"""Convolution as two loops of machine code with vectors across filters: for images of short rows.

Weights, or gradients, are packed so that those of neighbouring filters lie side by side. Of images,
laid out as for ``convolution``, single elements are read, each of which counts for all filters of
a tile.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.loops import Kernel

CORRELATION = (
    "image", "group_step", "taps", "tap_count", "weights", "segments", "tiles", "blocks",
    "filters", "out", "channel_step", "bias", "least", "above",
)  # fmt: skip
"""The frame of ``correlation``: addresses, bytes and counts, all int64."""

PRODUCTS = (
    "image", "group_step", "taps", "tap_count", "chunks", "gradients", "lines", "line_count",
    "lines_at_once", "columns", "blocks", "filters", "out", "filter_step",
)  # fmt: skip
"""The frame of ``products``: addresses, bytes and counts, all int64."""

_SUMS = 28
"""Registers for sums; the rest is for operands."""

_POINTERS = 8
"""Rows of taps in a tile: of more, LLVM reads all elements first, and has no registers for them."""


class Tile(NamedTuple):
    """What is held in registers: ``rows`` of ``length`` places, for ``vectors`` of filters."""

    dtype: str
    lanes: int
    rows: int
    length: int
    vectors: int

    @property
    def filters(self) -> int:
        """Filters of a block."""
        return self.vectors * self.lanes


def tile_for(dtype: str, lanes: int, filters: int, places: int) -> Tile:
    """The tile for so many filters and places in a row: few of its registers are left unused."""
    vectors, most = _vectors(lanes, filters)
    length = -(-places // -(-places // most))
    return Tile(dtype, lanes, most // length, length, vectors)


def tap_tile_for(dtype: str, lanes: int, filters: int, taps: int, rows: int) -> Tile:
    """The tile for so many filters and rows of taps, those of a row side by side.

    Its length is 1 where a row does not fit into it.
    """
    vectors, most = _vectors(lanes, filters)
    length = taps if taps <= most else 1
    most = min(most // length, _POINTERS)
    rows *= taps // length
    return Tile(dtype, lanes, -(-rows // -(-rows // most)), length, vectors)


def _vectors(lanes: int, filters: int) -> tuple[int, int]:
    """Vectors of filters in a tile, and the most places."""
    count = -(-filters // lanes)
    vectors = min(count, 2 if count % 3 or count % 2 == 0 else 3)
    return vectors, min(lanes, _SUMS // max(2, vectors))


@lru_cache(maxsize=64)
def correlation(tile: Tile, clipped: bool) -> Kernel:
    """``out[filter, position] = Σ weights[filter, tap] · image[position + tap] + bias[filter]``.

    Or the number at ``least``, where that is more; with ``clipped`` 0 where ``above``, which lies
    as the result does, is not above 0. ``call(frame, 0, start, stop)`` computes the units from
    start to stop, of which each is one of the ``tiles`` of segments for a block of filters of a
    group. ``segments`` are pairs of int64, ``tiles`` times those of a tile: where the places of one
    lie in the images and in the result, in bytes; one may be there twice, and some may overlap.
    ``weights`` are (groups, blocks, taps, the tile's filters), ``bias`` has no taps.
    """
    w = Assembly("correlation", tile.dtype, tile.lanes, CORRELATION)
    least = w.spread("%least", 0)
    (mask,) = w.lanes_before(str(tile.length), 1)
    size = tile.lanes * w.bytes
    with w.loop("unit", "%start", "%stop") as unit:
        number = w.put(f"udiv i64 {unit}, %tiles")
        first = w.multiply(w.put(f"urem i64 {unit}, %tiles"), 2 * tile.rows)
        group = w.put(f"udiv i64 {number}, %blocks")
        block = w.multiply(w.put(f"urem i64 {number}, %blocks"), tile.filters)
        image = w.add("%image", w.multiply(group, "%group_step"))
        sources = [
            w.add(image, w.entry("%segments", w.add(first, 2 * r))) for r in range(tile.rows)
        ]
        weights = w.multiply(w.multiply(number, "%tap_count"), tile.filters * w.bytes)
        weights = w.add("%weights", weights)
        row = w.add("%bias", w.multiply(number, tile.filters * w.bytes))
        bias = [w.load(w.add(row, v * size)) for v in range(tile.vectors)]
        starts = {f"%sum{x}": bias[int(x[-1])] for x in _held(tile)}
        with w.loop("tap", 0, "%tap_count", starts) as tap:
            offset = w.entry("%taps", tap)
            row = w.add(weights, w.multiply(tap, tile.filters * w.bytes))
            vectors = [w.load(w.add(row, v * size)) for v in range(tile.vectors)]
            for r, source in enumerate(sources):
                place = w.add(source, offset)
                for i in range(tile.length):
                    _add(w, w.spread(place, i), vectors, f"%sum{r}_{i}_")
        left = w.subtract("%filters", block)
        channel = w.add(w.multiply(group, "%filters"), block)
        out = w.multiply(channel, "%channel_step")
        for r in range(tile.rows):
            away = w.add(out, w.entry("%segments", w.add(first, 2 * r + 1)))
            for v in range(tile.vectors):
                sums = [f"%sum{r}_{i}_{v}" for i in range(tile.length)]
                for lane, found in enumerate(_turned(w, sums)):
                    filter_ = v * tile.lanes + lane
                    there = w.add(away, w.multiply("%channel_step", filter_))
                    some = w.if_more(mask, left, filter_)
                    found = w.largest(least, found)
                    if clipped:
                        above = w.load_where(some, w.add("%above", there))
                        found = w.masked(w.compare("ogt", above, "zeroinitializer"), found)
                    w.store_where(some, found, w.add("%out", there))
    return Kernel(*machine.function(w.text(), "correlation", is_vector=True))


@lru_cache(maxsize=64)
def products(tile: Tile) -> Kernel:
    """``out[filter, tap] += Σ gradients[position, filter] · image[position + tap]``.

    ``call(frame, 0, start, stop)`` computes the units from start to stop, of which each is one of
    the ``chunks`` of taps, as many as a tile has places, for a block of filters of a group.
    ``taps`` are where each of a tile's rows of taps begins, ``lines`` where each row of positions
    of all images does, in bytes, and ``gradients`` are (groups, blocks, lines, columns, the tile's
    filters). A sum has so many ``lines_at_once``, and is then added to the result.
    """
    w = Assembly("products", tile.dtype, tile.lanes, PRODUCTS)
    held = _held(tile)
    size = tile.lanes * w.bytes
    with w.loop("unit", "%start", "%stop") as unit:
        number = w.put(f"udiv i64 {unit}, %chunks")
        first = w.multiply(w.put(f"urem i64 {unit}, %chunks"), tile.rows)
        group = w.put(f"udiv i64 {number}, %blocks")
        block = w.multiply(w.put(f"urem i64 {number}, %blocks"), tile.filters)
        image = w.add("%image", w.multiply(group, "%group_step"))
        rows = [w.add(image, w.entry("%taps", w.add(first, r))) for r in range(tile.rows)]
        tap = w.multiply(first, tile.length)
        channel = w.add(w.multiply(group, "%filters"), block)
        out = w.add("%out", w.multiply(channel, "%filter_step"))
        out = w.add(out, w.multiply(tap, w.bytes))
        left = w.subtract("%filters", block)
        taps = w.least(w.subtract("%tap_count", tap), tile.rows * tile.length)
        (mask,) = w.lanes_before(taps, 1)
        step = w.multiply("%columns", tile.filters * w.bytes)
        gradients = w.multiply(w.multiply(number, "%line_count"), step)
        gradients = w.add("%gradients", gradients)
        with w.steps("round", "%line_count", "%lines_at_once") as (start, count):
            zeros = {f"%sum{x}": "zeroinitializer" for x in held}
            ends = {f"%sum{x}": f"%part{x}" for x in held}
            with w.loop("line", start, w.add(start, count), zeros, ends) as line:
                away = w.entry("%lines", line)
                row = w.add(gradients, w.multiply(line, step))
                places = [w.add(x, away) for x in rows]
                starts = {f"%part{x}": f"%sum{x}" for x in held}
                with w.loop("column", 0, "%columns", starts) as column:
                    there = w.add(row, w.multiply(column, tile.filters * w.bytes))
                    vectors = [w.load(w.add(there, v * size)) for v in range(tile.vectors)]
                    for r, x in enumerate(places):
                        place = w.add(x, w.multiply(column, w.bytes))
                        for i in range(tile.length):
                            _add(w, w.spread(place, i), vectors, f"%part{r}_{i}_")
            for v in range(tile.vectors):
                sums = [f"%sum{r}_{i}_{v}" for r in range(tile.rows) for i in range(tile.length)]
                for lane, found in enumerate(_turned(w, sums)):
                    there = w.add(out, w.multiply("%filter_step", v * tile.lanes + lane))
                    some = w.if_more(mask, left, v * tile.lanes + lane)
                    w.store_where(some, w.plus(w.load_where(some, there), found), there)
    return Kernel(*machine.function(w.text(), "products", is_vector=True))


def _held(tile: Tile) -> list[str]:
    """The names of all sums that a tile holds."""
    return [
        f"{r}_{i}_{v}"
        for r in range(tile.rows)
        for i in range(tile.length)
        for v in range(tile.vectors)
    ]


def _add(w: Assembly, number: str, vectors: list[str], sums: str) -> None:
    """One element of an image times what all filters have for it."""
    for v, vector in enumerate(vectors):
        more = w.fused(number, vector, f"{sums}{v}")
        w.name(more, f"{sums}{v}.next")


def _turned(w: Assembly, sums: list[str]) -> list[str]:
    """A vector across the places for each lane of filters."""
    return w.transposed([*sums, *["zeroinitializer"] * (w.lanes - len(sums))])
