"""The steps of a timeline: what a block computes, receives, passes on and throws away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow.tools.ledger import Account, LedgerEntry, ledger
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.lessons.derivative.local import LocalBlock, local_block
from gradwire.runtime.lessons.derivative.notation import primitives_of
from gradwire.runtime.lessons.inside import BlockInside, PrimitiveBackward, PrimitiveForward
from gradwire.runtime.training.optimisers import SGD

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
    from gradwire.runtime.engine import Run
    from gradwire.runtime.engine.session.session import Optimiser
    from gradwire.runtime.flow.observed import ObservedFlow

_CUT = frozenset({State.STOPPED, State.NO_RULE})
_ON_THE_WAY = _CUT | {State.CARRIES}
"""Structural states of wires between the loss and a trained variable."""


class Phase(StrEnum):
    """What a training step does, in this order."""

    FORWARD = "forward"
    SEED = "seed"
    BACKWARD = "backward"
    UPDATE = "update"


@dataclass(frozen=True, eq=False)
class ForwardStep:
    """A block computes its outputs of its inputs, by wire, and its literals, by input. An array
    that was not kept is missing.
    """

    path: InstancePath
    inputs: Mapping[WirePath, Array]
    outputs: Mapping[PortPath, Array]


@dataclass(frozen=True, eq=False)
class Seed:
    """Backward starts: the gradient of the loss with respect to itself."""

    path: InstancePath
    port: PortPath
    value: Array


@dataclass(frozen=True, eq=False)
class Arrival:
    """What arrives at an output: a term for each wire that brings something, and their sum.

    ``terms`` are in the order in which backward adds them; none where only the sum is known, as
    in front of a stop. ``total`` is None where the array was not kept.
    """

    port: PortPath
    terms: tuple[LedgerEntry, ...]
    total: Array | None


@dataclass(frozen=True, eq=False)
class Return:
    """What goes back over the wire into input ``port``: the incoming gradient times the local
    derivative.

    ``value`` is None where nothing goes back, or where the array was not kept; then
    ``is_known`` is False. ``is_discarded`` marks what a cut nearer the variables throws away.
    """

    wire: WirePath
    port: str
    source: PortPath
    state: State
    value: Array | None
    is_known: bool = True
    is_discarded: bool = False


@dataclass(frozen=True, eq=False)
class BackwardStep:
    """Gradient arrives at a block and goes on to its inputs, or ends here.

    ``absorbs`` has the reason for each input to which a closed slot lets nothing through.
    """

    path: InstancePath
    arrivals: tuple[Arrival, ...]
    returns: tuple[Return, ...]
    absorbs: Mapping[WirePath, str]


@dataclass(frozen=True, eq=False)
class UpdateStep:
    """The optimiser has its turn with a variable.

    ``gradient`` is None where no gradient arrived: then the variable is skipped, and ``after`` is
    ``before``, even with weight decay.
    """

    path: InstancePath
    before: Array
    gradient: Array | None
    after: Array
    rule: Optimiser


Step: TypeAlias = (
    ForwardStep | Seed | BackwardStep | UpdateStep | PrimitiveForward | PrimitiveBackward
)
_MOST_INSIDE = 4
"""Blocks whose inside is kept."""


class Steps:
    """The steps of one run, made when they are asked for; they share the arrays of the run."""

    def __init__(
        self,
        observed: ObservedFlow,
        run: Run,
        before: Mapping[str, Array],
        after: Mapping[str, Array],
        rule: Optimiser | None = None,
    ) -> None:
        self.observed = observed
        self.program = observed.program
        self.run = run
        self.trained = frozenset(before)
        self.before = before
        """The values of the trained variables before the update."""
        self._after = after
        self._rule = rule if rule is not None else SGD()
        self._insides: dict[InstancePath, BlockInside | None] = {}

    def of(
        self,
        phase: Phase,
        path: InstancePath,
        port: PortPath | None = None,
        primitive: Value | None = None,
    ) -> Step:
        """The step of a block in a phase, or of one ``primitive`` inside it; of the loss ``port``
        where a seed starts.
        """
        if primitive is not None:
            inside = self.inside(path)
            assert inside is not None  # or it would have no events
            is_forward = phase is Phase.FORWARD
            return (inside.forward_step if is_forward else inside.backward_step)(primitive)
        match phase:
            case Phase.FORWARD:
                return self._forward(path)
            case Phase.SEED:
                assert port is not None  # a seed has the port that it starts
                return Seed(path, port, self._seed(port))
            case Phase.BACKWARD:
                return self._backward(path)
            case Phase.UPDATE:
                before = self.before[path]
                after = self._after.get(path, before)
                return UpdateStep(path, before, self.run.gradients[path], after, self._rule)

    def has_value(self, path: InstancePath) -> bool:
        """Whether a block computes anything."""
        return any(port in self.program.ports for port in self._outputs(path))

    def receives(self, path: InstancePath) -> bool:
        """Whether gradient arrives at a block, and goes on to a trained variable or would if
        nothing cut it.
        """
        if path not in self._receiving:
            return False
        if path in self.trained:
            return True
        for _, wire in self._wires(path):  # ``any`` would take twice as long
            if self._states.get(wire) in _ON_THE_WAY:
                return True
        return False

    def local(self, path: InstancePath) -> LocalBlock | None:
        """The block by itself at the values of this run; None if it can't run so."""
        return local_block(self.program, path, self.run.values)

    def inside(self, path: InstancePath) -> BlockInside | None:
        """What happens inside a block; None where it is a single primitive, or can't be shown."""
        if path in (kept := dict(self._insides)):
            return kept[path]
        found = self._inside(path)
        self._insides = dict([*kept.items(), (path, found)][-_MOST_INSIDE:])
        return found

    def _inside(self, path: InstancePath) -> BlockInside | None:
        primitives = primitives_of(self.program, path)
        if primitives is None:
            return None
        wires = {wire: self.program.wires[wire] for _, wire in self._wires(path)}
        known = {
            value: array
            for wire, value in wires.items()
            if (array := self.run.values.get(self.program.wire_sources[wire])) is not None
        }
        instance, leaves = self.program.instances[path], self.program.leaves
        for port, literal in instance.block.literals.items():
            if (leaf := leaves.get(path.port(port))) is not None:
                known[leaf.value] = literal.tensor.array.astype(leaf.value.dtype)
        if (step := self.program.trace.step) is not None:
            known[step] = np.asarray(self.run.step, step.dtype)
        arriving = self._backward(path).arrivals if self.run.losses else ()
        states = {value: self._states.get(wire) for wire, value in wires.items()}
        return BlockInside(
            path,
            primitives,
            known,
            {self.program.ports[arrival.port]: arrival.total for arrival in arriving},
            wanted={value for value, state in states.items() if state in _ON_THE_WAY},
            discarded={value for value, state in states.items() if state in _CUT},
        )

    # ---- forward ------------------------------------------------------------------------------

    def _forward(self, path: InstancePath) -> ForwardStep:
        values, instance = self.run.values, self.program.instances[path]
        inputs = {}
        for port in instance.inputs:
            if port in instance.wires:
                for wire in self.program.leaf_wires(instance.wires[port][0]):
                    if (array := values.get(self.program.wire_sources[wire])) is not None:
                        inputs[wire] = array
            elif port in instance.block.literals:
                inputs[path.wire(port)] = instance.block.literals[port].tensor.array
        outputs = {port: values[port] for port in self._outputs(path) if port in values}
        return ForwardStep(path, inputs, outputs)

    def _outputs(self, path: InstancePath) -> list[PortPath]:
        """The outputs of a block, and of trees their leaves."""
        instance = self.program.instances[path]
        return [
            leaf
            for name in instance.block.output_names()
            for leaf in self.program.leaf_ports(instance.port(name))
        ]

    def _wires(self, path: InstancePath) -> Iterator[tuple[str, WirePath]]:
        """The inputs of a block with the wires into them, and of trees those of their leaves."""
        for port, (wire, _) in self.program.instances[path].wires.items():
            for leaf in self.program.leaf_wires(wire):
                yield port, leaf

    def _seed(self, port: PortPath) -> Array:
        value = self.program.ports[port]
        given = self.run.seeds.get(port)
        return np.ones(value.shape, value.dtype) if given is None else given

    # ---- backward -----------------------------------------------------------------------------

    @cached_property
    def _receiving(self) -> set[InstancePath]:
        """The blocks that have an output at which gradient arrives."""
        return {p.block for p in self.observed.flow.arriving()} if self.run.losses else set()

    @cached_property
    def _states(self) -> Mapping[str, State]:
        return self.observed.flow.states()

    @cached_property
    def _accounts(self) -> Mapping[PortPath, Account]:
        return ledger(self.program, self.run)

    def _backward(self, path: InstancePath) -> BackwardStep:
        arrivals = tuple(
            self._arrival(port)
            for port in self._outputs(path)
            if port in self.program.ports and self.observed.flow.arrives(port)
        )
        absorbs = self._absorbs(path)
        returns = tuple(
            self._returned(path, port, wire, arrivals, wire in absorbs)
            for port, wire in self._wires(path)
            if self._states.get(wire) in _ON_THE_WAY
        )
        return BackwardStep(path, arrivals, returns, absorbs)

    def _arrival(self, port: PortPath) -> Arrival:
        account = self._accounts.get(port)
        if account is not None:
            return Arrival(port, account.entries, account.total)
        return Arrival(port, (), self.run.adjoints.get(port))

    def _absorbs(self, path: InstancePath) -> dict[WirePath, str]:
        """The wires whose slot in this block is closed, each with the verdict on it."""
        flow = self.observed.flow
        return {
            wire: flow.verdict(wire).sentence
            for _, wire in self._wires(path)
            if self._states.get(wire) in _CUT and not flow.passes(wire)
        }

    def _returned(
        self,
        path: InstancePath,
        port: str,
        wire: WirePath,
        arrivals: Sequence[Arrival],
        is_absorbed: bool,
    ) -> Return:
        source, state = self.program.wire_sources[wire], self._states[wire]
        if is_absorbed:
            return Return(wire, port, source, state, None)
        is_discarded = state in _CUT
        if is_discarded:
            value = self._passed_on(path, port, wire, arrivals)
        else:
            value = self.run.contributions.get(wire)
        return Return(wire, port, source, state, value, value is not None, is_discarded)

    def _passed_on(
        self, path: InstancePath, port: str, wire: WirePath, arrivals: Sequence[Arrival]
    ) -> Array | None:
        """What goes back over a wire that only leads to a cut: no contribution shows it."""
        source = self.program.wire_sources[wire]
        if self.readers[source] == 1 and source not in self.run.losses:
            return self.run.adjoints.get(source)
        local = self.local(path)
        arriving = {a.port.port: a.total for a in arrivals if a.total is not None}
        if local is None or len(arriving) < len(arrivals):
            return None
        return local.returned(arriving).get(port)

    @cached_property
    def readers(self) -> Counter[PortPath]:
        """How many wires bring gradient back to each port."""
        flow, sources = self.observed.flow, self.program.wire_sources
        return Counter(sources[wire] for wire in self.program.wires if flow.passes(wire))
