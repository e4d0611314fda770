"""Computes rows once for all who want them: as rows, as a whole array, or measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.kernels.adding import sum_rows, sum_rows_by
from gradwire.runtime.calculus.primitives.gather import checked
from gradwire.runtime.engine.plan.native.adding import adder
from gradwire.runtime.engine.plan.native.clearing import clear
from gradwire.runtime.engine.plan.sparse.forms import Form, Lookup, Scaled, inside, read_by
from gradwire.runtime.engine.plan.sparse.sparse_rows import SparseRows, added
from gradwire.runtime.engine.plan.tasks import Arrays, FreshMemory, Step, Task

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value

Measure = Callable[[SparseRows], float]


class SparseTask(Task):
    """The rows of a form; with ``whole`` the whole array of them too, and what is measured.

    Passes take the form's value for one of its ``values`` in any case; ``give`` ends that.
    """

    settles = True

    def __init__(self, form: Form, whole: bool, measures: Mapping[Value, Measure]) -> None:
        self.form = form
        self.value = form.value
        self.values = [form.value, *measures]
        self.givable = (form.value,)
        self.inputs = read_by(form)
        self._whole = whole
        self.measures = measures
        """What is measured, by value."""
        self._fresh: FreshMemory | None = None
        self._at: Value = form.value
        self.compiles = False
        """Whether machine code may add the rows and clear the array; the bits are the same."""
        self._scratch: NDArray[np.intp] | None = None
        self.found: SparseRows
        """The rows of the last run."""

    @property
    def owner(self) -> Any:
        """The block to name if the task fails: that of the lookup it is at."""
        return self._at.owner

    @property
    def covers(self) -> Sequence[Value]:
        """The values of the form, and what is measured."""
        return [*inside(self.form), *self.measures]

    def give(self, memory: Mapping[Value, FreshMemory]) -> Task:
        """This task, which leaves the whole array, if it is wanted, in the memory given for it."""
        self._fresh = memory.get(self.value)
        if self._fresh is not None or not self._whole:
            self.values = [*self.measures]
        return self

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step, as the rows are other ones in each run."""
        whole = arrays[self.value] if self._whole and self._fresh is None else None
        measured = [(arrays[value], measure) for value, measure in self.measures.items()]

        def run() -> None:
            found = self.found = self._rows(self.form, arrays)
            fill = partial(found.fill, clear=clear if self.compiles else None)
            if self._fresh is not None:
                self._fresh.write(fill)
            elif whole is not None:
                fill(whole)
            for out, measure in measured:
                out[...] = measure(found)

        return [run]

    def _rows(self, form: Form, arrays: Arrays) -> SparseRows:
        if isinstance(form, Lookup):
            return self._looked_up(form, arrays[form.indices], arrays[form.updates])
        if isinstance(form, Scaled):
            return _scaled(form, self._rows(form.of, arrays), arrays)
        return added([self._rows(term, arrays) for term in form.terms])

    def _looked_up(self, form: Lookup, indices: Array, updates: Array) -> SparseRows:
        self._at = form.value
        length, *rest = form.value.shape
        flat = checked(indices, length).reshape(-1).astype(np.intp) % length
        self._at = self.value
        rows = updates.reshape(flat.size, *rest)
        add = adder(form.value.dtype, prod(rest)) if self.compiles else None
        if add is None:
            return SparseRows(*sum_rows(flat, rows), length)
        if self._scratch is None or len(self._scratch) < length:
            self._scratch = np.empty(length, np.intp)
        return SparseRows(*sum_rows_by(add, flat, rows, self._scratch), length)


def _scaled(form: Scaled, of: SparseRows, arrays: Arrays) -> SparseRows:
    """All rows are listed where the factor is not finite: it makes NaN of 0."""
    if form.factor is None:
        return SparseRows(of.rows, of.values.astype(NUMPY[form.value.dtype]), of.length)
    factor = arrays[form.factor]
    if not np.isfinite(factor):
        of = SparseRows(np.arange(of.length), of.dense(), of.length)
    return SparseRows(of.rows, np.multiply(of.values, factor), of.length)
