"""Rolls a computation: repeated segments become loops, everything else stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import CONSTANT
from gradwire.runtime.engine.jax.repeats.body import Body
from gradwire.runtime.engine.jax.repeats.building import Building
from gradwire.runtime.engine.jax.repeats.joining import Joining
from gradwire.runtime.engine.jax.repeats.operations import Operations
from gradwire.runtime.engine.jax.repeats.parts import Carried, Joined, Loop, Span, Zeros
from gradwire.runtime.engine.jax.repeats.segments import segments
from gradwire.runtime.engine.jax.repeats.sums import carry_sums

if TYPE_CHECKING:
    from gradwire.runtime.engine.jax.repeats.parts import Computed, Part

_Node: TypeAlias = "Value | Body"


class Limits(NamedTuple):
    """What a loop must bring. Costs are in operations that are repeated in a flat program, for
    which XLA uses the code of the first one again: each takes about half a millisecond to compile.
    """

    steps: int = 4
    """The fewest repetitions."""
    saved: int = 200
    """The fewest operations that loops spare the compiler, those together that share stacks."""
    access: int = 50
    """What a place costs that reads or writes a stack or a slice: it has code of its own."""
    row: int = 4
    """What it costs to put a value on a stack, or to take it from there."""


LIMITS = Limits()
_SHARE = 4
"""Loops that may together spare the compiler enough."""


def rolled(
    computed: Sequence[Computed], outputs: Iterable[Value], limits: Limits = LIMITS
) -> list[Part]:
    """The outputs' computation in parts, in order, with repetitions as loops.

    ``computed`` are values in order with their inputs, as ``simplify`` returns them; the outputs
    are among them. The same operations are applied to the same numbers in the same order, and
    sums over steps are added up in theirs: only a sum of slices' gradients leaves out additions
    of 0, which may give −0 where those give 0. Steps of a loop may contain loops. Time is linear
    in the number of values.
    """
    operations, wanted = Operations(computed), list(dict.fromkeys(outputs))
    refused: set[int] = set()
    while True:
        found = segments(operations, limits.steps, -(-limits.saved // _SHARE), refused)
        if not found:
            return list(computed)
        rolling = _Rolling(Building(operations, found, limits.steps), wanted)
        poor = rolling.poor(limits)
        if not poor:
            return rolling.parts(limits)
        refused |= poor


class _Rolling:
    """The parts that are needed, found from the outputs backwards."""

    def __init__(self, building: Building, outputs: Sequence[Value]) -> None:
        self._building, self._inputs = building, building.operations.inputs
        carry_sums(building)
        self._joining = Joining(building)
        self._joined: dict[Value, Joined] = dict(building.given.stacks)
        self._taken: dict[Body, list[Value]] = {body: [] for body in building.bodies.values()}
        self._stacked: dict[Body, dict[Value, None]] = {body: {} for body in self._taken}
        self._places: dict[int, Value] = {}
        self._sources: dict[_Node, list[_Node]] = {}
        pending: list[_Node] = list(outputs)
        while pending:
            node = pending.pop()
            if node not in self._sources:
                self._sources[node] = self._read(node)
                pending += self._sources[node]

    def poor(self, limits: Limits) -> set[int]:
        """The starts of the segments whose loops don't spare the compiler enough."""
        starts = {body: start for start, body in self._building.bodies.items()}
        groups: dict[Body, list[Body]] = {body: [body] for body in starts if body in self._sources}
        for body in list(groups):
            for other in self._stacks_of(body):
                if groups[other] is not groups[body]:
                    groups[body] += groups[other]
                    groups |= dict.fromkeys(groups[other], groups[body])
        saved = {body: self._saved(body, limits) for body in groups}
        return {
            starts[body]
            for body, group in groups.items()
            if sum(saved[each] for each in group) < limits.saved
        }

    def _stacks_of(self, body: Body) -> list[Body]:
        """The loops whose results a loop reads by stacks."""
        bases = [rows.base for rows, _ in body.rows]
        spans = [x for base in bases if base in self._joined for x in self._joined[base].pieces]
        stacks = [*bases, *(span.stack for span in spans if isinstance(span, Span))]
        found = [self._building.stacks[base] for base in stacks if base in self._building.stacks]
        return [home.body for home in found]

    def _saved(self, body: Body, limits: Limits) -> int:
        """The operations that a loop spares the compiler, less those that it costs."""
        made = [rows.base for rows, _ in body.rows if rows.base in self._building.given.stacks]
        slices = (
            len(body.rows)
            - len(made)
            - sum(rows.base in self._building.stacks for rows, _ in body.rows)
        )
        spared = (body.steps - 1) * (len(body.computed) + slices * limits.access)
        places = len(body.rows) + len(self._stacked[body])
        rows = len(self._taken[body]) + sum(len(self._joined[base].pieces) for base in made)
        return spared - places * limits.access - rows * limits.row

    def parts(self, limits: Limits) -> list[Part]:
        """All parts in order, the values that stay as they are as early as they were."""
        parts: list[Part] = []
        for node in self._ordered():
            if isinstance(node, Body):
                parts.append(self._loop(node, limits))
            elif node in self._joined:
                parts.append(self._joined[node])
            elif node in self._inputs and node not in self._building.homes:
                parts.append((node, self._inputs[node]))
        return parts

    def _read(self, node: _Node) -> list[_Node]:
        """What must be computed before."""
        if isinstance(node, Body):
            initial = [c.initial for c in node.carried if c.initial is not None]
            return [*initial, *(rows.base for rows, _ in node.rows), *node.fixed]
        if node in self._building.stacks:
            home = self._building.stacks[node]
            self._stacked[home.body][home.copy] = None
            return [home.body]
        if node in self._building.homes:
            home = self._building.homes[node]
            self._taken[home.body].append(node)
            return [home.body]
        joined = self._joined.get(node) or self._joining.joined(node)
        if joined is None:
            return list(self._inputs.get(node, ()))
        self._joined[node] = joined
        pieces = [x.stack if isinstance(x, Span) else x for x in joined.pieces]
        return [x for x in pieces if not isinstance(x, Zeros)]

    def _ordered(self) -> Iterator[_Node]:
        """The nodes, each behind what it reads."""
        done: set[_Node] = set()
        for start in sorted(self._sources, key=self._order):
            pending = [start]
            while pending:
                node = pending[-1]
                before = [x for x in self._sources[node] if x not in done]
                pending += before
                if not before:
                    pending.pop()
                    if node not in done:
                        done.add(node)
                        yield node

    def _order(self, node: _Node) -> int:
        order = self._building.operations.order
        return node.first if isinstance(node, Body) else order.get(node, len(order))

    def _place(self, row: int) -> Value:
        if row not in self._places:
            attributes = {"array": np.array(row, np.uint32)}
            self._places[row] = Value(Trace(), CONSTANT, (), attributes, (), "uint32")
        return self._places[row]

    def _loop(self, body: Body, limits: Limits) -> Loop:
        carried, last, single = list(body.carried), [], []
        places = {each.result: i for i, each in enumerate(carried)}
        stacked, homes = self._stacked[body], self._building.homes
        taken = [(value, homes[value]) for value in self._taken[body]]
        stacked |= {home.copy: None for _, home in taken if home.step < body.steps - 1}
        for value, home in taken:
            if home.step < body.steps - 1:
                place = self._place(body.row_of(home.step))
                single.append((value, body.stack(home.copy), place))
                continue
            if home.copy not in places:
                places[home.copy] = len(carried)
                carried.append(Carried(body.slot(home.copy), None, home.copy))
            last.append((value, places[home.copy]))
        results = [*(each.result for each in carried), *stacked]
        return Loop(
            body.steps,
            body.reverse,
            rolled(body.computed, results, limits),
            carried,
            [(slot, rows) for (rows, _), slot in body.rows.items()],
            [(slot, value) for value, slot in body.fixed.items()],
            [(body.stack(copy), copy) for copy in stacked],
            last,
            single,
            body.originals,
        )
