"""Compiles matrix products to machine code, the ``fast`` extra; and computes a sum of them as one:
``Σ LᵢRᵢ = [L₁ L₂ …][R₁; R₂; …]``.

For processors with registers of 8 or 16 float32, which multiply and add at once: a library of
products leaves time on the table, as it packs both operands, and cuts the result into tiles of one
size. A product takes terms in an order of its own, the same for all elements and whatever the
number of threads, so results differ from the library's by rounding.

Small products are compiled where a plan has many: a call of a library from Python takes longer than
such a product. Machine code is called in a row, together with what is elementwise in between, so
that a network of narrow layers, or one that is evaluated for each step of a solver, becomes few
calls.

The gradient of a weight that is used in every step of a recurrent network is a sum of products.
Each product alone is small, and each sum goes through memory. Factors are computed side by side
where that is possible, and are else copied. The order of addition, and so the last bits, may differ
from the plain plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.primitives.linear import MATMUL
from gradwire.runtime.calculus.primitives.shape import PERMUTE
from gradwire.runtime.engine.compiler.computing import contiguous, product
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.memory import Room, allocate, as_view
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes.chains import find_chains
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task, placed

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


LARGE = 1 << 17
"""Multiplications from which machine code is worth compiling."""

WIDE = 8
"""Float32 in a register from which machine code is faster."""

FEWEST = 32
"""Products from which compiling them is worthwhile."""

DIFFERENT = 8
"""Kinds of products that a plan may have: compiling each takes about a tenth of a second."""


def native_products(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace large matrix products by machine code."""
    return [
        ProductTask(task)
        if isinstance(task, PlainTask) and is_product(task.value) and _fits(task.value)
        else task
        for task in tasks
    ]


def small_products(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace small products where there are many that are alike, if there is a compiler."""
    products = [task for task in tasks if is_small_product(task)]
    if not FEWEST <= len(products) or len(set(map(_kind, products))) > DIFFERENT:
        return tasks
    return [ProductTask(task) if is_small_product(task) else task for task in tasks]


def is_small_product(task: Task) -> TypeGuard[PlainTask]:
    """Whether a task is a product of matrices that may be compiled where there are many."""
    if type(task) is not PlainTask or not is_product(task.value):
        return False
    work = work_of(task.value)
    return work > 0 and not is_large(work)


def _kind(task: PlainTask) -> Hashable:
    """What decides how a product is compiled, but for how operands lie that are other views."""
    shapes = (x.shape for x in task.inputs)
    return task.value.dtype, *shapes, *(x.primitive is PERMUTE for x in task.inputs)


def is_product(value: Value) -> bool:
    """Whether a value is a product of matrices for which there may be machine code."""
    is_whole = value.primitive is MATMUL and min(len(x.shape) for x in value.inputs) > 1
    return is_whole and is_supported(value.dtype)


def _fits(value: Value) -> bool:
    """Whether machine code is faster: a matrix by a vector is read once, as fast by the library."""
    is_by_vector = len(value.shape) == 2 and 1 in value.shape
    return is_large(work_of(value)) and not is_by_vector


def work_of(value: Value) -> int:
    """The multiplications of a product."""
    return value.size * value.inputs[0].shape[-1]


def is_large(work: int) -> bool:
    """Whether so many multiplications are worth compiling by themselves."""
    return work >= LARGE


def is_supported(dtype: str) -> bool:
    """Whether there is machine code for a product of such matrices."""
    floats = dtype in ("float32", "float64")
    return floats and native.installed() and machine.lanes() >= WIDE and machine.fuses()


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
        return [multiplying(left, right, out)]

    def filling(self, arrays: Arrays) -> Callable[[Array], object]:
        """What computes the value in new memory."""
        left, right = (arrays[x] for x in self.inputs)
        shape = self.value.shape
        found = product(left, right, shape, contiguous(shape, left.itemsize))
        return found or partial(np.matmul, left, right)


def multiplying(left: Array, right: Array, out: Array) -> Step:
    """The step that computes ``left @ right`` in other memory; by numpy where neither rows nor
    columns of that lie contiguously.
    """
    found = product(left, right, out.shape, out.strides)
    return partial(np.matmul, left, right, out) if found is None else found.into(out)


FEWEST_TERMS = 3
"""Products from which one is faster."""


def product_sums(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace each sum with several products that nothing else reads."""
    products = {t.value: t for t in tasks if isinstance(t, PlainTask) and _is_product(t)}
    if len(products) < FEWEST_TERMS:
        return tasks
    readers = Counter(x for task in tasks for x in task.inputs)
    turned = {
        t.values[0]: t.inputs[0]
        for t in tasks
        if t.values and t.values[0].primitive is PERMUTE and len(t.values[0].shape) == 2
    }
    sums: dict[Value, Task] = {}
    dropped: set[Value] = set()
    for end, (terms, links) in find_chains(tasks, kept).items():
        joined = [x for x in terms if x in products and readers[x] == 1 and x not in kept]
        if len(joined) >= FEWEST_TERMS:
            gone = set(joined)
            rest = [x for x in terms if x not in gone]
            sums[end] = ProductSumTask([products[x] for x in joined], rest, links, turned)
            dropped |= {*gone, *links[:-1]}
    return [sums.get(t.values[0], t) for t in tasks if t.values[0] not in dropped]


def _is_product(task: PlainTask) -> bool:
    """Whether a task multiplies matrices so small that copying them costs less than adding their
    product.
    """
    if task.value.primitive is not MATMUL or any(len(x.shape) != 2 for x in task.inputs):
        return False
    rows, columns = task.value.shape
    terms = task.inputs[0].shape[1]
    floats = task.value.dtype in ("float32", "float64")
    return floats and terms * (rows + columns) <= rows * columns


class ProductSumTask(Task):
    """One sum of products and of ``rest``; ``links`` are the partial sums, and it.

    ``turned`` are values by what are their transposes.
    """

    def __init__(
        self,
        products: Sequence[PlainTask],
        rest: Sequence[Value],
        links: Sequence[Value],
        turned: Mapping[Value, Value],
    ) -> None:
        self.values = (links[-1],)
        self._covered = [*(task.value for task in products), *links]
        self._rest = rest
        # In the order of the steps, in which what is a part of all steps lies in memory.
        self._factors = sorted((task.inputs for task in products), key=lambda x: x[1].index)
        self._turned = turned
        self.inputs = [*(x for some in self._factors for x in some), *rest]
        self._stacks: tuple[Array, Array] | None = None
        rows, columns = links[-1].shape
        terms = sum(right.shape[0] for _, right in self._factors)
        is_native = is_large(rows * terms * columns) and is_supported(links[-1].dtype)
        self.divides_products = is_native

    @property
    def covers(self) -> Sequence[Value]:
        """The products, the partial sums, and the sum."""
        return self._covered

    def rooms(self) -> dict[Value, Room]:
        """Factors, which lie side by side if they are computed there."""
        found: dict[Value, Room] = {}
        for (left, right), (above, below) in zip(self._factors, self._places(), strict=True):
            if left in self._turned:
                found.setdefault(self._turned[left], Room(None, above))
            found.setdefault(right, Room(None, below))
        return found

    def bind(self, arrays: Arrays) -> list[Step]:
        """Copies of the factors that are not side by side yet, one product, and other terms."""
        lefts = [arrays[left].T for left, _ in self._factors]
        rights = [arrays[right] for _, right in self._factors]
        places = self._places()
        steps: list[Step] = []
        stacks = []
        for side, (parts, stack) in enumerate(zip((lefts, rights), self._all(), strict=True)):
            whole = _joined(parts)
            if whole is None:
                for part, place in zip(parts, places, strict=True):
                    steps += placed(place[side], part)
            stacks.append(stack if whole is None else whole)
        out = arrays[self.values[0]]
        steps.append(self._multiplying(stacks[0].T, stacks[1], out))
        return [*steps, *(partial(np.add, out, arrays[x], out) for x in self._rest)]

    def _multiplying(self, left: Array, right: Array, out: Array) -> Step:
        if self.divides_products:
            return multiplying(left, right, out)
        return partial(np.matmul, left, right, out)

    def _all(self) -> tuple[Array, Array]:
        """Transposes of all left factors one below the other, and so all right ones."""
        if self._stacks is None:
            value = self.values[0]
            length = sum(right.shape[0] for _, right in self._factors)
            dtype = NUMPY[value.dtype]
            rows, columns = value.shape
            self._stacks = (
                allocate(value, (length, rows), dtype),
                allocate(value, (length, columns), dtype),
            )
        return self._stacks

    def _places(self) -> list[tuple[Array, Array]]:
        above, below = self._all()
        found, start = [], 0
        for _, right in self._factors:
            stop = start + right.shape[0]
            found.append((above[start:stop], below[start:stop]))
            start = stop
        return found


def _joined(parts: Sequence[Array]) -> Array | None:
    """All rows of matrices, or None if they don't follow each other in memory."""
    first = parts[0]
    if any(part.shape != first.shape for part in parts):
        return None
    whole = as_view(parts)
    if whole is None or whole.strides[0] != first.shape[0] * first.strides[0]:
        return None
    shape = (len(parts) * first.shape[0], first.shape[1])
    return as_strided(first, shape, first.strides, writeable=False)
