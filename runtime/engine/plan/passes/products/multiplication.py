"""How a product of large matrices is cut into tiles and parts, which machine code computes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.engine.plan.jobs import ROOM, Call, Job, cuts
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.products.form import (
    LINE,
    PRODUCT,
    VECTORS,
    Form,
    scratch_bytes,
)
from gradwire.runtime.engine.plan.native.products.product import product

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.tasks import Step

Array = NDArray[Any]

NARROW = 32
"""Columns below which a product is not computed turned only to fill vectors."""

PAGE = 1 << 12
"""Bytes between rows that share places in the first-level cache: a tile can't be read from there if
they are apart by a multiple of so many, and is packed.
"""

FEW = 128
"""Rows up to which packing a deep right operand takes longer than writing its result turned."""

EACH = 16
"""Multiplications that take as long as what ``jobs`` counts as the work on one element."""

SPARE = 1.05
"""How much better vectors must be filled for a product to be computed turned."""

TALL = 1
"""Rows for each column from which threads share the rows, so that each row is packed once."""

PARTS = 2
"""Parts for each thread: each packs anew what all of them read, if that is packed."""


class Cutting(NamedTuple):
    """How products are cut: the most ``rows`` of a tile, where ``VECTORS`` times as many registers
    are sums; terms in a ``chunk``, which are added at once; and bytes of the left operand in a
    ``block``, which is used at once, and so fits into the second-level cache.
    """

    rows: int
    chunk: int
    block: int


LONG = Cutting(14, 512, 640 << 10)
"""For vectors as long as a line of the caches."""

SHORT = Cutting(6, 256, 192 << 10)
"""For shorter ones."""


def is_regular(*operands: Array) -> bool:
    """Whether rows or columns of each lie side by side."""
    return all(is_along(x, -1) or is_along(x, -2) for x in operands)


def is_along(x: Array, axis: int) -> bool:
    """Whether neighbours along an axis lie side by side."""
    return bool(x.shape[axis] == 1 or x.strides[axis] == x.itemsize)


def is_short() -> bool:
    """Whether registers are shorter than a line of the caches."""
    return machine.lanes() * 4 < LINE


@by_identity
class Ending(NamedTuple):
    """What is done to the elements of products before they are written: a row is added to each row
    of them, and what is less than 0 is 0.
    """

    bias: Array | None = None
    has_relu: bool = False


class Multiplication:
    """Computes products of the same operands in any array of the result's shape."""

    def __init__(
        self, left: Array, right: Array, shape: tuple[int, ...], ending: Ending | None = None
    ) -> None:
        bias, has_relu = ending or Ending()
        rows, columns, terms = *shape[-2:], left.shape[-1]
        self._batch = shape[:-2]
        is_turned = not is_short() and _is_turned(left, right)
        if is_turned:
            left, right = right.swapaxes(-1, -2), left.swapaxes(-1, -2)
            rows, columns = columns, rows
        cutting = _cutting()
        chunk = math.ceil(terms / math.ceil(terms / cutting.chunk))
        form = _form(left, right, is_turned, chunk < terms)
        form = form._replace(has_bias=bias is not None, has_relu=has_relu)
        tiles = math.ceil(rows / form.rows)
        most = max(1, cutting.block // (chunk * form.packed_rows * left.itemsize))
        block = math.ceil(tiles / math.ceil(tiles / most))
        panels, work = -(-columns // form.columns), math.prod(shape) * terms // EACH
        count = math.prod(self._batch)
        by_rows = count == 1 and rows >= columns * TALL
        self._slabs = _slabs(rows, form.rows, cuts(tiles, work, PARTS) if by_rows else [(0, tiles)])
        self._step = left.itemsize if is_turned else None
        """Bytes from row to row of the result; None for those of the array."""
        self._matrices = np.zeros((len(self._slabs), count, 3), np.int64)
        self._matrices[..., 1] = _places(right, self._batch)
        first, step = _places(left, self._batch), left.strides[-2]
        self._frames = []
        for slab, matrices in zip(self._slabs, self._matrices, strict=True):
            matrices[:, 0] = first + slab.start * step
            self._frames.append(
                machine.frame(
                    PRODUCT,
                    matrices=matrices,
                    left_row=step,
                    left_next=left.strides[-1],
                    right_column=right.strides[-1],
                    right_next=right.strides[-2],
                    out_step=0,
                    rows=slab.rows,
                    columns=columns,
                    depth=terms,
                    chunk=chunk,
                    block=block,
                    tiles=slab.tiles,
                    full=slab.full,
                    panels=panels,
                    bias=0 if bias is None else bias[slab.start if is_turned else 0 :],
                )
            )
        units = count * panels
        ranges = [(0, units)] if len(self._slabs) > 1 else cuts(units, work, PARTS)
        kernel = product(form).call
        parts = [
            [Call(kernel, machine.address(frame), ROOM, *each)]
            for frame in self._frames
            for each in ranges
        ]
        kept = self._frames, self._matrices, left, right, bias
        self._job = Job(parts, work, scratch_bytes(form, chunk, block, panels), kept)
        self._target = 0

    def __call__(self, out: Array) -> None:
        """Compute the products in ``out``, of which rows must lie contiguously."""
        if machine.address(out) != self._target:
            self._aim(out)
        self._job()

    def into(self, out: Array) -> Step:
        """The step that computes the products in ``out``, which must live as long as it."""
        self._aim(out)
        return self._job

    def _aim(self, out: Array) -> None:
        places, step = _places(out, self._batch), self._step or out.strides[-2]
        for slab, matrices, frame in zip(self._slabs, self._matrices, self._frames, strict=True):
            matrices[:, 2] = places + slab.start * step
            frame[PRODUCT.index("out_step")] = out.strides[-2]
        self._target = machine.address(out)


class Slab(NamedTuple):
    """Rows that one call computes: ``tiles`` of them, of which the first are ``full``."""

    start: int
    rows: int
    tiles: int
    full: int


def _slabs(rows: int, most: int, ranges: Sequence[tuple[int, int]]) -> list[Slab]:
    """Slabs of so many tiles of at most so many rows; some of the last tiles have a row less."""
    tiles = ranges[-1][1]
    full = tiles - (tiles * most - rows)
    found = []
    for first, last in ranges:
        start, stop = (i * most - max(0, i - full) for i in (first, last))
        found.append(
            Slab(start, stop - start, last - first, min(max(0, full - first), last - first))
        )
    return found


def _is_turned(left: Array, right: Array) -> bool:
    """Whether the transpose of a product is faster to compute: less is packed, or less of the last
    vectors is left over.
    """
    rows, columns = left.shape[-2], right.shape[-1]
    deep = is_along(left, -1), not is_along(right, -1)
    if deep == (False, False):
        if left.strides[-1] % PAGE == 0 and 2 * columns <= rows:
            return True
        is_narrow, lanes = columns < NARROW, _lanes(left.dtype)
        return not is_narrow and _filled(rows, lanes) > SPARE * _filled(columns, lanes)
    return all(deep) and rows <= FEW and 2 * rows <= columns


def _filled(columns: int, lanes: int) -> float:
    """The part of its vectors that a row of so many columns fills."""
    return columns / (math.ceil(columns / lanes) * lanes)


def _lanes(dtype: np.dtype[Any]) -> int:
    """Elements in a register."""
    return machine.lanes() * 4 // dtype.itemsize


def _cutting() -> Cutting:
    return SHORT if is_short() else LONG


def _form(left: Array, right: Array, is_turned: bool, in_chunks: bool) -> Form:
    dtype, rows, columns = left.dtype, left.shape[-2], right.shape[-1]
    lanes = _lanes(dtype)
    deep = is_along(left, -1), not is_along(right, -1)
    steps = left.strides[-2 if deep[0] else -1], right.strides[-2]
    packed = steps[0] % PAGE == 0, steps[1] % PAGE == 0
    high = tile_rows(rows)
    if is_short():  # what only one tile reads is packed in vain
        packed = (packed[0] if deep[0] else columns > VECTORS * lanes), rows > high
    return Form(
        dtype=dtype.name,
        lanes=lanes,
        rows=high,
        left_is_deep=deep[0],
        left_is_packed=packed[0],
        right_is_deep=deep[1],
        right_is_packed=deep[1] or packed[1],
        is_turned=is_turned,
        is_whole=columns % (VECTORS * lanes) == 0,
        ends_narrow=0 < columns % (VECTORS * lanes) <= lanes,
        in_chunks=in_chunks,
    )


def tile_rows(rows: int) -> int:
    """Rows of a tile of a result with so many."""
    return math.ceil(rows / math.ceil(rows / _cutting().rows))


def _places(x: Array, batch: tuple[int, ...]) -> NDArray[np.int64]:
    """The addresses of all matrices, also of those that count several times."""
    strides = (0,) * (len(batch) + 2 - x.ndim) + x.strides[:-2]
    lengths = (1,) * (len(batch) + 2 - x.ndim) + x.shape[:-2]
    found = np.full(batch, machine.address(x), np.int64)
    for axis, (length, stride) in enumerate(zip(lengths, strides, strict=True)):
        if length > 1:
            along = np.arange(length).reshape(-1, *(1,) * (len(batch) - axis - 1))
            found += along * stride
    return found.reshape(-1)
