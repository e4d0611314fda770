"""Computes a sum of matrix products as one product: ``Σ LᵢRᵢ = [L₁ L₂ …][R₁; R₂; …]``.

The gradient of a weight that is used in every step of a recurrent network is such a sum. Each
product alone is small, and each sum goes through memory. Factors are computed side by side where
that is possible, and are else copied. The order of addition, and so the last bits, may differ from
the plain plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.primitives.linear import MATMUL
from gradwire.runtime.calculus.primitives.shape import PERMUTE
from gradwire.runtime.engine.plan.allocation import allocate
from gradwire.runtime.engine.plan.copies.small import placed
from gradwire.runtime.engine.plan.memory import Room, as_view
from gradwire.runtime.engine.plan.passes.chains import find_chains
from gradwire.runtime.engine.plan.passes.products.native_products import (
    is_large,
    is_supported,
    multiplying,
)
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


FEWEST = 3
"""Products from which one is faster."""


def product_sums(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace each sum with several products that nothing else reads."""
    products = {t.value: t for t in tasks if isinstance(t, PlainTask) and _is_product(t)}
    if len(products) < FEWEST:
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
        if len(joined) >= FEWEST:
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
