"""The plan that the numpy engine executes: pruned, simplified, optimised, memory allocated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from operator import length_hint
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import GradwireError, Location, RunError
from gradwire.blocks.plugins import PluginError
from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.primitives.base import CONSTANT, LEAF
from gradwire.runtime.engine.interruption import until_cancelled
from gradwire.runtime.engine.plan.jobs import joined, planned
from gradwire.runtime.engine.plan.memory import BlockArrays, Memory, allocate
from gradwire.runtime.engine.plan.passes import DEFAULT, Pass
from gradwire.runtime.engine.plan.passes.late import groups, groups_of_few
from gradwire.runtime.engine.plan.simplify import Same, simplify
from gradwire.runtime.engine.plan.sparse_rows import SparseRows, rows_of, rows_reader
from gradwire.runtime.engine.plan.tasks import (
    FreshMemory,
    PlainTask,
    Step,
    Task,
    copied,
    freshly_copied,
    times,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.passes.lookups import SparseTask


INVALID = (IndexError, ValueError, MemoryError, ArithmeticError)
"""What the kernels of the library raise for invalid numbers."""

WORTH_GIVING = 1 << 14
"""Elements from which computing a result in new memory is cheaper than copying it."""


class Flag:
    """Whether numpy has divided by zero, overflowed, or made NaN of other numbers in some run.

    Threads and machine code don't raise it.
    """

    def __init__(self) -> None:
        self.is_raised = False

    def take(self) -> bool:
        """Whether it is raised; it is not any more afterwards."""
        was_raised, self.is_raised = self.is_raised, False
        return was_raised

    def listen(self) -> None:
        """Let numpy raise it from now on in this context, where it would warn."""
        np.seterr(divide="call", over="call", invalid="call", under="ignore")
        np.seterrcall(self._raise)

    def _raise(self, kind: str, flags: int) -> None:
        self.is_raised = True


class Plan:
    """Computes some values of a trace from its leaves.

    Values that no output needs are pruned, equal values are computed once, and values that depend
    only on constants are computed when the plan is made. ``passes`` replace tasks by faster ones
    with the same results; without passes every value is one call of its kernel, which is the
    reference. Not thread-safe.

    ``leaves`` are arrays of the caller for leaves, which several plans may read; the others get
    arrays of their own. ``places`` are arrays of the caller in which outputs are left by each run,
    contiguous and of the output's shape and dtype; one may be the array of a leaf, which then has
    the output after the run, and else must not overlap any. ``sparse`` are outputs with a form (see
    ``form_of``) of which the rows are wanted, and not the whole array.
    """

    def __init__(
        self,
        outputs: Sequence[Value],
        passes: Sequence[Pass] = DEFAULT,
        leaves: Mapping[Value, Array] | None = None,
        places: Sequence[tuple[Value, Array]] = (),
        sparse: Collection[Value] = (),
    ) -> None:
        self.leaves: dict[Value, Array] = {}
        self._arrays = BlockArrays()
        self._steps: list[Step] = []
        self._workers: list[Task] = []
        self._fresh: dict[Value, FreshMemory] = {}
        self._by_rows: dict[Value, SparseTask] = {}
        self.flag = Flag()
        """Raised by runs."""
        # Entering a context costs a tenth of np.errstate, which numpy keeps in a context variable.
        self._silent = copy_context()
        self._silent.run(self.flag.listen)
        computed, self._same = simplify(outputs)
        self._sparse = frozenset(sparse)
        by_rows = {self._same.of(value) for value in sparse}
        kept = {self._same.of(value) for value in outputs if value not in self._sparse}
        self._bind_leaves((v for v, _ in computed if v.primitive is LEAF), leaves or {})
        placed: dict[Value, Array] = {}
        for value, array in places:
            placed.setdefault(self._same.of(value), array)
        with np.errstate(all="ignore"):
            tasks: list[Task] = [
                PlainTask(value, inputs)
                for value, inputs in computed
                if not self._bound(value, inputs)
            ]
            if any(v.primitive.together is not None for v, _ in computed):
                from gradwire.runtime.engine.plan.scans import scans_joined  # few plans have loops

                # What a group computes for all steps at once is read from memory by each.
                few = [each for each in passes if each not in (groups, groups_of_few)]
                tasks = scans_joined(tasks, lambda values, *how: Plan(values, few, *how))
            if by_rows:
                from gradwire.runtime.engine.plan.passes.lookups import (
                    rows_looked_up,  # few plans need it
                )

                tasks, self._by_rows = rows_looked_up(tasks, kept, by_rows)
            for task_pass in passes:
                tasks = task_pass(tasks, kept)
            free = free_places(placed, self.leaves, tasks)
            memory = Memory(self._arrays, free)
            tasks = self._given_away(tasks, kept - placed.keys(), memory)
            working = memory.allot(tasks, kept - self._fresh.keys())
            with planned(tasks, self._silent):
                for task in (*working, *self._copies(places)):
                    steps = task.bind(self._arrays)
                    task.release()
                    self._steps += steps
                    self._workers += [task] * len(steps)
        rows = joined(self._steps)
        self._joined = [step for step, _ in rows]
        self._stand_for = [count for _, count in rows]
        self.bytes = memory.bytes + sum(task.bytes for task in working)
        """Bytes of memory for intermediate values and results."""
        self._forget_between(outputs)

    def run(self) -> None:
        """Execute; ``leaves`` must be filled.

        Raises RunError with the block that failed, and Interrupted where the run is cancelled.
        """
        self._silent.run(self.execute)

    def execute(self) -> None:
        """Run in the context of the caller, as a part of another plan."""
        steps = iter(self._joined)
        try:
            for step in until_cancelled(steps):
                step()
        except PluginError as error:
            raise self._failed(steps, error.what) from error
        except GradwireError:
            raise
        except Exception as error:  # the kernel of a plug-in may fail in any way
            why = str(error) if isinstance(error, INVALID) else repr(error)
            raise self._failed(steps, why) from error

    def _failed(self, steps: Iterator[Step], why: str) -> RunError:
        """The error of the step that was taken last."""
        left = length_hint(steps)
        before = sum(self._stand_for[: len(self._joined) - left])
        owner = self._workers[before - 1].owner
        place = Location(block=owner) if owner else None
        return RunError(f"The run failed: {why.rstrip('.')}.", location=place)

    def writer(self, leaf: Value) -> Callable[[Array], None]:
        """Copies an array into a leaf, cast to its dtype."""
        return partial(np.copyto, self.leaves[leaf], casting="unsafe")

    def reader(self, value: Value) -> Callable[[], Any]:
        """Returns a value after each run, as an array that does not alias the plan's memory, or as
        ``SparseRows``.
        """
        if value in self._sparse:
            return rows_reader(partial(self.rows, value))
        value = self._same.of(value)
        return self._fresh[value].take if value in self._fresh else self._arrays[value].copy

    def array(self, value: Value) -> Array | None:
        """The plan's own array of an output, which each run overwrites; None if each run computes
        the output in new memory.
        """
        value = self._same.of(value)
        return None if value in self._fresh else self._arrays[value]

    def rows(self, value: Value) -> SparseRows:
        """The rows of a ``sparse`` output in the last run, which the next run doesn't overwrite."""
        value = self._same.of(value)
        if value in self._by_rows:
            return self._by_rows[value].found
        return rows_of(self._arrays[value])  # it is constant

    def read(self, value: Value) -> Array:
        """A value after a run, as its ``reader`` returns it."""
        found: Array = self.reader(value)()
        return found

    @property
    def parts(self) -> list[tuple[Step, Task]]:
        """Every step in order, with the task it belongs to: for profiling."""
        return list(zip(self._steps, self._workers, strict=True))

    def __len__(self) -> int:
        """Number of steps."""
        return len(self._steps)

    def _given_away(self, tasks: list[Task], kept: Collection[Value], memory: Memory) -> list[Task]:
        """Compute large results that no task reads into new memory each run, to save a copy."""
        large = {value for value in kept if value.size >= WORTH_GIVING}
        if not large and not any(task.settles for task in tasks):
            return tasks
        read = {x for task in tasks for x in task.inputs}
        result: list[Task] = []
        for task in tasks:
            given = {
                value: FreshMemory(value)
                for value in task.givable
                if value in large and value not in read and not value.primitive.view
            }
            self._fresh |= given
            for value in given:
                memory.reserve(value)
            result.append(task.give(given) if given or task.settles else task)
        for value in large:
            if value.primitive.view and value not in self._arrays:
                self._fresh[value] = FreshMemory(value)
                memory.reserve(value)
                result.append(freshly_copied(value, self._fresh[value]))
        return result

    def _copies(self, places: Iterable[tuple[Value, Array]]) -> list[Task]:
        """Copies of the outputs that were not computed where the caller wants them."""
        wanted = [(self._same.of(value), array) for value, array in places]
        return [copied(v, array) for v, array in wanted if self._arrays[v] is not array]

    def _forget_between(self, outputs: Sequence[Value]) -> None:
        """Forget the arrays of all but leaves and results: the steps have what they need."""
        wanted = {value: self._same.of(value) for value in outputs}
        self._same = Same((value, of) for value, of in wanted.items() if value is not of)
        known = (*self.leaves, *dict.fromkeys(wanted.values()))
        self._arrays = self._arrays.only(known)

    def _bind_leaves(self, leaves: Iterable[Value], given: Mapping[Value, Array]) -> None:
        """Allocate leaves of one shape and dtype side by side, so that groups can stack them."""
        for leaf in (found := list(leaves)):
            if leaf in given:
                self._arrays[leaf] = given[leaf]
        self._arrays.lay(leaf for leaf in found if leaf not in given)
        self.leaves = {leaf: self._arrays[leaf] for leaf in found}

    def _bound(self, value: Value, inputs: Sequence[Value]) -> bool:
        """Whether a value needs no task: a leaf, a constant, or computed from constants."""
        primitive = value.primitive
        if primitive is LEAF:
            return True
        if primitive is CONSTANT:
            self._arrays[value] = value.attributes["array"]
            return True
        for x in inputs:  # ``any`` would take twice as long
            if x not in self._arrays or x in self.leaves:
                return False
        return self._folded(value, [self._arrays[x] for x in inputs])

    def _folded(self, value: Value, inputs: list[Array]) -> bool:
        """Compute a value of constants now; False if that fails, so that it fails in the run."""
        if value.primitive.view:
            self._arrays[value] = value.primitive.kernel(*inputs, **value.attributes)
            return True
        out = allocate(value, value.shape, NUMPY[value.dtype])
        try:
            value.kernel(*inputs, out=out, **value.attributes)
        except Exception:  # the run meets the same error and names the block
            return False
        self._arrays[value] = out
        return True


def free_places(
    placed: Mapping[Value, Array], leaves: Mapping[Value, Array], tasks: Sequence[Task]
) -> dict[Value, Array]:
    """The places in which values may be computed: of those that are the array of a leaf, the ones
    that nothing reads once they are written: it is read before a value is made, or for it, element
    by element.
    """
    owners = {id(array): leaf for leaf, array in leaves.items()}
    there = {x: owners[id(array)] for x, array in placed.items() if id(array) in owners}
    if not there:
        return dict(placed)
    order = [part for task in tasks for part in task.elementwise_parts()]
    made, last = times(order)

    def is_free(value: Value, leaf: Value) -> bool:
        at, read = made.get(value, -1), last.get(leaf, -1)
        if read != at:
            return read < at
        task = order[at]
        is_elementwise = isinstance(task, PlainTask) and task.value.primitive.elementwise
        return is_elementwise and leaf in set(task.inputs)

    taken = {x for x, leaf in there.items() if not is_free(x, leaf)}
    return {value: array for value, array in placed.items() if value not in taken}
