"""Determines from structure alone, in linear time, which wires carry gradient and why not."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import Location, RunError
from gradwire.blocks.library.gradient import Gradient
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.paths import path_text
from gradwire.runtime.briefly import MOST, counted, lines
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.diagram.bypass import Bypassed
from gradwire.runtime.diagram.model import Diagram
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.engine.program import Program
from gradwire.runtime.engine.session.lookup import as_names
from gradwire.runtime.engine.session.session import Session
from gradwire.runtime.flow.lazy import MANY, overlaid
from gradwire.runtime.flow.structure.disagreements import Doubts, sentence
from gradwire.runtime.flow.structure.leaves import combined_verdict, merged_repairs
from gradwire.runtime.flow.structure.reachability import Gate
from gradwire.runtime.flow.structure.reasons import Verdicts
from gradwire.runtime.flow.structure.searches import (
    STATE_BY_GATE,
    UNCERTAIN,
    LossSearches,
    Searches,
    WireStates,
)
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.states import Cutter, State, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.flow.structure.slots import Bypass


# What bypassed blocks ignore: inputs that do not go through, and what leads only to them.


def ignored(program: Program) -> dict[str, InstancePath]:
    """The bypassed block that ignores a wire or a block, by the path of either.

    Takes linear time for each bypassed block; empty at once without any.
    """
    found: dict[str, InstancePath] = {}
    for path, instance in program.instances.items():
        if not isinstance(instance.block, Bypassed):
            continue
        waiting = list(instance.wires.values())[1:]
        own = [other for other in program.instances if other.is_inside(path)]
        found |= dict.fromkeys(own, path)
        while waiting:
            wire, port = waiting.pop()
            if wire in found:
                continue
            found[wire] = path
            block = program.flat.source(port).block
            found.setdefault(block, path)
            if (before := program.instances.get(block)) is not None:
                waiting += before.wires.values()
    return found


def passed_on(program: Program, bypassed: InstancePath) -> WirePath:
    """The wire that goes through a bypassed block."""
    return next(iter(program.instances[bypassed].wires.values()))[0]


_CERTAIN = frozenset({State.FROZEN, State.NOTHING_TO_TRAIN})
"""States that say what is behind a wire, which no disagreement changes."""


@explained
def analyse(subject: Program | Session | Diagram, losses: Sequence[str] | None = None) -> Flow:
    """Analyse how the gradient of ``losses``, by default all of the program's, flows on each wire.

    Losses are named by port or block. The result is cached with the program, and stays valid when
    only numbers change. Raises RunError for a loss that does not exist.
    """
    program = _program_of(subject)
    if losses is None:
        heads = tuple(program.heads())
    else:
        heads = tuple(head for name in as_names(losses) for head in _leaf_heads(program, name))
    known = ("flow", heads, program.flat.comparison)
    return program.derived(known, lambda: Flow(program, heads))


def _program_of(subject: Program | Session | Diagram) -> Program:
    if isinstance(subject, Session):
        return subject.program
    if isinstance(subject, Diagram):
        return lower(subject)
    if isinstance(subject, Program):
        return subject
    raise RunError(
        "Only a diagram has gradient flow to analyse.",
        expected="a program, a session or a diagram",
        got=type(subject).__name__,
        next_step="Write analyse(build(...)) of expressions, analyse(load(...)) of a file.",
    )


def _leaf_heads(program: Program, name: str) -> tuple[PortPath, ...]:
    """The port of a loss or, if it has a tree, the ports of its leaves."""
    port = program.flat.source(PortPath.named(name))
    return program.leaf_ports(port) if port in program.trees else (_head(program, name),)


def _head(program: Program, name: str) -> PortPath:
    port = program.flat.source(PortPath.named(name))
    if port in program.ports:
        return port
    raise RunError(
        f"There is no loss {name!r} that could be traced.",
        location=Location(block=name),
        expected=f"one of {', '.join(program.heads())}" if program.heads() else None,
        next_step=did_you_mean(name, [*program.instances, *program.ports]),
    )


class Flow:
    """States, verdicts and repairs per wire and loss; ``loss=None`` means the best over all losses.

    The states of all wires for all losses together take linear time, as do the verdicts on all of
    them; those for one loss take time for the wires that it reaches. ``prepare`` computes both in
    advance. Limitation: Gradient blocks were traced with stops closed,
    so what would pass if a stop that they differentiate were open is unknown.
    """

    def __init__(self, program: Program, losses: tuple[PortPath, ...]) -> None:
        self.program = program
        self.losses = losses
        self._searches = Searches(program)
        self._doubts = Doubts(program, self._searches.graph)
        self._verdicts = Verdicts(self._searches, self._doubts)
        self.slots = self._searches.slots
        self._wire_states = WireStates(self._searches)
        self._broken = self._wire_states.broken
        self._together = LossSearches(self._searches, losses)
        self._states: dict[PortPath | None, Mapping[str, State]] = {}
        self._prepared = False

    def __repr__(self) -> str:
        trained = self.program.trainable
        said = []
        for loss in self.losses[:MOST]:
            missed = [x for x in trained if not self.variable(x, loss).state.row.passes]
            reached = f"{loss.block} reaches {len(trained) - len(missed)} of {len(trained)}"
            said.append(f"{reached}{f', not {missed[0]} and others' if missed[1:] else ''}")
            if len(missed) == 1:
                said[-1] = f"{reached}, not {missed[0]}: {self.variable(missed[0], loss).sentence}"
        return lines(f"<Flow of {counted(len(self.losses), 'loss', 'losses')}", said) + ">"

    # ---- verdicts -----------------------------------------------------------------------------

    @explained
    def state(self, wire: str, loss: str | None = None) -> State:
        """The state of one wire; raises RunError if there is no such wire."""
        return self.states(loss)[self.require_wire(wire)]

    def states(self, loss: str | None = None) -> Mapping[str, State]:
        """The states of all wires, by path."""
        if loss is None and not self.losses:
            return dict.fromkeys(self.program.wire_sources, State.UNKNOWN)
        head = self._chosen(loss)
        if head not in self._states:
            losses = self._losses(loss)
            states = self._wire_states.of_all(losses)
            doubtful: dict[str, State] = dict.fromkeys(
                self._doubtful(losses, states), State.UNKNOWN
            )
            self._states[head] = overlaid(states, doubtful) if doubtful else states
        return self._states[head]

    @explained
    def verdict(self, wire: str, loss: str | None = None) -> Verdict:
        """Why a wire carries the gradient of a loss or not; raises RunError if there is no such
        wire.
        """
        key = self.require_wire(wire)
        losses = self._losses(loss)
        if not losses.heads:
            return Verdict(wire, None, State.UNKNOWN, self._no_loss(self._culprit(key)))
        if key in self.program.wire_trees:
            return combined_verdict(key, losses.heads[0], self.leaves(key, loss))
        state = self._wire_states.of_wire(losses, key)
        if doubt := self._doubt(wire, losses, state, self.program.wires.get(key)):
            return doubt
        if state is State.UNKNOWN:
            return Verdict(wire, losses.heads[0], state, sentences.unknown(self._culprit(key)))
        return self._explained(key, losses, state, self.program.wires[key])

    def prepare(self) -> Flow:
        """Precompute what verdicts need, so that each of them then takes almost no time."""
        if self._prepared:
            return self
        self._prepared = True
        for loss in (None, *self.losses) if len(self.losses) > 1 else (None,):
            items = self.states(loss).items()
            for kind in dict.fromkeys(state for _, state in items):
                self.verdict(next(wire for wire, state in items if state is kind), loss)
        return self

    def leaves(self, wire: str, loss: str | None = None) -> dict[str, Verdict]:
        """The verdicts on the leaves of the tree on a wire, by path; empty without a tree."""
        tree = self.program.wire_trees.get(self.require_wire(wire))
        arrays = {} if tree is None else tree.arrays
        return {path_text(path): self.verdict(leaf, loss) for path, leaf in arrays.items()}

    @explained
    def variable(self, name: str, loss: str | None = None) -> Verdict:
        """Why a variable gets the gradient of a loss or not; raises RunError if there is no such
        variable.
        """
        program, path = self.program, InstancePath(self.program.flat.canonical(name))
        leaf = program.leaves.get(path)
        if leaf is None:
            if path not in program.sources("variable") and path not in program.failed:
                raise self._no_variable(name)
            culprit = program.blocked.get(path) or (path if path in program.instances else None)
            return Verdict(name, None, State.UNKNOWN, sentences.unknown(culprit))
        losses = self._losses(loss)
        if not losses.heads:
            return Verdict(name, None, State.UNKNOWN, self._no_loss(self._broken.get(path)))
        state = self._wire_states.of_value(losses, leaf.value)
        if doubt := self._doubt(name, losses, state, leaf.value):
            return doubt
        if state in UNCERTAIN and path in self._broken:
            text = sentences.unknown(self._broken[path])
            return Verdict(name, self._first(losses, state, leaf.value), State.UNKNOWN, text)
        if not is_float(leaf.value.dtype):
            text = f"{name} has dtype {leaf.value.dtype}, and only floats have gradients."
            return Verdict(name, self._first(losses, state, leaf.value), State.NO_RULE, text)
        verdict = self._explained(path, losses, state, leaf.value)
        shared = sentences.shared(program.flat.names(path))
        return replace(verdict, sentence=f"{verdict.sentence} {shared}") if shared else verdict

    @explained
    def explain(self, key: str, loss: str | None = None) -> Verdict:
        """The verdict on the wire or variable ``key``."""
        if key in self.program.wire_sources:
            return self.verdict(key, loss)
        return self.variable(key, loss)

    # ---- doubts -------------------------------------------------------------------------------

    def doubts(self, key: str) -> bool:
        """Whether what is said of a wire, block, variable or port depends on a disagreement."""
        path, wires = self.program.flat.canonical(key), self.program.wires
        ports = self.program.ports
        block = InstancePath(path)
        values = [wires.get(WirePath(key)), ports.get(PortPath(path))]
        if block in self.program.instances:
            inside = self.program.instances[block].wires.values()
            values += [wires.get(wire) for wire, _ in inside]
            values += [ports.get(port) for port in self._ports_of(block)]
        return any(self._doubts.about(value, self.losses) for value in values)

    def _ports_of(self, block: InstancePath) -> Iterator[PortPath]:
        """The ports, and leaves of ports, of a block's outputs."""
        for name in self.program.block(block).output_names():
            yield from self.program.leaf_ports(block.port(name))

    def _doubt(
        self, key: str, losses: LossSearches, state: State, value: Value | None
    ) -> Verdict | None:
        """The verdict where the gradient at a value depends on a disagreement."""
        found = None if state in _CERTAIN else self._doubts.about(value, losses.heads)
        if found is None:
            return None
        return Verdict(key, PortPath(found.of), State.UNKNOWN, sentence(self.program, found))

    def _doubtful(self, losses: LossSearches, states: Mapping[str, State]) -> Iterator[WirePath]:
        """The wires whose gradients depend on a disagreement."""
        wire_of = self.slots.wire_of
        places = self._doubts.doubtful(losses.heads)
        wires = [wire_of[place] for place in places if place in wire_of]
        for wire in (*wires, *self._wire_states.trees_over(wires)):
            if states[wire] not in _CERTAIN:
                yield wire

    # ---- repairs ------------------------------------------------------------------------------

    def repairs(self, loss: str | None = None) -> Mapping[str, Sequence[Cutter]]:
        """The fewest slots to open for each wire that needs any, from the loss on.

        Takes linear time for all wires together.
        """
        found: dict[str, Sequence[Cutter]] = {}
        states = self.states(loss)
        for wire in self.program.wire_sources:
            state = states[wire]
            if state in (State.STOPPED, State.NO_RULE, State.FROZEN):
                leaves = [w for w in self.program.leaf_wires(wire) if states[w] is state]
                repairs = [self._repair(leaf, loss) for leaf in leaves]
                found[wire] = repairs[0] if leaves == [wire] else merged_repairs(repairs)
        return {wire: repair for wire, repair in found.items() if repair}

    def _repair(self, wire: WirePath, loss: str | None) -> Sequence[Cutter]:
        losses, value = self._losses(loss), self.program.wires[wire]
        head = self._first(losses, self._wire_states.of_wire(losses, wire), value)
        return self._verdicts.repair(losses, head, value)

    def bypasses(self, verdict: Verdict) -> tuple[Bypass | str, ...]:
        """A bypass of each slot in a verdict's repair that is not a StopGradient, or the reason
        why there is none.
        """
        value, head = self._value(verdict.wire), verdict.loss
        if value is None or head is None:
            return ()
        searches = self._searches.from_loss(head)
        route = searches.route(value, head)
        return tuple(
            self.slots.bypass(edge, route)
            for edge in searches.repair(value, head)
            if not self.slots.openable(self.slots.cutter(edge))
        )

    def step_bypasses(self, verdict: Verdict) -> tuple[Bypass | str, ...]:
        """Bypasses of the step functions, such as rounding, through which all of the gradient must
        pass, and which make it 0.
        """
        value, head = self._value(verdict.wire), verdict.loss
        if value is None or head is None or verdict.state is not State.CARRIES:
            return ()
        searches = self._searches.from_loss(head)
        route = searches.route(value, head)
        return tuple(self.slots.bypass(edge, route) for edge in searches.steps(value, head))

    def to_train(self, verdict: Verdict) -> tuple[str, ...]:
        """The variable at the end of the cheapest route if it is frozen; else empty."""
        value, head = self._value(verdict.wire), verdict.loss
        if value is None or head is None:
            return ()
        end = self._searches.from_loss(head).route(value, head)[-1]
        block = self.program.sources("variable").get(str(end.owner))
        frozen = block is not None and not block.wants_gradient and is_float(end.dtype)
        return (str(end.owner),) if frozen else ()

    # ---- ports --------------------------------------------------------------------------------

    def arrives(self, port: PortPath, loss: str | None = None) -> bool:
        """Whether the gradient of a loss, or of any, arrives at a port."""
        return self._is_reached(self.program.ports.get(port), loss)

    def arriving(self) -> list[PortPath]:
        """The ports at which the gradient of any loss arrives."""
        reached = self._together.reach(Gate.OPEN).via
        return [port for port, value in self.program.ports.items() if value.index in reached]

    def passes(self, wire: WirePath, loss: str | None = None) -> bool:
        """Whether the gradient of a loss, or of any, comes back over a wire, wherever it goes on
        to: a stop, a constant or a variable.
        """
        return self._is_reached(self.program.wires.get(wire), loss)

    def _is_reached(self, value: Value | None, loss: str | None) -> bool:
        return value in self._losses(loss).reach(Gate.OPEN)

    def comes_back(self, port: PortPath) -> bool:
        """Whether the gradient of any loss arrives at a port from what reads it."""
        value = self.program.ports.get(port)
        readers = self._searches.graph.readers[value.index] if value is not None else ()
        found = self._together.reach(Gate.OPEN).via
        return any(place in found for place in readers)

    def connected(self, loss: str) -> list[str]:
        """The wires and variables that the gradient of a loss would reach if all slots were
        open.
        """
        losses = self._losses(loss)
        leaves = [value for value in losses.reach(Gate.NO_RULE) if value in self._variables]
        return [*self._wire_states.reached(losses), *(self._variables[leaf] for leaf in leaves)]

    def trains(self, loss: PortPath) -> bool:
        """Whether any trained variable gets a gradient of a loss."""
        return self.program.ports[loss] in self._searches.trained[Gate.OPEN]

    def arrival(self, port: str, loss: str | None = None) -> State:
        """Whether gradient arrives at a port, regardless of the variables upstream, and what stops
        it: CARRIES, STOPPED, NO RULE or OFF ROUTE, and UNKNOWN for a port without a value.
        """
        value = self.program.ports.get(self.program.flat.source(PortPath(port)))
        if value is None:
            return State.UNKNOWN
        level = self._losses(loss).level(value)
        return State.OFF_ROUTE if level is None else STATE_BY_GATE[level]

    def trained_upstream(self, wire: WirePath) -> bool:
        """Whether a trained variable reaches a wire through slots that pass gradient."""
        return self.program.wires.get(wire) in self._searches.trained[Gate.OPEN]

    def cutters_downstream(self, port: PortPath) -> list[Cutter]:
        """The first closed slots on the routes from all losses to a port."""
        return self._verdicts.cutters_downstream(self._together, self.program.ports[port])

    def cutters_upstream(self, wire: WirePath) -> list[Cutter]:
        """The first closed slots on the routes from a wire to trained variables behind it."""
        value = self.program.wires.get(wire)
        return [] if value is None else self._verdicts.cutters_behind(value, Gate.NO_RULE)

    # ---- lookup -------------------------------------------------------------------------------

    @cached_property
    def differentiates(self) -> bool:
        """Whether there are Gradient blocks; no wire carries what flows back through them."""
        return any(isinstance(i.block, Gradient) for i in self.program.instances.values())

    def require_wire(self, wire: str) -> WirePath:
        """The path of a wire; raises RunError if there is no such wire."""
        if (path := WirePath(wire)) not in self.program.wire_sources:
            near = did_you_mean(wire, self.program.wire_sources) or ""
            raise RunError(
                f"There is no wire into {wire!r}.",
                next_step=f"A wire is named by the input it drives, such as mul1.a. {near}".strip(),
            )
        return path

    @cached_property
    def _variables(self) -> dict[Value, str]:
        """The variables by value."""
        paths = [path for path in self.program.sources("variable") if path in self.program.leaves]
        return {self.program.leaves[path].value: path for path in paths}

    def _value(self, key: str) -> Value | None:
        """The traced value of a wire or variable; None if it could not be traced."""
        leaf = self.program.leaves.get(self.program.flat.canonical(key))
        if leaf is not None and key not in self.program.wire_sources:
            return leaf.value
        return self.program.wires.get(self.require_wire(key))

    def _no_variable(self, name: str) -> RunError:
        """The error for a name that is unknown or belongs to another block."""
        known = [*self.program.sources("variable")]
        near = did_you_mean(name, known)
        block = self.program.instances.get(InstancePath(name))
        what = f"There is no variable {name!r}."
        if block is not None:
            what = f"{name!r} is a {block.block.type_name()}, not a variable."
        return RunError(
            what,
            location=Location(block=name),
            next_step=near,
            expected=sentences.names(known) if known and not near else None,
        )

    def _no_loss(self, culprit: str | None) -> str:
        """Why there is no loss: an error upstream of a Loss block, or no Loss block."""
        marked = (path for path, instance in self.program.instances.items() if instance.block.head)
        behind = next(
            (self._broken[path] for path in marked if path in self._broken),
            None,
        )
        return sentences.unknown(culprit or behind)

    def _losses(self, loss: str | None) -> LossSearches:
        head = self._chosen(loss)
        return self._searches.from_loss(head) if head else self._together

    def _chosen(self, loss: str | None) -> PortPath | None:
        head = None if loss is None else _head(self.program, loss)
        return None if (head,) == self.losses else head  # of one loss nothing is found twice

    # ---- states -------------------------------------------------------------------------------

    def _explained(self, key: str, losses: LossSearches, state: State, value: Value) -> Verdict:
        """The verdict on a value that is in ``state`` for the best of the losses."""
        if state is State.OFF_ROUTE or len(losses.heads) == 1:
            heads = list(losses.heads[: MANY + 1])
        else:
            heads = self._verdicts.heads(losses, value, self._wire_states.worst_gate(state, value))
        verdict = self._verdicts.explain(key, losses, heads, state, value)
        if state is not State.OFF_ROUTE or (bypassed := self._ignored.get(key)) is None:
            return verdict
        remark = sentences.ignored(bypassed, passed_on(self.program, bypassed).port)
        return replace(verdict, sentence=f"{verdict.sentence} {remark}")

    @cached_property
    def _ignored(self) -> Mapping[str, InstancePath]:
        return ignored(self.program)

    def _first(self, losses: LossSearches, state: State, value: Value) -> PortPath:
        """The first of the losses for which a value is in ``state``, the best of its states."""
        if state is State.OFF_ROUTE:
            return losses.heads[0]
        return losses.first(value, self._wire_states.worst_gate(state, value)) or losses.heads[0]

    def _culprit(self, wire: WirePath) -> str | None:
        source = self.program.wire_sources[wire].block
        target = self.program.wire_targets[wire]
        return self._broken.get(source) or self._broken.get(target)
