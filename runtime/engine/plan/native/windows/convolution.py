"""Convolution as two loops of machine code, which work on any geometry.

Both read an image as rows that lie contiguously wherever a tap of the window is, so that each tap
is an offset, and each vector of neighbouring results in a row a position. Some numbers are held in
registers for all that is added to them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.loops import Kernel

CORRELATION = (
    "image", "image_step", "group_step", "taps", "tap_count", "weights", "vectors", "chunks",
    "blocks", "groups", "filters", "out", "out_step", "channel_step", "bias", "least", "above",
)  # fmt: skip
"""The frame of ``correlation``: addresses, bytes and counts, all int64."""

PRODUCTS = (
    "image", "image_step", "group_step", "taps", "tap_chunks", "other", "other_step",
    "channel_step", "vectors", "whole", "all", "skipped", "blocks", "filters", "sums", "images",
    "images_at_once",
)  # fmt: skip
"""The frame of ``products``: addresses, bytes and counts, all int64."""

_FILTERS, _WIDTH = 4, 12
"""The largest tile."""


class Tile(NamedTuple):
    """What is held in registers: ``filters`` rows of ``width`` vectors of ``lanes`` elements."""

    dtype: str
    lanes: int
    filters: int
    width: int


def tile_for(dtype: str, columns: int, filters: int, width: int, sums: int) -> Tile:
    """The tile for rows of so many results, of which ``width`` in all are to be computed.

    Vectors are the longest that fit into a row; the tile has at most so many of them, fewer where
    that leaves fewer unused.
    """
    sums = sums if machine.lanes() == 16 else 12  # of the 16 registers
    held = -(-filters // -(-filters // _FILTERS))
    widest = min(_WIDTH, sums // held)
    width = -(-width // -(-width // widest))
    return Tile(dtype, machine.vector(dtype, columns), held, width)


@lru_cache(maxsize=64)
def correlation(tile: Tile, clipped: bool) -> Kernel:
    """``out[filter, position] = Σ weights[filter, tap] · image[position + tap] + bias[filter]``.

    Or the number at ``least``, where that is more; with ``clipped`` 0 where ``above``, which lies
    as the result does, is not above 0. ``call(frame, 0, start, stop)`` computes the
    images from start to stop. ``vectors`` are pairs of int64, ``chunks`` times the tile's width:
    where a vector lies in the image and in a channel of the result, in bytes; a vector may be there
    twice, and vectors may overlap. ``weights`` are (groups, blocks, taps, the tile's filters),
    ``bias`` has no taps; filters beyond the last repeat it.
    """
    w = Assembly("correlation", tile.dtype, tile.lanes, CORRELATION)
    accumulators = [(a, v) for a in range(tile.filters) for v in range(tile.width)]
    least = w.spread("%least", 0)
    with w.loop("n", "%start", "%stop") as n, w.loop("g", 0, "%groups") as g:
        image = w.add("%image", w.multiply(n, "%image_step"))
        image = w.add(image, w.multiply(g, "%group_step"))
        out, above_image = (w.add(x, w.multiply(n, "%out_step")) for x in ("%out", "%above"))
        with w.loop("chunk", 0, "%chunks") as chunk:
            places = w.multiply(chunk, 2 * tile.width)
            sources = [
                w.add(image, w.entry("%vectors", w.add(places, 2 * v))) for v in range(tile.width)
            ]
            with w.loop("block", 0, "%blocks") as block:
                number = w.add(w.multiply(g, "%blocks"), block)
                step = w.multiply("%tap_count", tile.filters * w.bytes)
                weights = w.add("%weights", w.multiply(number, step))
                row = w.add("%bias", w.multiply(number, tile.filters * w.bytes))
                bias = [w.spread(row, a) for a in range(tile.filters)]
                starts = {f"%sum{a}_{v}": bias[a] for a, v in accumulators}
                with w.loop("tap", 0, "%tap_count", starts) as tap:
                    offset = w.entry("%taps", tap)
                    row = w.add(weights, w.multiply(tap, tile.filters * w.bytes))
                    vectors = [w.load(w.add(source, offset)) for source in sources]
                    for a in range(tile.filters):
                        weight = w.spread(row, a)
                        for v, vector in enumerate(vectors):
                            more = w.fused(weight, vector, f"%sum{a}_{v}")
                            w.name(more, f"%sum{a}_{v}.next")
                places_out = [
                    w.entry("%vectors", w.add(places, 2 * v + 1)) for v in range(tile.width)
                ]
                for a in range(tile.filters):
                    within = w.add(w.multiply(block, tile.filters), a)
                    within = w.least(within, w.add("%filters", -1))
                    channel = w.add(w.multiply(g, "%filters"), within)
                    row = w.multiply(channel, "%channel_step")
                    for v, place in enumerate(places_out):
                        away = w.add(row, place)
                        found = w.largest(least, f"%sum{a}_{v}")
                        if clipped:
                            above = w.load(w.add(above_image, away))
                            mask = w.compare("ogt", above, "zeroinitializer")
                            found = w.masked(mask, found)
                        w.store(found, w.add(out, away))
    return Kernel(*machine.function(w.text(), "correlation", is_vector=True))


@lru_cache(maxsize=64)
def products(tile: Tile) -> Kernel:
    """``sums[unit, tap, filter] += Σ other[filter, position] · image[position + tap]``, by lanes.

    ``call(frame, 0, start, stop)`` computes the units from start to stop, of which each is a block
    of filters of a group, over all images, some at once. ``vectors`` are pairs as those of
    ``correlation``, in the image and in a channel of ``other``: ``whole`` of them first, and then
    those of which the first ``skipped`` lanes don't count. ``taps`` and ``sums`` have
    ``tap_chunks`` times the tile's width of taps; the sums of a tap and filter are a vector.
    """
    w = Assembly("products", tile.dtype, tile.lanes, PRODUCTS)
    size = tile.lanes * w.bytes
    pairs = [(b, a) for b in range(tile.width) for a in range(tile.filters)]
    mask = w.lanes_from("%skipped")
    with w.loop("unit", "%start", "%stop") as unit:
        group = w.put(f"udiv i64 {unit}, %blocks")
        block = w.put(f"urem i64 {unit}, %blocks")
        channels = []
        for a in range(tile.filters):
            within = w.add(w.multiply(block, tile.filters), a)
            within = w.least(within, w.add("%filters", -1))
            channel = w.add(w.multiply(group, "%filters"), within)
            channels.append(w.add("%other", w.multiply(channel, "%channel_step")))
        step = w.multiply("%tap_chunks", len(pairs) * size)
        sums = w.add("%sums", w.multiply(unit, step))
        rounds = w.put(
            f"sdiv i64 {w.add('%images', w.add('%images_at_once', -1))}, %images_at_once"
        )
        with w.loop("round", 0, rounds) as some, w.loop("chunk", 0, "%tap_chunks") as chunk:
            first = w.multiply(some, "%images_at_once")
            last = w.least(w.add(first, "%images_at_once"), "%images")
            offset = w.multiply(chunk, tile.width)
            taps = [w.entry("%taps", w.add(offset, b)) for b in range(tile.width)]
            zeros = {f"%sum{b}_{a}": "zeroinitializer" for b, a in pairs}
            ends = {f"%sum{b}_{a}": f"%end{b}_{a}" for b, a in pairs}
            with w.loop("n", first, last, zeros, ends) as n:
                image = w.add("%image", w.multiply(n, "%image_step"))
                image = w.add(image, w.multiply(group, "%group_step"))
                away = w.multiply(n, "%other_step")
                rows = [w.add(channel, away) for channel in channels]
                places = [w.add(image, tap) for tap in taps]
                starts = {f"%part{b}_{a}": f"%sum{b}_{a}" for b, a in pairs}
                with w.loop("whole.vector", 0, "%whole", starts) as vector:
                    _add_products(w, tile, vector, rows, places, "%part")
                starts = {f"%end{b}_{a}": f"%part{b}_{a}" for b, a in pairs}
                with w.loop("cut.vector", "%whole", "%all", starts) as vector:
                    _add_products(w, tile, vector, rows, places, "%end", mask)
            at = w.add(sums, w.multiply(chunk, len(pairs) * size))
            for place, (b, a) in enumerate(pairs):
                target = w.add(at, place * size)
                w.store(w.plus(w.load(target), f"%sum{b}_{a}"), target)
    return Kernel(*machine.function(w.text(), "products", is_vector=True))


def _add_products(
    w: Assembly,
    tile: Tile,
    vector: str,
    rows: list[str],
    taps: list[str],
    sums: str,
    mask: str | None = None,
) -> None:
    """One vector of each row times one of each tap."""
    place = w.multiply(vector, 2)
    source, target = w.entry("%vectors", place), w.entry("%vectors", w.add(place, 1))
    left = [w.load(w.add(row, target)) for row in rows]
    right = [w.load(w.add(tap, source)) for tap in taps]
    if mask is not None:
        left, right = ([w.masked(mask, x) for x in vectors] for vectors in (left, right))
    for b in range(tile.width):
        for a in range(tile.filters):
            more = w.fused(left[a], right[b], f"{sums}{b}_{a}")
            w.name(more, f"{sums}{b}_{a}.next")
