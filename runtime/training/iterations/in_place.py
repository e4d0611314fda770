"""Iterations of the NumPy engine: variables are updated where the plans read them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.engine.norms import square_sum, sum_of_squares
from gradwire.runtime.engine.plan.sparse_rows import added, form_of
from gradwire.runtime.training.iterations.averages import Averaging
from gradwire.runtime.training.iterations.flat_buffers import (
    FlatBuffer,
    FlatSlice,
    VariableSpec,
    flat_slices,
    in_order,
    variable_specs,
)
from gradwire.runtime.training.iterations.protocols import Sizes
from gradwire.runtime.training.optimisers import rate
from gradwire.runtime.training.optimisers.arithmetic import Arithmetic
from gradwire.runtime.training.records import DivergedError, OptimiserRecord, StepRecord

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.diagram.training import Clip
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.plan.numpy_engine import ArrayUpdate
    from gradwire.runtime.engine.plan.sparse_rows import SparseRows
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.resident import Pending, Resident, ResidentCall
    from gradwire.runtime.training.optimisers.arithmetic import UpdateProgram
    from gradwire.runtime.training.recipe import Recipe, ResolvedRule


# Clipping of the gradients of an optimiser, all together.

_ROOM = 1e-6
"""Added to the norm, as PyTorch does."""


def clip_gradients(gradients: Iterable[Array], clip: Clip, norm: float) -> None:
    """Limit gradients in place: each number, or all together by their Euclidean ``norm``.

    Source: Pascanu, Mikolov & Bengio 2013, On the Difficulty of Training Recurrent Neural Networks.
    """
    if clip.by == "value":
        for gradient in gradients:
            np.clip(gradient, -clip.limit, clip.limit, out=gradient)
    elif (factor := min(1.0, clip.limit / (norm + _ROOM))) < 1:
        for gradient in gradients:
            np.multiply(gradient, factor, out=gradient)


# An optimiser at work: its passes, its gradient, and the update of all its variables at once.


@by_identity
class _ParameterGroup(NamedTuple):
    """Variables of one rate that lie side by side: their values, and then their gradients."""

    flat_slice: FlatSlice
    lr: float
    weight_decay: float
    slots: Mapping[str, Array]
    """The optimiser's state, by name."""
    updates: dict[UpdateProgram, ArrayUpdate]
    """How they move, by what an update does."""


class _Meter:
    """Sums of squares of variables that lie side by side."""

    def __init__(self, flat_slice: FlatSlice) -> None:
        pairs = zip(flat_slice.paths, flat_slice.cuts, flat_slice.cuts[1:], strict=False)
        places = [(path, start, stop - start) for path, start, stop in pairs if stop > start]
        self.paths = [path for path, _, _ in places]
        self._lengths = [length for _, _, length in places]
        self._starts = np.array([start for _, start, _ in places], np.intp)
        self._values, self._gradients = flat_slice.flat[:2]
        self._squares = np.empty_like(self._values)

    def sizes(self) -> Sizes:
        return Sizes(
            self.paths, self._lengths, self._sums(self._values), self._sums(self._gradients)
        )

    def _sums(self, flat: Array) -> Array:
        np.multiply(flat, flat, out=self._squares)
        return np.add.reduceat(self._squares, self._starts)


class InPlaceOptimiserStep:
    """One rule of a recipe: ``collect`` takes its gradient, ``update`` moves its variables."""

    def __init__(self, resolved: ResolvedRule, pending: Pending, ports: Sequence[PortPath]) -> None:
        self.rule = resolved.rule
        self.name = self.rule.name
        self.heads = resolved.heads
        self.connected, self.missing = pending.connected, pending.missing
        self.updates = 0
        """Updates since the start."""
        self.losses: dict[str, float] = {}
        """The losses of the gradient that was collected last."""
        self.watched: dict[str, float] = {}
        """The recorded ports in its first pass, if it is the first of an iteration."""
        self.norm: float | None = None
        """The Euclidean norm of that gradient before clipping; None without a gradient."""
        self.lr = 0.0
        """The learning rate of the last update, in the first group."""
        self._resolved = resolved
        self._first_lr = resolved.numbers_of(self.connected[0])[0] if self.connected else 0.0
        self._pending = pending
        self._ports = tuple(ports)
        self._arithmetic = Arithmetic(self.rule.method)
        self._gradient = FlatBuffer()
        self._pass = FlatBuffer() if self.rule.accumulate > 1 else self._gradient
        self._parts: list[_ParameterGroup] = []
        self._meters: list[_Meter] = []
        self._tables: list[SparseTable] = []
        self._values = FlatBuffer()
        self._call: ResidentCall
        self._resident: Resident
        self._totals: dict[str, Callable[[], float]] = {}
        self._means: dict[str, Callable[[], float]] = {}

    def sizes(self) -> list[Sizes]:
        """The sizes of its variables and gradients, for each dtype and rate."""
        found = [meter.sizes() for meter in self._meters if meter.paths]
        return found + [table.sizes() for table in self._tables]

    def value(self, path: str) -> Array:
        """A copy of a variable as it is now."""
        return self._values.arrays[path].copy()

    def allocate(
        self, values: FlatBuffer, specs: Mapping[str, VariableSpec], shared: Collection[str]
    ) -> None:
        """Give the variables their memory, unless another optimiser did, and the gradients.

        Variables that are ``shared`` with another optimiser are updated as wholes.
        """
        self._values = values
        for names in self._groups(specs):
            lr, decay = self._resolved.numbers_of(names[0])
            tables = [n for n in names if n not in shared and self._has_few_rows(specs[n], decay)]
            names = [name for name in names if name not in tables]
            for buffer in (values, self._gradient, self._pass):
                buffer.add(specs[name] for name in names)
            values.add(specs[name] for name in tables)
            for flat_slice in flat_slices((values, names), (self._gradient, names)):
                slots = self._arithmetic.slots(flat_slice.flat[0])
                self._parts.append(_ParameterGroup(flat_slice, lr, decay, slots, {}))
                self._meters.append(_Meter(flat_slice))
            for name in tables:
                array = values.arrays[name]
                slots = self._arithmetic.slots(array)
                self._tables.append(SparseTable(name, array, slots, lr, decay))

    def reset(self) -> None:
        """The variables may have other values than the last update left."""
        for table in self._tables:
            table.reset()

    def plan(self, resident: Resident) -> None:
        """Plan the passes, once all variables have their memory."""
        tables = [table.path for table in self._tables]
        self._call = call = resident.plan(self._pending, self._pass.arrays, tables)
        self._totals = {str(head): call.total(head) for head in self.heads}
        self._means = {str(port): call.mean(port) for port in self._ports}
        self._resident = resident

    def collect(self, session: Session, watch: bool) -> None:
        """Run as many passes as make one update, and keep their losses and gradient, and with
        ``watch`` the recorded ports.

        Each pass counts as a step of the session. Raises DivergedError where a loss or a gradient
        is not finite, before that step is counted.
        """
        times = self.rule.accumulate
        squared = self._one_pass(session, watch)
        if times > 1:
            totals = self.losses
            for total, block in zip(self._gradient.blocks, self._pass.blocks, strict=True):
                np.copyto(total, block)
            for _ in range(times - 1):
                before = [table.gradient for table in self._tables]
                self._one_pass(session, False)
                totals = {port: total + self.losses[port] for port, total in totals.items()}
                for total, block in zip(self._gradient.blocks, self._pass.blocks, strict=True):
                    np.add(total, block, out=total)
                for table, rows in zip(self._tables, before, strict=True):
                    table.gradient = added([rows, table.gradient])
            if self.rule.reduce == "mean":
                totals = {port: total / times for port, total in totals.items()}
                for total in self._gradients():
                    np.divide(total, times, out=total)
            self.losses = totals
            squared = _squares(self._gradients())
        self.norm = math.sqrt(squared) if self.connected else None

    def update(self) -> None:
        """Clip the gradient and move the variables.

        Raises DivergedError where a variable is not finite after it.
        """
        if not self.connected:
            return
        if self.rule.clip is not None:
            clip_gradients(self._gradients(), self.rule.clip, self.norm or 0.0)
        count = self.updates + 1
        squared = sum(self._moved(part, count) for part in self._parts)
        for table in self._tables:
            squared += table.update(self._arithmetic, count, self._rate(table.lr))
        self.lr = self._rate(self._first_lr)
        self.updates = count
        if not math.isfinite(squared):
            self._require_finite_variables()

    def _moved(self, part: _ParameterGroup, count: int) -> float:
        """Move variables that lie side by side; returns the sum of their squares."""
        program = self._arithmetic.program(count, part.weight_decay)
        update = part.updates.get(program)
        if update is None:
            arrays = (*part.flat_slice.flat, *part.slots.values())
            update = part.updates[program] = self._resident.update(program.recording, arrays)
        return update.run(program.numbers(count, self._rate(part.lr), part.weight_decay))

    def record(self) -> OptimiserRecord:
        """What it did in the iteration."""
        return OptimiserRecord(self.lr, self.norm, self.missing, self.connected, self.updates)

    def take_flag(self) -> bool:
        """Whether its passes since the last call made a number that is not finite of others."""
        return self._call.plan.flag.take()

    def state(self) -> dict[str, Array]:
        """Copies of the optimiser's arrays, by slot and variable."""
        return {
            f"{slot}/{path}": array.copy()
            for part in self._parts
            for slot, flat in part.slots.items()
            for path, array in part.flat_slice.parts(flat).items()
        } | {
            f"{slot}/{table.path}": array.reshape(-1).copy()
            for table in self._tables
            for slot, array in table.slots.items()
        }

    def restore(self, arrays: Mapping[str, Array], updates: int) -> None:
        """Take over what ``state`` returned."""
        self.updates = updates
        for part in self._parts:
            for slot, flat in part.slots.items():
                for path, array in part.flat_slice.parts(flat).items():
                    np.copyto(array, arrays[f"{slot}/{path}"].reshape(-1))
        for table in self._tables:
            for slot, array in table.slots.items():
                np.copyto(array, arrays[f"{slot}/{table.path}"].reshape(array.shape))

    def _groups(self, specs: Mapping[str, VariableSpec]) -> list[list[str]]:
        """The variables with a gradient, apart where rate, decay or dtype differ."""
        found: dict[tuple[object, ...], list[VariableSpec]] = {}
        for name in self.connected:
            key = (*self._resolved.numbers_of(name), specs[name].dtype)
            found.setdefault(key, []).append(specs[name])
        return [[spec.path for spec in in_order(members)] for members in found.values()]

    def _one_pass(self, session: Session, watch: bool) -> float:
        """Run once and return the sum of squares of the gradient."""
        self._call.run()
        self.losses = {head: total() for head, total in self._totals.items()}
        if watch:
            self.watched = {port: mean() for port, mean in self._means.items()}
        for table in self._tables:
            table.gradient = self._call.rows(table.path)
        squared = _squares([*self._pass.blocks, *self._rows()])
        if not math.isfinite(sum(self.losses.values()) + squared):
            self._require_finite_pass()
        session.step_number += 1
        return squared

    def _rate(self, lr: float) -> float:
        return rate(self.rule.schedule, lr, self.updates)

    def _gradients(self) -> list[Array]:
        """All numbers of the gradient that may differ from 0, in one dimension."""
        return [*self._gradient.blocks, *self._rows()]

    def _rows(self) -> list[Array]:
        return [table.gradient.values.reshape(-1) for table in self._tables]

    def _has_few_rows(self, spec: VariableSpec, weight_decay: float) -> bool:
        """Whether an update has to move only those rows of a variable that were looked up."""
        gradient = self._pending.derived.results["gradients"][spec.path]
        by_rows = gradient is not None and form_of(gradient) is not None
        return by_rows and self._arithmetic.rests(spec.dtype, weight_decay)

    def _require_finite_pass(self) -> None:
        losses = tuple(name for name, loss in self.losses.items() if not math.isfinite(loss))
        if losses:
            raise DivergedError("loss", losses, self.name)
        tables = {table.path: table.gradient.values for table in self._tables}
        names = _not_finite(self._pass.arrays | tables)
        if names:
            raise DivergedError("gradient", names, self.name)

    def _require_finite_variables(self) -> None:
        parts = [part.flat_slice.parts(part.flat_slice.flat[0]) for part in self._parts]
        names = _not_finite(
            {path: array for part in parts for path, array in part.items()}
            | {table.path: table.values for table in self._tables}
        )
        if names:
            raise DivergedError("variable", names, self.name)


def _not_finite(arrays: Mapping[str, Array]) -> tuple[str, ...]:
    return tuple(name for name, array in arrays.items() if not np.isfinite(array).all())


def _squares(blocks: Iterable[Array]) -> float:
    """The sum of the squares of all elements of flat arrays."""
    return sum(map(sum_of_squares, blocks))


# Tables of which a step moves only the rows that were looked up.


class SparseTable:
    """A variable whose gradient has few rows, for methods that a gradient of 0 leaves idle.

    A step costs as much as these rows: what the other rows have is known from the steps before,
    unless ``reset`` says that they may have other values.
    """

    def __init__(
        self,
        path: str,
        values: Array,
        slots: Mapping[str, Array],
        lr: float,
        weight_decay: float,
    ) -> None:
        self.path = path
        self.values = values
        self.slots = slots
        """The optimiser's state, in arrays of the table's shape."""
        self.lr = lr
        self.weight_decay = weight_decay
        self.gradient: SparseRows
        """The gradient of a pass, or of those that make one update."""
        self._is_known = False
        self._squares: NDArray[np.float64] | None = None
        """The sum of the squares of each row, once somebody asked for sizes."""

    def reset(self) -> None:
        """The table may have other values than the last update left."""
        self._is_known, self._squares = False, None

    def update(self, arithmetic: Arithmetic, count: int, lr: float) -> float:
        """Move the rows; returns a sum of squares that is finite if all of the table is, unless it
        overflows.
        """
        rows = self.gradient.rows
        moved, *state = (array[rows] for array in (self.values, *self.slots.values()))
        slots = {name: array.reshape(-1) for name, array in zip(self.slots, state, strict=True)}
        arithmetic.update(
            moved.reshape(-1),
            self.gradient.values.reshape(-1),
            slots,
            count=count,
            lr=lr,
            weight_decay=self.weight_decay,
        )
        for array, new in zip((self.values, *self.slots.values()), (moved, *state), strict=True):
            array[rows] = new
        if self._squares is not None:
            self._squares[rows] = _row_squares(moved)
        known, self._is_known = self._is_known, True
        return sum_of_squares((moved if known else self.values).reshape(-1))

    def sizes(self) -> Sizes:
        """The sizes of the table and its gradient."""
        if self._squares is None:
            self._squares = _row_squares(self.values)
        values, gradient = self._squares.sum(), square_sum(self.gradient)
        return Sizes([self.path], [self.values.size], np.array([values]), np.array([gradient]))


def _row_squares(rows: Array) -> NDArray[np.float64]:
    flat = rows.reshape(len(rows), -1)
    found: NDArray[np.float64] = np.einsum("ij,ij->i", flat, flat, dtype=np.float64)
    return found


class InPlaceIterations:
    """Makes one iteration in each call; see ``Iterations``."""

    def __init__(self, session: Session, recipe: Recipe, program: Program) -> None:
        self._session = session
        self._recipe = recipe
        # Entering a context costs a tenth of np.errstate, which numpy keeps in a context variable.
        self._silent = copy_context()
        self._silent.run(np.seterr, all="ignore")  # what is not finite shows in the numbers
        self._resident = resident = session.resident(program)
        self.optimisers: list[InPlaceOptimiserStep] = []
        for rule, watched in recipe.passes():
            pending = resident.derive(rule.heads, rule.variables, (*rule.heads, *watched))
            self.optimisers.append(InPlaceOptimiserStep(rule, pending, watched))
        self._averages = [Averaging(rule, pairs) for rule, pairs in recipe.averages]
        self._values = FlatBuffer()
        found = variable_specs(resident.program)
        owners = Counter(name for rule in recipe.rules for name in rule.variables)
        shared = {name for name, count in owners.items() if count > 1}
        for optimiser in self.optimisers:
            optimiser.allocate(self._values, found, shared)
        for average in self._averages:
            average.allocate(self._values, found)
        resident.settle(self._values.arrays)
        for optimiser in self.optimisers:
            optimiser.plan(resident)
        resident.refresh()

    @property
    def program(self) -> Program:
        """The program that they run."""
        return self._resident.program

    @property
    def lock(self) -> AbstractContextManager[object]:
        """What calls of the session hold."""
        return self._resident.lock

    @property
    def moving(self) -> Collection[str]:
        """The paths of the variables that iterations move."""
        return self._values.arrays.keys()

    @property
    def is_current(self) -> bool:
        """Whether nothing was set in the session since the last ``refresh`` or iteration."""
        return self._resident.is_current

    def parts(self) -> Iterator[tuple[str, Sequence[InPlaceOptimiserStep | Averaging]]]:
        """The optimisers and the averages, with what they are called in states."""
        yield "optimiser", self.optimisers
        yield "average", self._averages

    def refresh(self) -> None:
        """Take over what was set in the session; raises FeedError for an input without a value."""
        self._resident.refresh()
        self._reset()

    def assigned(self) -> Mapping[str, Array]:
        """What was set in the session, by path, but for the variables that move."""
        return self._resident.assigned()

    def restore(self, variables: Mapping[str, Array]) -> None:
        """Let the variables that move have these values."""
        for path, target in self._values.arrays.items():
            np.copyto(target, variables[path])
        self._resident.moved()
        self._reset()

    def _reset(self) -> None:
        for optimiser in self.optimisers:
            optimiser.reset()

    def make(self, first: int, count: int) -> tuple[list[StepRecord], DivergedError | None]:
        """Make one iteration, whatever ``count`` is; see ``Iterations``."""
        optimisers = [
            optimiser for optimiser in self.optimisers if first % optimiser.rule.every == 0
        ]
        try:
            losses = self._silent.run(self._run_optimisers, optimisers)
            for average in self._averages:
                if first % average.rule.every == 0:
                    self._silent.run(average.update)
        except DivergedError as error:
            error.iteration, error.step_number = first, self._session.step_number
            return [], error
        finally:
            self._resident.moved()
        watched = optimisers[0].watched if optimisers else {}
        records = {optimiser.name: optimiser.record() for optimiser in optimisers}
        return [StepRecord(first, losses, records, watched)], None

    def _run_optimisers(self, optimisers: Sequence[InPlaceOptimiserStep]) -> dict[str, float]:
        """All passes and updates of an iteration; returns each loss as it was first computed."""
        session = self._session
        losses: dict[str, float] = {}
        for action, optimiser, is_first in actions(optimisers, self._recipe.training.order):
            if action == "collect":
                optimiser.collect(session, is_first)
                losses = optimiser.losses | losses
            else:
                optimiser.update()
        return losses


def actions(optimisers: Sequence[Any], order: str) -> Iterator[tuple[str, Any, bool]]:
    """What happens in an iteration, in order: "collect" or "update", for which optimiser, and
    whether it is the first pass of the iteration.
    """
    simultaneous = order == "simultaneous"
    if simultaneous:
        for optimiser in optimisers:
            yield "collect", optimiser, optimiser is optimisers[0]
    for optimiser in optimisers:
        for number in range(optimiser.rule.steps):
            if number or not simultaneous:
                yield "collect", optimiser, optimiser is optimisers[0] and not number
            yield "update", optimiser, False
