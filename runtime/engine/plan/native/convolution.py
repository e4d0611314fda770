"""Convolution as two loops of machine code, which work on any geometry.

Both read an image as rows that lie contiguously wherever a tap of the window is, so that each tap
is an offset, and each vector of neighbouring results in a row a position. Some numbers are held in
registers for all that is added to them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from runtime.engine.plan.native import machine
from runtime.engine.plan.native.assembly import Assembly
from runtime.engine.plan.native.loops import Kernel

CORRELATION = (
    "image", "image_step", "group_step", "taps", "tap_count", "weights", "vectors", "chunks",
    "blocks", "groups", "filters", "out", "out_step", "channel_step", "bias", "least",
)  # fmt: skip
"""The frame of ``correlation``: addresses, bytes and counts, all int64."""

PRODUCTS = (
    "image", "image_step", "group_step", "taps", "tap_chunks", "other", "other_step",
    "channel_step", "vectors", "whole", "all", "skipped", "blocks", "filters", "sums", "images",
)  # fmt: skip
"""The frame of ``products``: addresses, bytes and counts, all int64."""

_FILTERS, _WIDTH = 4, 8
"""The largest tile."""


class Tile(NamedTuple):
    """What is held in registers: ``filters`` rows of ``width`` vectors of ``lanes`` elements."""

    dtype: str
    lanes: int
    filters: int
    width: int


def tile_for(dtype: str, columns: int, filters: int, most: int, sums: int) -> Tile:
    """The tile for rows of so many results, at most ``most`` wide and of about ``sums`` vectors.

    Vectors are the longest that fit into a row.
    """
    sums = sums if machine.lanes() == 16 else 12  # half the registers
    blocks = -(-filters // _FILTERS)
    held = -(-filters // blocks)
    return Tile(dtype, machine.vector(dtype, columns), held, min(_WIDTH, sums // held, most))


@lru_cache(maxsize=64)
def correlation(tile: Tile) -> Kernel:
    """``out[filter, position] = Σ weights[filter, tap] · image[position + tap] + bias[filter]``.

    Or the number at ``least``, where that is more. ``call(frame, 0, start, stop)`` computes the
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
        out = w.add("%out", w.multiply(n, "%out_step"))
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
                    row = w.add(out, w.multiply(channel, "%channel_step"))
                    for v, place in enumerate(places_out):
                        w.store(w.largest(least, f"%sum{a}_{v}"), w.add(row, place))
    return Kernel(*machine.function(w.text(), "correlation", is_vector=True))


@lru_cache(maxsize=64)
def products(tile: Tile) -> Kernel:
    """``sums[unit, tap, filter] += Σ other[filter, position] · image[position + tap]``, by lanes.

    ``call(frame, 0, start, stop)`` computes the units from start to stop, of which each is a block
    of filters of a group, over all images, image by image. ``vectors`` are pairs as those of
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
        with w.loop("n", 0, "%images") as n:
            image = w.add("%image", w.multiply(n, "%image_step"))
            image = w.add(image, w.multiply(group, "%group_step"))
            away = w.multiply(n, "%other_step")
            rows = [w.add(channel, away) for channel in channels]
            with w.loop("chunk", 0, "%tap_chunks") as chunk:
                first = w.multiply(chunk, tile.width)
                taps = [w.add(image, w.entry("%taps", w.add(first, b))) for b in range(tile.width)]
                zeros = {f"%sum{b}_{a}": "zeroinitializer" for b, a in pairs}
                with w.loop("whole.vector", 0, "%whole", zeros) as vector:
                    _add_products(w, tile, vector, rows, taps, "%sum")
                ends = {f"%end{b}_{a}": f"%sum{b}_{a}" for b, a in pairs}
                with w.loop("cut.vector", "%whole", "%all", ends) as vector:
                    _add_products(w, tile, vector, rows, taps, "%end", mask)
                at = w.add(sums, w.multiply(chunk, len(pairs) * size))
                for place, (b, a) in enumerate(pairs):
                    target = w.add(at, place * size)
                    w.store(w.plus(w.load(target), f"%end{b}_{a}"), target)
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
