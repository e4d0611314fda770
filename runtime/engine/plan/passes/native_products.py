"""Compiles large matrix products to machine code: the ``fast`` extra.

For processors with registers of 16 float32: there a library of products leaves time on the table
where both operands must be turned, as in ``x @ w.T``. A product takes terms in an order of its own,
the same for all elements and whatever the number of threads, so results differ from the library's
by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runtime.calculus.primitives.linear import MATMUL
from runtime.engine.plan import native
from runtime.engine.plan.jobs import ROOM, Call, Job, cuts
from runtime.engine.plan.native import machine
from runtime.engine.plan.native.product import PRODUCT, Form, product, scratch_bytes
from runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 18
"""Multiplications in one matrix from which machine code is faster."""

WIDE = 16
"""Float32 in a register from which machine code is faster."""

CHUNK = 512
"""Terms that are added at once: panels of so many fit into the caches."""

TILES = 40
"""Tiles whose rows are packed at once."""

WASTE = 1 / 8
"""Empty rows of tiles, for each row of a product, from which a library is faster at ``x @ w``."""

EACH = 16
"""Multiplications that take as long as what ``jobs`` counts as the work on one element."""

PARTS = 1
"""Parts for each thread: each packs the rows anew."""

_ROWS = 13
"""Rows of a tile: twice as many registers are sums, and 10 tiles make up 128 rows."""


def native_products(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace large matrix products by machine code, if a compiler is installed."""
    chosen = [task for task in tasks if isinstance(task, PlainTask) and _fits(task)]
    if not chosen or not native.installed() or machine.lanes() < WIDE:
        return tasks
    replaced: dict[Task, Task] = {task: ProductTask(task) for task in chosen}
    return [replaced.get(task, task) for task in tasks]


def _fits(task: PlainTask) -> bool:
    value = task.value
    if value.primitive is not MATMUL or value.dtype not in ("float32", "float64"):
        return False
    left, right = (x.shape for x in task.inputs)
    if len(left) < 2 or len(right) < 2:
        return False
    rows, columns, terms = left[-2], right[-1], left[-1]
    return rows >= 16 and columns >= 32 and terms >= 16 and rows * columns * terms >= LARGE


class ProductTask(PlainTask):
    """Products of matrices."""

    divides_products = True

    def __init__(self, task: PlainTask) -> None:
        super().__init__(task.value, task.inputs)
        self.in_place = ()

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step; by numpy, which copies first, where the result overwrites an operand."""
        out, operands = arrays[self.value], [arrays[x] for x in self.inputs]
        if out.strides[-1] != out.itemsize or any(np.may_share_memory(out, x) for x in operands):
            return [partial(np.matmul, *operands, out)]
        return [partial(self.filling(arrays), out)]

    def filling(self, arrays: Arrays) -> Callable[[Array], None]:
        """Machine code, or numpy where elements of the operands lie irregularly, or where it has
        little to pack and tiles would be wasted.
        """
        left, right = (arrays[x] for x in self.inputs)
        deep = _is_along(left, -1), _is_along(right, -2)
        across = _is_along(left, -2), _is_along(right, -1)
        if not all(a or b for a, b in zip(deep, across, strict=True)):
            return partial(np.matmul, left, right)
        rows = left.shape[-2]
        if deep == (True, False) and -rows % _ROWS > WASTE * rows:
            return partial(np.matmul, left, right)
        dtype = self.value.dtype
        lanes = machine.vector(dtype, self.value.shape[-1])
        return Multiplication(left, right, self.value.shape, Form(dtype, lanes, _ROWS, *deep))


def _is_along(x: Array, axis: int) -> bool:
    """Whether neighbours along an axis lie side by side."""
    return x.strides[axis] == x.itemsize


class Multiplication:
    """Computes products of the same operands in any array of the result's shape."""

    def __init__(self, left: Array, right: Array, shape: tuple[int, ...], form: Form) -> None:
        rows, columns, terms = *shape[-2:], left.shape[-1]
        chunk, block = _chunk(terms, form.lanes), _block(rows)
        self._batch, self._operands = shape[:-2], (left, right)
        places = [_places(x, self._batch) for x in (left, right, left)]
        self._matrices = np.ascontiguousarray(np.stack(places, axis=-1))
        kernel = product(form).call
        panels = -(-columns // form.columns)
        self._frame = machine.frame(
            PRODUCT,
            matrices=self._matrices,
            left_row=left.strides[-2],
            left_next=left.strides[-1],
            right_column=right.strides[-1],
            right_next=right.strides[-2],
            out_row=0,
            rows=rows,
            columns=columns,
            depth=terms,
            chunk=chunk,
            block=block,
            panels=panels,
        )
        work = math.prod(shape) * terms // EACH
        place = machine.address(self._frame)
        ranges = cuts(len(self._matrices) * panels, work, PARTS)
        parts = [[Call(kernel, place, ROOM, *each)] for each in ranges]
        self._job = Job(parts, work, scratch_bytes(form, chunk, block))
        self._target = 0

    def __call__(self, out: Array) -> None:
        """Compute the products in ``out``, of which rows must lie contiguously."""
        target = out.ctypes.data
        if target != self._target:
            self._frame[PRODUCT.index("out_row")] = out.strides[-2]
            self._matrices[:, 2] = _places(out, self._batch)
            self._target = target
        self._job()


def _chunk(terms: int, lanes: int) -> int:
    """Terms at once: about as many each time, and never less than a vector."""
    each = math.ceil(terms / math.ceil(terms / CHUNK))
    while 0 < terms % each < lanes:
        each += 1
    return each


def _block(rows: int) -> int:
    """Rows at once: whole tiles, about as many each time."""
    tiles = math.ceil(rows / _ROWS)
    return math.ceil(tiles / math.ceil(tiles / TILES)) * _ROWS


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
