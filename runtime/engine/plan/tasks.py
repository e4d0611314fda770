"""Tasks: the parts of a plan before memory is allocated. A task computes one or more values. And
copies of transposed arrays, and of small ones, by machine code where there is a compiler.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from sys import getrefcount
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.runtime.calculus.dtypes import FLOATS, NUMPY
from gradwire.runtime.calculus.kernels.summing import bound_total
from gradwire.runtime.calculus.kernels.transposing import copy_transposed, is_transposed
from gradwire.runtime.calculus.primitives.base import CAST, RESHAPE
from gradwire.runtime.calculus.primitives.elementwise import MULTIPLY
from gradwire.runtime.calculus.primitives.linear import MATMUL
from gradwire.runtime.calculus.primitives.reduce import SUM
from gradwire.runtime.calculus.primitives.shape import CONCAT
from gradwire.runtime.engine.plan.jobs import Job, Joinable
from gradwire.runtime.engine.plan.memory import allocate, as_view
from gradwire.runtime.engine.plan.native import installed

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.compiler.computing import Computation
    from gradwire.runtime.engine.plan.memory import Room


LARGE = 1 << 12
"""Elements of a transposed array from which machine code copies it faster."""

ROWS, COLUMNS = 4, 4
"""Elements along the two axes from which it does: fewer leave most of a register empty."""

LARGEST = 1 << 11
"""Elements of an array up to which a copy takes less time than calling numpy."""


def copying(source: Array, target: Array) -> Step:
    """A step that copies an array to another of its shape and dtype."""
    turned = _turned(source, target)
    return turned.into(target) if turned is not None else partial(_plain(source, target), target)


def filling(source: Array, like: Array) -> Callable[[Array], object]:
    """What copies an array to any that lies as ``like`` does."""
    return _turned(source, like) or _plain(source, like)


def _plain(source: Array, like: Array) -> Callable[[Array], object]:
    """What does it by numpy."""
    if is_transposed(source) and like.flags.c_contiguous:
        return partial(copy_transposed, source)
    return lambda out: np.copyto(out, source)


def _turned(source: Array, like: Array) -> Computation | None:
    """Code that does it, where neighbours lie side by side along different axes."""
    if source.size < LARGE or source.itemsize not in (4, 8) or not installed():
        return None
    row, column = _dense(source), _dense(like)
    if row is None or column is None or row == column:
        return None
    if source.shape[row] < ROWS or source.shape[column] < COLUMNS:
        return None
    from gradwire.runtime.engine.compiler.computing import copy  # few need it

    return copy(source, like.strides)


def _dense(x: Array) -> int | None:
    """The axis along which neighbours lie side by side."""
    axes = (i for i, n in enumerate(x.shape) if n > 1 and x.strides[i] == x.itemsize)
    return next(axes, None)


def small_copy(target: Array, source: Array) -> Step:
    """A step that copies an array to another, of its shape or to which it is repeated."""
    step = partial(np.copyto, target, source)
    if source.dtype != target.dtype or source.itemsize not in (4, 8) or source.ndim > target.ndim:
        return step
    if not 0 < target.size <= LARGEST:
        return step
    return Joinable(step, partial(copies, [(target, source)]))


def placed(target: Array, source: Array) -> list[Step]:
    """The step that copies an array to where it should be, if it is not there."""
    there = [(x.__array_interface__["data"][0], x.strides) for x in (target, source)]
    return [] if there[0] == there[1] else [small_copy(target, source)]


def copies(pairs: Sequence[tuple[Array, Array]]) -> Job | None:
    """The job that copies to each target from its source, one after another, also to other dtypes
    of floats; None if elements of too many lie apart.
    """
    from gradwire.runtime.engine.compiler.computing import copy

    jobs: list[Job] = []
    for target, source in pairs:
        whole = np.broadcast_to(source, target.shape)
        found = copy(whole, target.strides, target.dtype.name)
        if found is None:
            return None
        jobs.append(found.into(target))
    calls = [call for job in jobs for call in job.calls]
    return Job([calls], sum(target.size for target, _ in pairs), kept=(pairs, jobs))


Arrays: TypeAlias = "Mapping[Value, Array]"
Step: TypeAlias = Callable[[], object]

_HELD = 2
"""Arrays that a fresh result may reuse: the last one, and the one before it."""

JOINED = 8
"""Arrays to join from which comparing their addresses is worthwhile."""

_KEYWORD_OUT = (np.maximum, np.minimum)
"""numpy 2.4 deprecates a positional ``out`` for these, as it is easily taken for an operand."""


def _references(row: Sequence[Any], place: int) -> int:
    return getrefcount(row[place])


_ALONE = _references([object()], 0)
"""What is counted where nobody else refers to it; versions of Python count differently."""


def is_unshared(row: Sequence[Any], place: int) -> bool:
    """Whether nothing but the row, not even a view, refers to what it has at this place."""
    return _references(row, place) == _ALONE


class Task:
    """Computes ``values`` from ``inputs``; passes replace tasks by equivalent ones."""

    __slots__ = ()

    values: Sequence[Value]
    inputs: Sequence[Value]
    in_place: Sequence[Value] = ()
    """Inputs whose memory a value of the same shape and dtype may take over."""
    writes_rows: bool = False
    """Whether there may be gaps between the rows of its values."""
    writes_columns: bool = False
    """Whether columns of its values, and not rows, may lie side by side."""
    one_block: bool = False
    """Whether values of one shape and dtype lie side by side in memory."""
    divides_products: bool = False
    """Whether threads of the engine's own take parts of a product of matrices."""
    settles: bool = False
    """Whether it must know what is given before memory is allotted."""
    bytes: int = 0
    """Bytes of memory that it has of its own, once it is bound."""
    givable: Sequence[Value] = ()
    """Values that it can leave in new memory in each run, which is the caller's from then on."""

    @property
    def owner(self) -> Any:
        """The block to name if the task fails."""
        return self.values[0].owner

    def rooms(self) -> Mapping[Value, Room]:
        """Where some of the inputs had better be computed, so that there is nothing to copy."""
        return {}

    @property
    def covers(self) -> Sequence[Value]:
        """Every value that the task computes, including those it never writes."""
        return self.values

    def bind(self, arrays: Arrays) -> list[Step]:
        """The steps of the task on these arrays, which stay the same for all runs."""
        raise NotImplementedError  # every task has its own

    def give(self, memory: Mapping[Value, FreshMemory]) -> Task:
        """The task that leaves some ``givable`` values in this memory, and no longer in the plan's.

        It is called before memory is allotted, of a task that ``settles`` even if nothing is given.
        """
        return self

    def elementwise_parts(self) -> Sequence[Task]:
        """The tasks that this one does element by element, each after the one before."""
        return (self,)

    def release(self) -> None:
        """Forget what nobody needs once the task is bound, where that is much."""


_FAILING = frozenset({"power", "floor_divide", "remainder"})


class PlainTask(Task):
    """Computes one value with its primitive's kernel: the reference for every pass.

    ``can_fail`` marks elementwise arithmetic that fails for some integers (a negative power, a
    division by 0): it runs on its own, so that the block that failed can be named.
    """

    __slots__ = ("can_fail", "givable", "in_place", "inputs", "kernel", "operation", "value",
                 "values", "writes_rows")  # fmt: skip

    def __init__(self, value: Value, inputs: Sequence[Value]) -> None:
        self.value = value
        self.values = self.givable = (value,)
        self.inputs = inputs
        self.can_fail = value.primitive.name in _FAILING and value.dtype not in FLOATS
        is_outer = value.primitive is MATMUL and inputs[0].shape[-1] == 1
        self.operation = MULTIPLY if is_outer else value.primitive
        """The primitive, or an elementwise one that does the same: columns times rows."""
        self.kernel = MULTIPLY.kernel if is_outer else value.kernel
        is_elementwise = isinstance(self.kernel, np.ufunc) and self.kernel.signature is None
        self.in_place = inputs if is_elementwise else ()
        self.writes_rows = is_elementwise

    def bind(self, arrays: Arrays) -> list[Step]:
        """One call of the kernel; a view that memory does not allow is a copy."""
        value, out, kernel = self.value, arrays[self.value], self.kernel
        inputs = [arrays[source] for source in self.inputs]
        if value.primitive.view:
            return [_copying(value, inputs[0], out)]
        if value.primitive is CAST:
            return [partial(np.copyto, out, inputs[0], "unsafe")]
        if value.primitive is SUM:
            step = bound_total(inputs[0], value.attributes["axes"], out)
            if step is not None:
                return [step]
        if value.primitive is CONCAT and len(inputs) >= JOINED:
            step = _joining(value, inputs, out)
            if step is not None:
                return [step]
        if isinstance(kernel, np.ufunc) and kernel not in _KEYWORD_OUT:
            return [partial(kernel, *inputs, out)]
        return [partial(kernel, *inputs, out=out, **value.attributes)]

    def give(self, memory: Mapping[Value, FreshMemory]) -> Task:
        """A task that fills this memory, if the value is given."""
        if not memory:
            return self
        write = memory[self.value].write
        how = self.value, self.inputs, lambda arrays: partial(write, self.filling(arrays))
        return GivenTask(*how, self.divides_products)

    def filling(self, arrays: Arrays) -> Callable[[Array], object]:
        """What computes the value in any array like it: for results in new memory."""
        inputs = [arrays[x] for x in self.inputs]
        kernel, attributes = self.kernel, self.value.attributes
        return lambda out: kernel(*inputs, out=out, **attributes)


class GivenTask(Task):
    """Leaves one value in memory that is not the plan's, by a step on the plan's arrays."""

    values = ()

    def __init__(
        self,
        value: Value,
        inputs: Sequence[Value],
        step: Callable[[Arrays], Step],
        divides_products: bool = False,
    ) -> None:
        self.value = value
        self.inputs = inputs
        self.divides_products = divides_products
        self._step = step

    @property
    def owner(self) -> Any:
        """The block of the value, to name if the task fails."""
        return self.value.owner

    @property
    def covers(self) -> Sequence[Value]:
        """The value."""
        return (self.value,)

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step."""
        return [self._step(arrays)]


def copied(value: Value, target: Array) -> Task:
    """Copies a value to an array of the caller, where it could not be computed in it."""
    return GivenTask(value, (value,), lambda arrays: copying(arrays[value], target))


def freshly_copied(value: Value, memory: FreshMemory) -> Task:
    """Copies a result that may be a view into new memory."""

    def step(arrays: Arrays) -> Step:
        source = arrays[value]
        return partial(memory.write, filling(source, np.empty_like(source, order="C")))

    return GivenTask(value, (value,), step)


class FreshMemory:
    """New memory for a value in each run, which then belongs to the caller.

    Saves the copy that prevents results from aliasing the plan's memory. The memory is reused
    once nobody refers to it any more.
    """

    def __init__(self, value: Value) -> None:
        self._value = value
        self._given: list[Array] = []
        self._result: Array | None = None
        self._taken = False

    def write(self, fill: Callable[[Array], object]) -> None:
        """Find or make an array for the result of this run, and fill it."""
        out = self.renew()
        fill(out)
        self.keep(out)

    def renew(self) -> Array:
        """Find or make an array for the result of this run, to be filled and kept."""
        self._result, self._taken = None, False
        return self._unused()

    def keep(self, out: Array) -> None:
        """This array has the result of this run."""
        self._result = out

    def take(self) -> Array:
        """The result of the last run; from the second call on, a copy."""
        assert self._result is not None, "the plan has run"
        if self._taken:
            return self._result.copy()
        self._taken = True
        return self._result

    def _unused(self) -> Array:
        for i in range(len(self._given)):
            if is_unshared(self._given, i):
                return self._given[i]
        array = allocate(self._value, self._value.shape, NUMPY[self._value.dtype])
        if len(self._given) < _HELD:
            self._given.append(array)
        return array


def _joining(value: Value, inputs: Sequence[Array], out: Array) -> Step | None:
    """One copy of what lies side by side in memory, as results of a group do: of thousands of equal
    chains numpy takes more than half of the time to join the results.
    """
    if value.attributes["axis"] or len({x.shape for x in inputs}) > 1:
        return None
    whole = as_view(inputs)
    return None if whole is None else partial(np.copyto, out.reshape(whole.shape), whole)


def _copying(value: Value, x: Array, out: Array) -> Step:
    """Copies a view of x; of x in another shape, which may be none, from its own shape."""
    kernel, attributes = value.primitive.kernel, value.attributes
    if value.primitive is RESHAPE and out.flags.c_contiguous:
        out, view = out.reshape(x.shape), x
    else:
        view = kernel(x, **attributes)
    if not np.may_share_memory(view, x):
        return lambda: np.copyto(out, kernel(x, **attributes))
    return copying(view, out)


def times(
    tasks: Sequence[Task], kept: Collection[Value] = ()
) -> tuple[dict[Value, int], dict[Value, int]]:
    """The places of the tasks that make and that last read each value, or a view of it. What is
    kept is read after all tasks.
    """
    roots: dict[Value, Value] = {}
    made: dict[Value, int] = {}
    read: dict[Value, int] = defaultdict(int)
    for i, task in enumerate(tasks):
        for x in task.inputs:
            read[x] = read[roots.get(x, x)] = i
        for value in task.values:
            made[value] = i
            if value.primitive.view and task.inputs:
                roots[value] = roots.get(task.inputs[0], task.inputs[0])
    for x in kept:
        read[x] = read[roots.get(x, x)] = len(tasks)
    return made, read


def still_read(
    tasks: Sequence[Task], kept: Collection[Value], inner: Collection[Value] | None = None
) -> list[Task]:
    """The tasks without those of values, or of some ``inner`` ones, that nobody reads any more."""
    read, found = set(kept), []
    for task in reversed(tasks):
        is_asked = isinstance(task, PlainTask) and (inner is None or task.value in inner)
        if not is_asked or task.values[0] in read:
            read.update(task.inputs)
            found.append(task)
    return found[::-1]
