"""Compiles large matrix products to machine code: the ``fast`` extra.

For processors with registers of 16 float32: there a library of products leaves time on the table,
as it packs both operands, and cuts the result into tiles of one size. A product takes terms in an
order of its own, the same for all elements and whatever the number of threads, so results differ
from the library's by rounding. Where there are few rows, as of an example or some that go through a
large layer, or few terms, as in the gradient of its weights then, see ``few_rows``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runtime.calculus.primitives.linear import MATMUL
from runtime.engine.plan import native
from runtime.engine.plan.jobs import ROOM, Call, Job, cuts
from runtime.engine.plan.native import machine
from runtime.engine.plan.native.products.form import PRODUCT, VECTORS, Form, scratch_bytes
from runtime.engine.plan.native.products.tiles import product
from runtime.engine.plan.passes.few_rows import FewRows, FewTerms
from runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from blocks.block import Shape
    from runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 18
"""Multiplications in one matrix from which machine code is faster where it must turn the right
operand; where not, it takes more of them.
"""

FEWEST = 16
"""Rows, and terms, from which such machine code is faster."""

MOST = 1 << 16
"""Elements of the largest matrix from which machine code for fewer rows or terms is faster; see
also ``_is_quick``.
"""

HUGE = 1 << 21
"""Elements of a matrix from which code for few rows is faster also for a single row, and for more
of them where nothing need be turned, as it fetches ahead.
"""

NARROW = 32
"""Columns from which machine code is faster where it need not turn the right operand."""

WIDE = 16
"""Float32 in a register from which machine code is faster."""

CHUNK = 512
"""Terms that are added at once."""

BLOCK = 640 << 10
"""Bytes of the left operand that are used at once: they fit into the second-level cache."""

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

ROWS = 14
"""The most rows of a tile: twice as many registers are sums."""


def native_products(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace large matrix products by machine code, if a compiler is installed."""
    replaced: dict[Task, Task] = {
        task: ProductTask(task)
        for task in tasks
        if isinstance(task, PlainTask) and task.value.primitive is MATMUL and _fits(task)
    }
    return [replaced.get(task, task) for task in tasks]


def _fits(task: PlainTask) -> bool:
    left, right = (x.shape for x in task.inputs)
    if len(left) < 2 or len(right) < 2:
        return False
    size = left[-2], left[-1], right[-1]
    if len(left) == len(right) == 2 and (_has_few_rows(*size) or _has_few_terms(*size)):
        return is_supported(task.value.dtype)
    return may_be_faster(task.value.dtype, *size)


def may_be_faster(dtype: str, rows: int, terms: int, columns: int) -> bool:
    """Whether machine code may be faster at a product: there is a compiler, and much to do."""
    is_large = _is_wide(rows, terms, columns) and rows * columns * terms >= LARGE
    return is_large and is_supported(dtype)


def _is_wide(rows: int, terms: int, columns: int) -> bool:
    """Whether there are as many of each as tiles need."""
    return rows >= FEWEST and columns >= 8 and terms >= FEWEST


def is_supported(dtype: str) -> bool:
    """Whether there is machine code for a product of such matrices."""
    floats = dtype in ("float32", "float64")
    return floats and native.installed() and machine.lanes() >= WIDE


def _has_few_rows(rows: int, terms: int, columns: int) -> bool:
    """Whether the left operand has too few rows for tiles, and the right one is large."""
    least = HUGE if rows == 1 else MOST
    return 0 < rows < FEWEST and columns >= FEWEST and terms * columns >= least


def _has_few_terms(rows: int, terms: int, columns: int) -> bool:
    """Whether few terms make up each element of a large result."""
    return 0 < terms < FEWEST and rows >= FEWEST and columns >= FEWEST and rows * columns >= MOST


class ProductTask(PlainTask):
    """Products of matrices."""

    divides_products = True
    writes_columns = True

    def __init__(self, task: PlainTask) -> None:
        super().__init__(task.value, task.inputs)
        self.in_place = ()
        self.writes_rows = True

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step; by numpy, which copies first, where the result overwrites an operand."""
        out, left, right = arrays[self.value], *(arrays[x] for x in self.inputs)
        if any(np.may_share_memory(out, x) for x in (left, right)):
            return [partial(np.matmul, left, right, out)]
        return [self.multiplying(left, right, out)]

    def multiplying(self, left: Array, right: Array, out: Array) -> Step:
        """The step that computes them in other memory."""
        return multiplying(left, right, out)

    def filling(self, arrays: Arrays) -> Callable[[Array], None]:
        """What computes the value in new memory."""
        left, right = (arrays[x] for x in self.inputs)
        return _filling(left, right, self.value.shape)


def multiplying(left: Array, right: Array, out: Array) -> Step:
    """The step that computes ``left @ right`` in other memory, where that ``may_be_faster``."""
    if not _is_along(out, -1):  # columns may lie side by side: (a b)ᵀ = bᵀ aᵀ
        out, left, right = (x.swapaxes(-1, -2) for x in (out, right, left))
    if not _is_along(out, -1):
        return partial(np.matmul, left, right, out)
    filling = _filling(left, right, out.shape)
    return partial(filling, out) if isinstance(filling, partial) else filling.into(out)


def _filling(
    left: Array, right: Array, shape: Shape
) -> Multiplication | FewRows | FewTerms | partial[None]:
    """Machine code, or numpy where elements of the operands lie irregularly, or where it is as
    fast.
    """
    size = left.shape[-2], left.shape[-1], right.shape[-1]
    if left.ndim == right.ndim == 2:
        is_huge = right.size >= HUGE and len(left) <= 2 * FEWEST and _is_along(right, -1)
        is_slow = _has_few_rows(*size) and not _is_quick(left, right)
        if (is_huge or is_slow) and (_is_along(right, -1) or _is_along(right, -2)):
            return FewRows(left, right)
        if _has_few_terms(*size):
            return FewTerms(left, right)
    is_quick = _is_along(right, -1) and not _is_worthwhile(left, right)
    if not is_regular(left, right) or not _is_wide(*size) or is_quick:
        return partial(np.matmul, left, right)
    return Multiplication(left, right, shape)


def is_regular(*operands: Array) -> bool:
    """Whether rows or columns of each lie side by side."""
    return all(_is_along(x, -1) or _is_along(x, -2) for x in operands)


def _is_quick(left: Array, right: Array) -> bool:
    """Whether the library has quick code for few rows, as it has for matrices of such a size."""
    return right.size < 2 * MOST and (_is_along(right, -1) or len(left) < 6)


def _is_worthwhile(left: Array, right: Array) -> bool:
    """Whether machine code is faster though nothing need be turned."""
    columns: int = right.shape[-1]
    rows, terms = left.shape[-2:]
    return columns >= NARROW and rows * terms * columns > LARGE


def _is_along(x: Array, axis: int) -> bool:
    """Whether neighbours along an axis lie side by side."""
    return bool(x.shape[axis] == 1 or x.strides[axis] == x.itemsize)


class Multiplication:
    """Computes products of the same operands in any array of the result's shape."""

    def __init__(self, left: Array, right: Array, shape: tuple[int, ...]) -> None:
        rows, columns, terms = *shape[-2:], left.shape[-1]
        self._batch = shape[:-2]
        is_turned = _is_turned(left, right)
        if is_turned:
            left, right = right.swapaxes(-1, -2), left.swapaxes(-1, -2)
            rows, columns = columns, rows
        chunk = math.ceil(terms / math.ceil(terms / CHUNK))
        form = _form(left, right, is_turned, chunk < terms)
        tiles = math.ceil(rows / form.rows)
        most = max(1, BLOCK // (chunk * form.packed_rows * left.itemsize))
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
        kept = self._frames, self._matrices, left, right
        self._job = Job(parts, work, scratch_bytes(form, chunk, block), kept)
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
    deep = _is_along(left, -1), not _is_along(right, -1)
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


def _form(left: Array, right: Array, is_turned: bool, in_chunks: bool) -> Form:
    dtype, rows, columns = left.dtype, left.shape[-2], right.shape[-1]
    lanes = _lanes(dtype)
    deep = _is_along(left, -1), not _is_along(right, -1)
    steps = left.strides[-2 if deep[0] else -1], right.strides[-2]
    return Form(
        dtype=dtype.name,
        lanes=lanes,
        rows=tile_rows(rows),
        left_is_deep=deep[0],
        left_is_packed=steps[0] % PAGE == 0,
        right_is_deep=deep[1],
        right_is_packed=deep[1] or steps[1] % PAGE == 0,
        is_turned=is_turned,
        is_whole=columns % (VECTORS * lanes) == 0,
        ends_narrow=0 < columns % (VECTORS * lanes) <= lanes,
        in_chunks=in_chunks,
    )


def tile_rows(rows: int) -> int:
    """Rows of a tile of a result with so many."""
    return math.ceil(rows / math.ceil(rows / ROWS))


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
