"""An optimiser at work: its passes, its gradient, and the update of all its variables at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.engine.norms import sum_of_squares
from gradwire.runtime.engine.plan.sparse_rows import added, form_of
from gradwire.runtime.training.diverged import DivergedError
from gradwire.runtime.training.iterations.flat_buffers import (
    FlatBuffer,
    FlatSlice,
    VariableSpec,
    flat_slices,
    in_order,
)
from gradwire.runtime.training.iterations.protocols import Sizes
from gradwire.runtime.training.iterations.tables import SparseTable
from gradwire.runtime.training.optimisers import rate
from gradwire.runtime.training.optimisers.arithmetic import Arithmetic
from gradwire.runtime.training.optimisers.clipping import clip_gradients
from gradwire.runtime.training.records import OptimiserRecord

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.plan.numpy_engine import ArrayUpdate
    from gradwire.runtime.engine.session.resident import Pending, Resident, ResidentCall
    from gradwire.runtime.training.optimisers.update_program import UpdateProgram
    from gradwire.runtime.training.recipe import ResolvedRule


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
