"""Runs scans: a plan of some steps in a row, which is run as often as it takes.

A plan of a single step would cost more calls than arithmetic, and one of all steps takes time and
memory that grow with their number. The results of a scan are computed together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.errors import Location, RunError
from gradwire.runtime.calculus import Trace, Value, result_of, unwrap
from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.calculus.scan import copied, needed_values
from gradwire.runtime.engine.plan.memory import allocate
from gradwire.runtime.engine.plan.simplify import IDENTITIES
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Body
    from gradwire.runtime.engine.plan.plan import Plan

Planner: TypeAlias = (
    "Callable[[Sequence[Value], Mapping[Value, Array], Sequence[tuple[Value, Array]]], Plan]"
)
"""Plans some values on arrays for leaves, and leaves them in others."""

FEWEST, MOST = 32, 40
"""Steps of one plan, where a scan has so many: below, too few products are alike to be compiled."""
OPERATIONS = 4_000
"""Operations of one plan, but for the steps of bodies that have more."""


def scans_joined(tasks: Sequence[Task], plan: Planner) -> list[Task]:
    """The tasks, with one for all results of a scan where the first of them was."""
    found: list[Task] = []
    alike: dict[tuple[object, ...], ScanTask] = {}
    for task in tasks:
        if not (isinstance(task, PlainTask) and task.value.primitive.together is not None):
            found.append(task)
            continue
        key = task.value.attributes["body"], *map(id, task.inputs)
        if key in alike:
            alike[key].values.append(task.value)
        else:
            found.append(alike.setdefault(key, ScanTask(task.value, task.inputs, plan)))
    return found


class ScanTask(Task):
    """Computes results of one scan."""

    def __init__(self, value: Value, inputs: Sequence[Value], plan: Planner) -> None:
        self.values: list[Value] = [value]
        self.inputs = inputs
        self._plan = plan
        self.bytes = 0

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step that runs the plan of some steps for all of them."""
        body: Body = self.values[0].attributes["body"]
        given = [arrays[x] for x in self.inputs]
        targets = [(value, arrays[value]) for value in self.values]
        run = _Run(body, given, targets, self._plan)
        self.bytes = run.bytes
        return [run]


class _Owner(NamedTuple):
    """The block of a body that a value of a plan is of, and its step, by its place in the plan."""

    block: str | None
    step: int


@by_identity
class _Piece(NamedTuple):
    """The plan of some steps in a row, and what goes in and out."""

    plan: Plan
    carried: Sequence[tuple[Array, Array]]
    """What is carried before and after these steps."""
    rows: Sequence[Array]
    stacks: Mapping[Value, Array]
    sums: Mapping[Value, tuple[Array, Array]]


class _Run:
    """A run over all steps, by plans for as many as there are at once."""

    def __init__(
        self,
        body: Body,
        given: Sequence[Array],
        targets: Sequence[tuple[Value, Array]],
        plan: Planner,
    ) -> None:
        self._body = body
        count, rows = len(body.carried), len(body.rows)
        self._entering, self._fixed = given[:count], given[count + rows :]
        self._rows = given[count : count + rows]
        self._targets: dict[str, list[tuple[Value, Array]]] = {"last": [], "stack": [], "sum": []}
        for value, array in targets:
            self._targets[value.attributes["kind"]].append((result_of(value), array))
        wanted = [result_of(value) for value, _ in targets]
        needed = needed_values([*wanted, *(each.after for each in body.carried)], body.leaves)
        self._steady: list[Value] = []
        """What is the same in all steps."""
        self._needed: list[Value] = []
        same = set(body.fixed)
        for value in needed:
            is_steady = same.issuperset(value.inputs)
            (self._steady if is_steady else self._needed).append(value)
            same |= {value} if is_steady else set()
        size = _size(body.steps, len(self._needed))
        bounds = [*range(0, body.steps, size), body.steps]
        self._parts = list(pairwise(bounds))[:: -1 if body.reverse else 1]
        self._state = [_room(each.before) for each in body.carried]
        self._sums = {value: _room(value) for value, _ in self._targets["sum"]}
        self._pieces = {
            length: self._piece(length, plan) for length in {b - a for a, b in self._parts}
        }
        rooms = [*self._state, *self._sums.values()]
        for piece in self._pieces.values():
            rooms += [*piece.rows, *piece.stacks.values(), *(after for _, after in piece.carried)]
        self.bytes = sum(room.nbytes for room in rooms) + sum(
            piece.plan.bytes for piece in self._pieces.values()
        )

    def __call__(self) -> None:
        """Run all steps."""
        for room, array in zip(self._state, self._entering, strict=True):
            np.copyto(room, array)
        for total in self._sums.values():
            total.fill(-0.0 if total.dtype.kind == "f" else 0)
        for start, stop in self._parts:
            piece = self._pieces[stop - start]
            for room, array in zip(piece.rows, self._rows, strict=True):
                np.copyto(room, array[start:stop])
            try:
                piece.plan.execute()
            except RunError as error:
                owner: Any = error.location.block if error.location is not None else None
                if isinstance(owner, _Owner):
                    block = self._body.owner(owner.block, start + owner.step)
                    error.location = None if block is None else Location(block=block)
                raise
            for before, after in (*piece.carried, *piece.sums.values()):
                np.copyto(before, after)
            for value, array in self._targets["stack"]:
                np.copyto(array[start:stop], piece.stacks[value])
        for value, array in self._targets["sum"]:
            np.copyto(array, self._sums[value])
        for value, array in self._targets["last"]:
            np.copyto(array, self._state[self._place_of(value)])

    def _place_of(self, value: Value) -> int:
        afters = [each.after for each in self._body.carried]
        return next(place for place, after in enumerate(afters) if after is value)

    def _piece(self, length: int, plan: Planner) -> _Piece:
        """The plan of so many steps."""
        body, trace = self._body, Trace()
        given: dict[Value, Array] = {}

        def leaf(array: Array, like: Value) -> Value:
            made = trace.apply(LEAF, shape=array.shape, dtype=like.dtype)
            given[made] = array
            return made

        carried = [leaf(r, c.before) for r, c in zip(self._state, body.carried, strict=True)]
        rooms = [_room(x, length) for x in body.rows]
        rows = [leaf(room, x) for room, x in zip(rooms, body.rows, strict=True)]
        fixed = [leaf(array, x) for array, x in zip(self._fixed, body.fixed, strict=True)]
        steady = dict(zip(body.fixed, fixed, strict=True))
        for x in self._steady:
            steady[x] = _again(x, steady, trace, x.owner)
        found: dict[int, dict[Value, Value]] = {}
        for step in range(length)[:: -1 if body.reverse else 1]:
            trace.owner = None
            now = [trace.xp.index(x, step) for x in rows]
            known = steady | dict(zip(body.leaves, (*carried, *now, *fixed), strict=True))
            for x in self._needed:
                known[x] = _again(x, known, trace, _Owner(x.owner, step))
            carried = [known[each.after] for each in body.carried]
            found[step] = known
        trace.owner = None
        places: list[tuple[Value, Array]] = []

        def placed(value: Value, room: Array) -> Array:
            places.append((value, room))
            return room

        after = [
            (room, placed(value, np.empty_like(room)))
            for room, value in zip(self._state, carried, strict=True)
        ]
        stacks, taken = {}, set[Value]()
        for value, _ in self._targets["stack"]:
            rows_of = [unwrap(found[step][value]) for step in range(length)]
            stacks[value] = room = _room(value, length)
            if taken.isdisjoint(rows_of) and not any(map(_is_elsewhere, rows_of)):
                taken.update(rows_of)
                places += zip(rows_of, room, strict=True)
            else:
                placed(trace.xp.stack(rows_of), room)
        sums = {}
        for value, total in self._sums.items():
            parts = [known[value] for known in found.values()]
            whole = sum(parts[1:], start=parts[0]) + leaf(total, value)
            sums[value] = total, placed(whole, np.empty_like(total))
        made = plan([value for value, _ in places], given, places)
        return _Piece(made, after, rooms, stacks, sums)


def _again(value: Value, known: Mapping[Value, Value], trace: Trace, owner: Any) -> Value:
    """A value of the body in a step, by what its inputs are there."""
    inputs = [known[x] for x in value.inputs]
    return inputs[0] if value.primitive in IDENTITIES else copied(value, trace, inputs, owner)


def _is_elsewhere(value: Value) -> bool:
    """Whether a value can't be computed where it is wanted."""
    return value.primitive.view or value.primitive is LEAF or not value.shape


def _room(value: Value, *lengths: int) -> Array:
    return allocate(value, (*lengths, *value.shape), NUMPY[value.dtype])


def _size(steps: int, operations: int) -> int:
    """The steps of one plan: so many that few are left over."""
    most = max(1, min(steps, MOST, OPERATIONS // max(1, operations)))
    return min(range(most, min(most, FEWEST) - 1, -1), key=lambda count: steps % count)
