"""Steps that correlate images of short rows with weights: vectors go across filters."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.plan.allocation import allocate
from gradwire.runtime.engine.plan.copies.transposed import copying
from gradwire.runtime.engine.plan.jobs import MULTIPLICATIONS as EACH
from gradwire.runtime.engine.plan.jobs import divided
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.windows.filterwise import (
    CORRELATION,
    PRODUCTS,
    Tile,
    correlation,
    products,
    tap_tile_for,
    tile_for,
)

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Step
    from gradwire.runtime.engine.plan.windows.rows import Phase, Rows

Array = NDArray[Any]

WIDE = 16
"""Float32 in a register from which tiles are large enough."""

AT_ONCE = 512
"""Positions of which the products with gradients are one sum."""


def suits(dtype: Any, filters: int, columns: int) -> bool:
    """Whether vectors across so many filters are filled better than along rows of columns."""
    if machine.lanes() < WIDE:
        return False
    lanes = _lanes(dtype)
    return _filled(filters, lanes) > _filled(columns, lanes)


def _lanes(dtype: Any) -> int:
    return machine.lanes() * 4 // max(4, int(np.dtype(dtype).itemsize))  # float16 in float32


def _filled(count: int, lanes: int) -> float:
    return count / (-(-count // lanes) * lanes)


def correlate(
    images: Array,
    rows: Rows,
    down: Phase,
    along: Phase,
    weights: Array,
    out: Array,
    bias: Array | None,
    least: float,
    above: Array | None,
) -> list[Step]:
    """Steps that do what those of ``correlations.correlate`` do."""
    groups, filters, channels = weights.shape[:3]
    taps = rows.offsets(channels, down, along).ravel() * images.itemsize
    tile = tile_for(images.dtype.name, _lanes(images.dtype), filters, along.positions)
    segments = np.concatenate(rows.vectors(down, along, tile.length)) * images.itemsize
    away = np.arange(len(images))[:, None, None] * [images.strides[0], out.strides[0]]
    table = (away + segments).reshape(-1, 2)
    table = np.pad(table, ((0, -len(table) % tile.rows), (0, 0)), "edge")
    steps, packed = _packing(weights, tile, images.dtype)
    added = np.zeros((*packed.shape[:2], tile.filters), images.dtype)
    if bias is not None:
        target = added.reshape(groups, -1)[:, :filters]
        steps.append(partial(np.copyto, target, bias))
    lowest = np.array(least, images.dtype)
    blocks, tiles = packed.shape[1], len(table) // tile.rows
    numbers = machine.frame(
        CORRELATION,
        image=images,
        group_step=channels * rows.channel * images.itemsize,
        taps=taps,
        tap_count=taps.size,
        weights=packed,
        segments=table,
        tiles=tiles,
        blocks=blocks,
        filters=filters,
        out=out,
        channel_step=out.strides[1],
        bias=added,
        least=lowest,
        above=out if above is None else above,
    )
    kernel, work = correlation(tile, above is not None), out.size * taps.size // EACH
    kept = images, packed, added, lowest, taps, table, out, above
    return [*steps, divided(kernel, numbers, groups * blocks * tiles, work, kept)]


def _packing(weights: Array, tile: Tile, dtype: Any) -> tuple[list[Step], Array]:
    """Steps that sort weights as ``correlation`` reads them, and where they put them."""
    groups, filters, *taps = weights.shape
    if weights.flags.c_contiguous:
        taps = [prod(taps)]
    elif weights[0, 0, 0].flags.c_contiguous:
        taps = [taps[0], prod(taps[1:])]
    some = weights.reshape(groups, filters, *taps)
    blocks = -(-filters // tile.filters)
    packed = np.zeros((groups, blocks, *taps, tile.filters), dtype)
    steps: list[Step] = []
    for block in range(blocks):
        source = some[:, block * tile.filters : (block + 1) * tile.filters]
        there = packed[:, block, ..., : source.shape[1]]
        steps.append(copying(source, np.moveaxis(there, -1, 1)))
    return steps, packed


def multiply(
    value: Value, images: Array, rows: Rows, down: Phase, along: Phase, gradients: Array, out: Array
) -> list[Step]:
    """Steps that compute the gradient of weights, ``value``, from those of results, which lie
    contiguously as ``out`` does.
    """
    groups, channels = value.attributes["groups"], out.shape[1]
    filters, columns = len(out) // groups, along.positions
    offsets = rows.offsets(channels, down, along)
    across = offsets.shape[-1] if (np.diff(offsets) == 1).all() else 1
    count = offsets.size // across
    tile = tap_tile_for(images.dtype.name, _lanes(images.dtype), filters, across, count)
    taps = offsets.reshape(-1, tile.length)[:, 0] * images.itemsize
    taps = np.pad(taps, (0, -len(taps) % tile.rows), "edge")
    steps, packed = _packing_gradients(value, gradients, tile, filters)
    starts = rows.vectors(down, along, columns)[0][:, 0] * images.itemsize
    lines = np.add.outer(np.arange(len(images)) * images.strides[0], starts).ravel()
    blocks, chunks = packed.shape[1], len(taps) // tile.rows
    numbers = machine.frame(
        PRODUCTS,
        image=images,
        group_step=channels * rows.channel * images.itemsize,
        taps=taps,
        tap_count=offsets.size,
        chunks=chunks,
        gradients=packed,
        lines=lines,
        line_count=lines.size,
        lines_at_once=-(-AT_ONCE // columns),
        columns=columns,
        blocks=blocks,
        filters=filters,
        out=out,
        filter_step=out.strides[0],
    )
    work, kept = gradients.size * offsets.size // EACH, (images, packed, taps, lines, out)
    job = divided(products(tile), numbers, groups * blocks * chunks, work, kept)
    return [*steps, partial(out.fill, 0), job]


def _packing_gradients(
    value: Value, gradients: Array, tile: Tile, filters: int
) -> tuple[list[Step], Array]:
    """Steps that sort gradients as ``products`` reads them, and where they put them."""
    count, channels, *places = gradients.shape
    groups, blocks = channels // filters, -(-filters // tile.filters)
    shape = groups, blocks, count, prod(places), tile.filters
    packed = allocate(value, shape, gradients.dtype)
    packed.fill(0)
    some = gradients.reshape(count, groups, filters, -1)
    steps: list[Step] = []
    for block in range(blocks):
        source = some[:, :, block * tile.filters : (block + 1) * tile.filters]
        there = packed[:, block, ..., : source.shape[2]]
        steps.append(copying(source, there.transpose(1, 0, 3, 2)))
    return steps, packed
