"""Adds a bias to a product of matrices, and applies relu, while its elements are in registers.

In a dense layer these would go over the whole product once more, which leaves the nearest caches
in between. Operands as large as the product are not taken in: read in the order of its tiles, they
cost more than another pass over it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.primitives.base import RESHAPE
from gradwire.runtime.engine.compiler.computing import Computation, contiguous, product
from gradwire.runtime.engine.compiler.front import Ending
from gradwire.runtime.engine.plan.allocation import allocate
from gradwire.runtime.engine.plan.passes.elementwise.fused import FusedTask
from gradwire.runtime.engine.plan.passes.elementwise.giving import laid_over
from gradwire.runtime.engine.plan.passes.products.native_products import ProductTask
from gradwire.runtime.engine.plan.tasks import Arrays, FreshMemory, FreshTask, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]


def layers(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace products, and elementwise tasks that do no more than end them."""
    found = _Products(tasks, kept)
    if not found.products:
        return tasks
    replaced: dict[Task, list[LayerTask]] = {}
    for task in tasks:
        if made := found.layers(task):
            replaced[task] = made
    gone = {value for some in replaced.values() for layer in some for value in layer.between}
    return [
        new for task in tasks if gone.isdisjoint(task.values) for new in replaced.get(task, [task])
    ]


class _Chain(NamedTuple):
    """How an elementwise value ends a product: the tasks, of which the first reads ``start``."""

    tasks: list[PlainTask]
    start: Value
    bias: Value | None
    has_relu: bool


class _Products:
    """The products of some tasks that each have one reader, and what they are other shapes of."""

    def __init__(self, tasks: Sequence[Task], kept: Collection[Value]) -> None:
        products = [t for t in tasks if isinstance(t, ProductTask) and len(t.value.shape) == 2]
        self.products: dict[Value, tuple[ProductTask, list[Value]]] = {}
        """Each with the values between it and its reader, by the last of them."""
        if not products:
            return
        readers = Counter(x for task in tasks for x in task.inputs)
        alone = {t.value for t in products if readers[t.value] == 1 and t.value not in kept}
        self.products = {t.value: (t, [t.value]) for t in products if t.value in alone}
        for task in tasks:
            if not isinstance(task, PlainTask) or task.value.primitive is not RESHAPE:
                continue
            value, source = task.value, task.inputs[0]
            if source not in self.products:
                continue
            product, between = self.products.pop(source)
            has_rows = value.shape[-1:] == product.value.shape[-1:]
            if has_rows and readers[value] == 1 and value not in kept:
                self.products[value] = product, [*between, value]

    def layers(self, task: Task) -> list[LayerTask]:
        """The layers that make up an elementwise task; none if it does anything else."""
        parts = _elementwise(task)
        if not parts:
            return []
        by_value = {part.value: part for part in parts}
        chains = [self._chain(value, by_value) for value in task.values]
        found = [chain for chain in chains if chain is not None]
        if len(found) < len(chains) or sum(len(x.tasks) for x in found) != len(parts):
            return []
        if len({x.start for x in found}) < len(found):
            return []
        return [
            LayerTask(*self.products[x.start], x, is_compiled=isinstance(task, FusedTask))
            for x in found
        ]

    def _chain(self, value: Value, parts: Mapping[Value, PlainTask]) -> _Chain | None:
        """The tasks that end a product in a value: an addition of a row, relu, or both."""
        tasks: list[PlainTask] = []
        start, bias = value, None
        if parts[start].operation.name == "relu":
            tasks.append(parts[start])
            start = tasks[-1].inputs[0]
        if start in parts and parts[start].operation.name == "add":
            tasks.append(parts[start])
            a, b = tasks[-1].inputs
            start, bias = (a, b) if a in self.products else (b, a)
            if not _is_row(bias, start):
                return None
        if start not in self.products or not tasks:
            return None
        return _Chain(tasks[::-1], start, bias, tasks[0].operation.name == "relu")


def _is_row(x: Value, whole: Value) -> bool:
    """Whether a value is one row that counts for all rows of another."""
    columns, rank = whole.shape[-1:], len(whole.shape)
    is_row = x.shape[-1:] == columns != () and x.size == columns[0] and len(x.shape) <= rank
    return is_row and x.dtype == whole.dtype


def _elementwise(task: Task) -> Sequence[PlainTask]:
    """The tasks that make up an elementwise one; none of others, or if it also adds up elements."""
    if isinstance(task, FusedTask):
        return task.tasks if type(task) is FusedTask and not task.folds else []
    return [task] if isinstance(task, PlainTask) else []


class LayerTask(Task):
    """A product with its ending. ``between`` are the product and other shapes of it."""

    divides_products = True

    def __init__(
        self, product: ProductTask, between: Sequence[Value], chain: _Chain, *, is_compiled: bool
    ) -> None:
        self.value = chain.tasks[-1].value
        self.values = self.givable = (self.value,)
        self.between = between
        self.inputs = [*product.inputs, *([] if chain.bias is None else [chain.bias])]
        self.writes_rows = self.value.shape == product.value.shape
        self._product = product
        self._chain = chain
        self._is_compiled = is_compiled

    @property
    def covers(self) -> Sequence[Value]:
        """The product, other shapes of it, and what ends it."""
        return [*self.between, *(task.value for task in self._chain.tasks)]

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step where tiles are faster; else those of the tasks that this one replaces."""
        out = arrays[self.value]
        if any(np.may_share_memory(out, arrays[x]) for x in self.inputs):
            return self._apart(arrays, out)
        matrix = self._matrix(out)
        found = self._multiplication(arrays, matrix.strides)
        return self._apart(arrays, out) if found is None else [found.into(matrix)]

    def give(self, memory: Mapping[Value, FreshMemory]) -> Task:
        """A task that fills this memory, if the value is given."""
        return FreshTask(self, memory[self.value]) if memory else self

    def filling(self, arrays: Arrays) -> Callable[[Array], Any]:
        """What computes the value in new memory."""
        shape, dtype = self._product.value.shape, NUMPY[self.value.dtype]
        found = self._multiplication(arrays, contiguous(shape, np.dtype(dtype).itemsize))
        if found is not None:
            return lambda out: found(self._matrix(out))
        own = allocate(self.value, self.value.shape, dtype)
        steps = self._apart(arrays, own)

        def fill(out: Array) -> None:
            for step in steps:
                step()
            np.copyto(out, own)

        return fill

    def _matrix(self, x: Array) -> Array:
        return x.reshape(self._product.value.shape)

    def _multiplication(self, arrays: Arrays, strides: Sequence[int]) -> Computation | None:
        left, right, *others = (arrays[x] for x in self.inputs)
        bias = others[0].reshape(-1) if others else None
        if bias is not None and bias.size > 1 and bias.strides[0] != bias.itemsize:
            return None
        ending = Ending(bias, self._chain.has_relu)
        return product(left, right, self._product.value.shape, strides, ending)

    def _apart(self, arrays: Arrays, out: Array) -> list[Step]:
        """The product is computed where the result is, and then ended there."""
        tasks: Sequence[Task] = self._chain.tasks
        if self._is_compiled:
            tasks = [FusedTask(self._chain.tasks, [self.value], [])]
        there = {task.value: out for task in self._chain.tasks}
        there |= {x: out.reshape(x.shape) for x in self.between}
        steps = self._product.bind(laid_over(arrays, there))
        return steps + [step for t in tasks for step in t.bind(laid_over(arrays, there))]
