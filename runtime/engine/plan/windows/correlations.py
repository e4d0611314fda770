"""Steps that correlate images with weights by machine code."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.plan.jobs import divided
from gradwire.runtime.engine.plan.native.machine import frame
from gradwire.runtime.engine.plan.native.windows.convolution import (
    CORRELATION,
    Tile,
    correlation,
    tile_for,
)
from gradwire.runtime.engine.plan.windows import filterwise

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.tasks import Step
    from gradwire.runtime.engine.plan.windows.rows import Phase, Rows

Array = NDArray[Any]

EACH = 16
"""Multiplications that take as long as what ``jobs`` counts as the work on one element."""


def correlate(
    images: Array,
    rows: Rows,
    down: Phase,
    along: Phase,
    weights: Array,
    out: Array,
    bias: Array | None = None,
    least: float = -np.inf,
    above: Array | None = None,
) -> list[Step]:
    """Steps that compute one phase: images times weights, plus a bias, at least ``least``.

    Weights are (groups, filters, channels, rows, columns), the bias is (groups, filters); ``out``
    is contiguous and of the dtype of the images. The result is 0 where ``above``, an array like
    ``out``, is not above 0.
    """
    groups, filters, channels = weights.shape[:3]
    if filterwise.suits(images.dtype, filters, along.positions):
        given = images, rows, down, along, weights, out, bias, least, above
        return filterwise.correlate(*given)
    offsets = rows.offsets(channels, down, along)
    positions = down.positions * along.positions
    tile = tile_for(images.dtype.name, along.positions, filters, positions, 16)
    whole, cut = rows.vectors(down, along, tile.lanes)
    vectors = np.concatenate([whole, cut])
    vectors = np.pad(vectors, ((0, -len(vectors) % tile.width), (0, 0)), "edge")
    steps, packed = _packing(weights, tile, images.dtype)
    if bias is None:
        added = np.zeros((*packed.shape[:2], tile.filters), images.dtype)
    else:
        more, added = _packing(bias, tile, images.dtype)
        steps += more
    lowest = np.array(least, images.dtype)
    taps, table = offsets * images.itemsize, vectors * images.itemsize
    numbers = frame(
        CORRELATION,
        image=images,
        image_step=images.strides[0],
        group_step=channels * rows.channel * images.itemsize,
        taps=taps,
        tap_count=offsets.size,
        weights=packed,
        vectors=table,
        chunks=len(vectors) // tile.width,
        blocks=packed.shape[1],
        groups=groups,
        filters=filters,
        out=out,
        out_step=out.strides[0],
        channel_step=out.strides[1],
        bias=added,
        least=lowest,
        above=out if above is None else above,
    )
    kernel, work = correlation(tile, above is not None), out.size * offsets.size // EACH
    kept = images, packed, added, lowest, taps, table, out, above
    return [*steps, divided(kernel, numbers, len(images), work, kept)]


def _packing(weights: Array, tile: Tile, dtype: Any) -> tuple[list[Step], Array]:
    """Steps that sort weights as ``correlation`` reads them, and where they put them."""
    groups, filters, *taps = weights.shape
    blocks = -(-filters // tile.filters)
    packed = np.empty((groups, blocks, *taps, tile.filters), dtype)
    target = np.moveaxis(packed, -1, 2)
    steps: list[Step] = []
    for a in range(tile.filters):
        source = weights[:, a :: tile.filters]
        steps.append(partial(np.copyto, target[:, : source.shape[1], a], source))
        if source.shape[1] < blocks:  # the last filter stands in for those that are missing
            steps.append(partial(np.copyto, target[:, -1, a], weights[:, -1]))
    return steps, packed


def wide(dtype: Any) -> Any:
    """The dtype to compute in: float32 for float16."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def rounding(out: Array, found: Array) -> Step:
    """A step that writes what was found to ``out``, of another dtype or elsewhere."""
    return partial(np.copyto, out, found, "same_kind")
