"""Which wires carry gradient, and why the others don't: structure alone, linear time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from blocks.errors import Location, RunError
from blocks.library.gradient import Gradient
from runtime.calculus.dtypes import is_float
from runtime.calculus.primitives.gradient import WIRE
from runtime.engine.flatten import block_of
from runtime.flow import sentences
from runtime.flow.graph import Edge, Graph, Kind, Reach
from runtime.flow.states import RANK, Cutter, State, Verdict

if TYPE_CHECKING:
    from runtime.calculus import Value
    from runtime.engine.program import Program

LEVELS = (Kind.OPEN, Kind.STOP, Kind.NO_RULE)


def analyse(program: Program, losses: Sequence[str] | None = None) -> Flow:
    """What every wire says about the gradient of ``losses``, all of the program's by default.

    Losses are named by port or block. Raises RunError for one that does not exist.
    """
    if losses is None:
        return Flow(program, tuple(program.heads()))
    return Flow(program, tuple(_head(program, name) for name in losses))


def _head(program: Program, name: str) -> str:
    for port in (name, f"{name}.out"):
        if program.flat.source(port) in program.ports:
            return program.flat.source(port)
    raise RunError(
        f"There is no loss {name!r} that could be traced.",
        location=Location(block=name),
        expected=f"one of {', '.join(program.heads())}" if program.heads() else None,
    )


class Flow:
    """Answers per wire and loss; ``loss=None`` asks for the best over all losses.

    States of all wires take linear time per loss, once; a verdict with its cutters takes linear
    time when it is asked for.
    """

    def __init__(self, program: Program, losses: tuple[str, ...]) -> None:
        self.program = program
        self.losses = losses
        self._graph = Graph(program)
        self._reaches: dict[tuple[str, Kind], Reach] = {}
        self._states: dict[str, dict[str, State]] = {}

    # ---- answers ------------------------------------------------------------------------------

    def state(self, wire: str, loss: str | None = None) -> State:
        """The state of one wire; raises RunError when there is no such wire."""
        return self.states(loss)[self._known(wire)]

    def states(self, loss: str | None = None) -> Mapping[str, State]:
        """The states of all wires, by key."""
        if loss is not None:
            return self._states_of(_head(self.program, loss))
        every = [self._states_of(head) for head in self.losses]
        if not every:
            return dict.fromkeys(self.program.wire_sources, State.UNKNOWN)
        return {wire: min((s[wire] for s in every), key=RANK.__getitem__) for wire in every[0]}

    def verdict(self, wire: str, loss: str | None = None) -> Verdict:
        """Why a wire carries the gradient of a loss or not."""
        key = self._known(wire)
        head = self._best(key, loss)
        if head is None:
            return Verdict(wire, None, State.UNKNOWN, sentences.unknown(None))
        state = self._states_of(head)[key]
        if state is State.UNKNOWN:
            return Verdict(wire, head, state, sentences.unknown(self._culprit(key)))
        return self._explain(key, head, state, self.program.wires[key])

    def variable(self, name: str, loss: str | None = None) -> Verdict:
        """Why a variable gets the gradient of a loss or not."""
        program = self.program
        leaf = program.leaves.get(name)
        if leaf is None or not self.losses:
            culprit = program.blocked.get(name) or (name if name in program.instances else None)
            return Verdict(
                name, None, State.UNKNOWN, sentences.unknown(culprit if leaf is None else None)
            )
        heads = self.losses if loss is None else (_head(program, loss),)
        head, state = min(
            ((head, self._state_at(head, leaf.value)) for head in heads),
            key=lambda pair: RANK[pair[1]],
        )
        if not is_float(leaf.value.dtype):
            text = f"{name} holds {leaf.value.dtype}, and only floats have gradients."
            return Verdict(name, head, State.NO_RULE, text)
        return self._explain(name, head, state, leaf.value)

    # ---- searches, once each ------------------------------------------------------------------

    def _to_loss(self, head: str, level: Kind) -> Reach:
        key = head, level
        if key not in self._reaches:
            self._reaches[key] = self._graph.backward([self.program.ports[head]], level)
        return self._reaches[key]

    def _leaves(self, trained: bool) -> list[Value]:
        program = self.program
        return [
            program.leaves[path].value
            for path, block in program.sources("variable").items()
            if path in program.leaves
            and block.wants_gradient is trained
            and is_float(program.leaves[path].value.dtype)
        ]

    @cached_property
    def _trained(self) -> tuple[Reach, ...]:
        leaves = self._leaves(trained=True)
        return tuple(self._graph.forward(leaves, level) for level in LEVELS)

    @cached_property
    def _frozen(self) -> tuple[Reach, ...]:
        leaves = self._leaves(trained=False)
        return tuple(self._graph.forward(leaves, level) for level in LEVELS)

    @cached_property
    def _broken(self) -> dict[str, str]:
        """Blocks that could not be traced, or from which one is reached, and the culprit."""
        program = self.program
        found = {path: path for path in program.failed} | program.blocked
        feeding: dict[str, list[str]] = {}
        for key, target in program.wire_targets.items():
            feeding.setdefault(target, []).append(block_of(program.wire_sources[key]))
        pending = list(found)
        while pending:
            path = pending.pop()
            for before in feeding.get(path, ()):
                if before not in found:
                    found[before] = found[path]
                    pending.append(before)
        return found

    # ---- states -------------------------------------------------------------------------------

    def _states_of(self, head: str) -> dict[str, State]:
        if head not in self._states:
            self._states[head] = {
                wire: self._wire_state(head, wire) for wire in self.program.wire_sources
            }
        return self._states[head]

    def _wire_state(self, head: str, wire: str) -> State:
        marker = self.program.wires.get(wire)
        if marker is None:
            return State.UNKNOWN
        state = self._state_at(head, marker)
        lost = state not in (State.CARRIES, State.FROZEN)
        if lost and self.program.wire_targets[wire] in self._broken:
            return State.UNKNOWN
        return state

    def _state_at(self, head: str, value: Value) -> State:
        """S and T, and the cheapest repair where one of them fails."""
        reached = [level for level in LEVELS if value in self._to_loss(head, level).cost]
        if not reached:
            return State.OFF_ROUTE
        trained = [level for level in LEVELS if value in self._trained[level].cost]
        frozen = [level for level in LEVELS if value in self._frozen[level].cost]
        if not trained and not frozen:
            return State.NOTHING_TO_TRAIN
        if not trained and not reached[0]:
            return State.FROZEN
        if not reached[0] and not trained[0]:
            return State.CARRIES
        if not reached[0] and frozen and not frozen[0]:
            return State.FROZEN
        worst = max(reached[0], (trained or frozen)[0])
        return State.STOPPED if worst is Kind.STOP else State.NO_RULE

    def _known(self, wire: str) -> str:
        if wire not in self.program.wire_sources:
            raise RunError(
                f"There is no wire into {wire!r}.",
                next_step="A wire is named by the input it drives, such as mul1.a.",
            )
        return wire

    def _best(self, wire: str, loss: str | None) -> str | None:
        if loss is not None:
            return _head(self.program, loss)
        if not self.losses:
            return None
        return min(self.losses, key=lambda head: RANK[self._states_of(head)[wire]])

    def _culprit(self, wire: str) -> str | None:
        source = block_of(self.program.wire_sources[wire])
        target = self.program.wire_targets[wire]
        return self._broken.get(source) or self._broken.get(target)

    # ---- reasons ------------------------------------------------------------------------------

    def _explain(self, key: str, head: str, state: State, value: Value) -> Verdict:
        loss = block_of(head)
        upstream = self._graph.backward([value], Kind.NO_RULE).cost
        trained = self._among(self._leaves(True), upstream)
        frozen = self._among(self._leaves(False), upstream)
        if state is State.CARRIES:
            carried = self._among(self._leaves(True), self._graph.backward([value], Kind.OPEN).cost)
            witness = self._witness(head, value)
            text = sentences.carries(loss, carried, witness)
            return Verdict(key, head, state, text, witness=witness)
        if state is State.FROZEN:
            text = sentences.frozen(frozen, self._passed_on(head, value))
            return Verdict(key, head, state, text, frozen=tuple(frozen))
        if state is State.OFF_ROUTE:
            return Verdict(key, head, state, self._off_route(loss, value))
        if state is State.NOTHING_TO_TRAIN:
            return Verdict(key, head, state, sentences.NOTHING_TO_TRAIN)
        level = Kind.STOP if state is State.STOPPED else Kind.NO_RULE
        before = self._before(head, value, level)
        behind = self._behind(value, level, bool(trained))
        besides = () if trained else tuple(frozen)
        return Verdict(
            key,
            head,
            state,
            sentences.cut(state, loss, before, behind, trained, besides),
            cutters=tuple(dict.fromkeys((*before, *behind))),
            witness=self._witness(head, value),
            frozen=besides,
        )

    def _before(self, head: str, value: Value, level: Kind) -> list[Cutter]:
        """First closed slots met from the loss on the routes to ``value``."""
        opened = self._to_loss(head, Kind.OPEN).cost
        if value in opened:
            return []
        ahead = self._graph.forward([value], level).cost
        return self._cutters(
            edge
            for reader in opened
            for edge in self._graph.inputs.get(reader, ())
            if Kind.OPEN < edge.kind <= level and edge.source in ahead
        )

    def _behind(self, value: Value, level: Kind, trained: bool) -> list[Cutter]:
        """First closed slots met from ``value`` on the routes to variables."""
        variables = self._trained if trained else self._frozen
        if value in variables[Kind.OPEN].cost:
            return []
        upstream = self._graph.backward([value], Kind.OPEN).cost
        reached = variables[level].cost
        return self._cutters(
            edge
            for reader in upstream
            for edge in self._graph.inputs.get(reader, ())
            if Kind.OPEN < edge.kind <= level and edge.source in reached
        )

    def _cutters(self, edges: Iterable[Edge]) -> list[Cutter]:
        found = {self._cutter(edge): None for edge in sorted(edges, key=lambda e: -e.value.index)}
        return list(found)

    def _cutter(self, edge: Edge) -> Cutter:
        """The block and the input port that a closed slot belongs to."""
        block = str(edge.value.owner)
        within, pending = {edge.source}, [edge.source]
        while pending:
            value = pending.pop()
            if value.primitive is not WIRE and value.owner == edge.value.owner:
                pending += [source for source in value.inputs if source not in within]
                within.update(value.inputs)
        port = next((name for name, marker in self._markers_of(block) if marker in within), "")
        if edge.kind is Kind.STOP:
            return Cutter(block, port, "stop")
        reason = sentences.why(edge.value.primitive.name, is_float(edge.source.dtype))
        return Cutter(block, port, "no rule", reason)

    def _markers_of(self, block: str) -> list[tuple[str, Value]]:
        instance = self.program.instances[block]
        return [
            (port, self.program.wires[key])
            for port, (key, _) in instance.wires.items()
            if key in self.program.wires
        ]

    def _witness(self, head: str, value: Value) -> tuple[str, ...]:
        """The blocks of the cheapest route from the loss to a value."""
        for level in LEVELS:
            reach = self._to_loss(head, level)
            if value in reach.cost:
                break
        else:
            return ()
        path = [value.owner]
        while value in reach.by:
            value = reach.by[value].value
            path.append(value.owner)
        return tuple(dict.fromkeys(str(owner) for owner in reversed(path)))

    def _among(self, leaves: Sequence[Value], found: Mapping[Value, int]) -> list[str]:
        return [str(leaf.owner) for leaf in leaves if leaf in found]

    def _passed_on(self, head: str, value: Value) -> list[str]:
        """Trained variables that get gradient from the block this value goes into."""
        readers = self._graph.readers.get(value, ())
        upstream = self._graph.backward([edge.value for edge in readers], Kind.OPEN).cost
        reached = self._to_loss(head, Kind.OPEN).cost
        return [n for n in self._among(self._leaves(True), upstream)
                if self.program.leaves[n].value in reached]  # fmt: skip

    def _off_route(self, loss: str, value: Value) -> str:
        owner = self.program.instances.get(str(value.owner))
        if owner is not None and isinstance(owner.block, Gradient) and value.primitive is WIRE:
            return sentences.differentiated(owner.path)
        ahead = self._graph.forward([value], Kind.NO_RULE).cost
        others = [block_of(h) for h in self.program.heads() if self.program.ports[h] in ahead]
        return sentences.off_route(loss, others)
