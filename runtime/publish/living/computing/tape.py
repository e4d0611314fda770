"""A program as data: what to compute in order, forward and backward, with every stop as a gate.

The backward part is that of the reverse sweep, with the StopGradients as gates that may be open.
Each value of it is computed only where gradient arrives at its *guard*, the forward value that it
belongs to; ``arrive`` lists for each forward value the ways on which that may be, so that "no
gradient" is decided by structure and never by a number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.plugins import is_own
from gradwire.runtime.calculus import BackwardRules, Primitive, Value, passes_gradient, sweep
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.base import CONSTANT, LEAF
from gradwire.runtime.calculus.primitives.gradient import CLIP_GRADIENT
from gradwire.runtime.engine.plan.simplify import IDENTITIES, equality_key
from gradwire.runtime.flow.structure.reachability import FlowGraph, Gate
from gradwire.runtime.publish.living.computing.numbers import attributes_of

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.engine.program import Program

Condition: TypeAlias = tuple[int, int]
"""Where a part of an adjoint comes from: the index of the reader, or ~k for the k-th loss; and the
switch that it passes, −1 for none."""

COLLECT = Primitive(
    "collect", lambda *parts, conditions: (parts[0].shape, parts[0].dtype), lambda *_, **__: None
)
"""Adds up the parts of an adjoint whose conditions hold."""
_PLAIN = IDENTITIES | {CLIP_GRADIENT}


class GatedRules(BackwardRules):
    """The runtime's rules, with the stops in ``gates`` open, and a record of what depends on them.

    ``arrivals`` has the conditions of every value that gradient may arrive at.
    """

    def __init__(self, gates: Mapping[Value, int], heads: Sequence[Value]) -> None:
        self.gates = gates
        self.arrivals: dict[Value, tuple[Condition, ...]] = {}
        self._origins: dict[Value, list[Condition]] = defaultdict(list)
        self._starts: list[tuple[int, Value]] = []
        for place, head in enumerate(heads):
            self._origins[head].append((~place, -1))

    def passes(self, value: Value, slot: int) -> bool:
        """As the runtime has it, and through gates."""
        return passes_gradient(value, slot) or (value in self.gates and is_float(value.dtype))

    def total(self, value: Value, parts: Sequence[Value]) -> Value:
        """The only part, or those of several that there are."""
        self._starts.append((len(value.trace.values), value))
        self.arrivals[value] = conditions = tuple(self._origins[value])
        if len(parts) == 1:
            return parts[0]
        return value.trace.apply(COLLECT, *parts, conditions=conditions)

    def contribution(self, adjoint: Value, value: Value, slot: int) -> Value:
        """What comes back through a slot; all of it through a gate."""
        self._origins[value.inputs[slot]].append((value.index, self.gates.get(value, -1)))
        return adjoint if value in self.gates else super().contribution(adjoint, value, slot)

    def guards(self, end: int) -> dict[Value, int]:
        """The index of the forward value that each value of the sweep belongs to."""
        if not self._starts:
            return {}
        values = self._starts[0][1].trace.values[:end]
        stops = [start for start, _ in self._starts[1:]] + [end]
        return {
            made: value.index
            for (start, value), stop in zip(self._starts, stops, strict=True)
            for made in values[start:stop]
        }


class Op(NamedTuple):
    """One value to compute: ``guard`` is the forward value at which gradient must arrive, or −1."""

    value: Value
    inputs: tuple[int, ...]
    guard: int


@dataclass(frozen=True)
class Tape:
    """The operations of a program in order, and their JSON."""

    program: Program
    ops: tuple[Op, ...]
    data: dict[str, Any]


def tape_of(program: Program, paths: Mapping[InstancePath, int]) -> Tape:
    """The tape of a freshly lowered program; ``paths`` has the switch of each StopGradient."""
    end = program.forward_end
    forward = program.trace.values[:end]
    gates = {v: paths[v.owner] for v in forward if v.primitive.stops and v.owner in paths}
    heads = [program.ports[head] for head in program.heads()]
    rules = GatedRules(gates, heads)
    reached = _reached(program, rules)
    wanted = {v for v in (*program.ports.values(), *program.wires.values()) if v in reached}
    graph = FlowGraph(program)
    seeds = [(head, program.trace.xp.ones_like(head)) for head in heads]
    adjoints = sweep(seeds, wanted, rules)
    computed, place = _simplified(program, adjoints, rules.guards(len(program.trace.values)))
    return Tape(program, computed, _json(program, computed, place, adjoints, rules, graph))


def _reached(program: Program, rules: GatedRules) -> set[Value]:
    """Forward values that a trained variable reaches, whatever is switched."""
    found = {program.leaves[p].value for p in program.trainable if p in program.leaves}
    for value in program.trace.values[: program.forward_end]:
        if any(x in found and rules.passes(value, slot) for slot, x in enumerate(value.inputs)):
            found.add(value)
    return found


def _simplified(
    program: Program, adjoints: Mapping[Value, Value], guards: Mapping[Value, int]
) -> tuple[tuple[Op, ...], dict[Value, int]]:
    """The operations, and the place of the one that computes each value that is needed.

    Values with equal bits are computed once, if they are needed under the same condition. Gradients
    stay apart from other constants: the page asks what would come back of other gradients.
    """
    gradients = set(adjoints.values())
    needed = {*program.ports.values(), *gradients}
    for value in reversed(program.trace.values):
        if value in needed:
            needed.update(_read(value))
    same: dict[Value, Value] = {}
    first: dict[Hashable, Value] = {}
    fixed: set[Value] = set()
    place: dict[Value, int] = {}
    ops: list[Op] = []
    for value in program.trace.values:
        if value not in needed:
            continue
        inputs = [same.get(x, x) for x in _read(value)]
        if value.primitive in _PLAIN:
            same[value] = inputs[0]
            continue
        is_fixed = value.primitive not in (LEAF, COLLECT) and fixed.issuperset(inputs)
        guard = -1 if is_fixed else guards.get(value, -1)
        apart = value.primitive is COLLECT or (value.primitive is CONSTANT and value in gradients)
        key = None if apart else equality_key(value, inputs)
        if key is not None:
            known = first.setdefault((guard, value.shape, value.dtype, key), value)
            if known is not value:
                same[value] = known
                continue
        if is_fixed:
            fixed.add(value)
        place[value] = len(ops)
        ops.append(Op(value, tuple(place[x] for x in inputs), guard))
    return tuple(ops), place | {value: place[known] for value, known in same.items()}


def _read(value: Value) -> list[Value]:
    """The inputs whose numbers the value needs."""
    unread = value.primitive.unread
    return [x for slot, x in enumerate(value.inputs) if slot not in unread]


def _json(
    program: Program,
    ops: Sequence[Op],
    place: Mapping[Value, int],
    adjoints: Mapping[Value, Value],
    rules: GatedRules,
    graph: FlowGraph,
) -> dict[str, object]:
    end = program.forward_end
    owners = list(dict.fromkeys(str(op.value.owner or "") for op in ops))
    number = {owner: k for k, owner in enumerate(owners)}

    def backward(value: Value) -> list[int]:
        return [value.index, place[adjoints[value]] if value in adjoints else -1]

    step = program.trace.step
    foreign = {
        op.value.primitive.name: [
            str(op.value.primitive.spelling.javascript),
            *attributes_of(op.value),
        ]
        for op in ops
        if not is_own(op.value.primitive.kernel)
    }
    return {
        **({"foreign": foreign} if foreign else {}),
        "ops": [
            [op.value.primitive.name, op.inputs, op.value.shape, op.value.dtype,
             number[str(op.value.owner or "")], op.guard, int(op.value.index >= end),
             attributes_of(op.value)]
            for op in ops
        ],
        "owners": owners,
        "size": end,
        "arrive": [[value.index, conditions] for value, conditions in rules.arrivals.items()],
        "edges": sorted(
            [edge.value.index, edge.source.index, int(edge.gate),
             rules.gates.get(edge.value, -1) if edge.gate is Gate.STOP else -1]
            for value in graph.values
            for edge in graph.inputs(value)
        ),
        "heads": [program.ports[head].index for head in program.heads()],
        "trained": _variables(program, trained=True),
        "frozen": _variables(program, trained=False),
        "leaves": {
            path: place[leaf.value] for path, leaf in program.leaves.items() if leaf.value in place
        },
        "step": place.get(step, -1) if step is not None else -1,
        "ports": {
            port: [value.index, place[value], backward(value)[1]]
            for port, value in program.ports.items()
        },
        "wires": {wire: backward(value) for wire, value in program.wires.items()},
        "gradients": {
            path: backward(program.leaves[path].value)
            for path in program.trainable
            if path in program.leaves
        },
    }  # fmt: skip


def _variables(program: Program, trained: bool) -> list[int]:
    """The leaves of the trained, or else the frozen, float variables."""
    return [
        program.leaves[path].value.index
        for path, block in program.sources("variable").items()
        if path in program.leaves
        and block.wants_gradient is trained
        and is_float(program.leaves[path].value.dtype)
    ]
