"""A program: the traced arithmetic of a diagram, and the values of its blocks, ports and wires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gradwire.blocks.block import Block, Shape, Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.importing.kinds import is_dataset, is_kind, is_view
from gradwire.runtime.calculus import Trace, Value, passes_gradient
from gradwire.runtime.calculus.dtypes import FLOATS
from gradwire.runtime.data.rows import Stream
from gradwire.runtime.diagram.paths import PortPath

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradwire.blocks.trees import Tree
    from gradwire.blocks.values import PortLiteral
    from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
    from gradwire.runtime.diagram.paths import InstancePath, WirePath
    from gradwire.runtime.engine.flat import Flat, Instance

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that is bound before each run, and the source or literal it is bound to."""

    value: Value
    source: Source | Stream | PortLiteral


@dataclass(eq=False)
class Program:
    """The result of lowering a diagram; the forward part of the trace ends at ``forward_end``.

    ``leaves`` are keyed by the path of their block (``W1``), of their input for literals
    (``mul1.a``), or of their output for data sets (``data.x``). ``failed`` maps blocks that could
    not be traced to the problem, ``blocked`` the blocks downstream to the block that has the
    problem.

    ``trees`` has the trees by port, ``wire_trees`` by wire. The leaves of a tree are the paths of
    its arrays in ``ports`` and ``wires``, such as ``mul1.out:encoder/w``.
    """

    trace: Trace
    flat: Flat
    ports: dict[PortPath, Value] = field(default_factory=dict)
    wires: dict[WirePath, Value] = field(default_factory=dict)
    trees: dict[str, Tree] = field(default_factory=dict)
    wire_trees: dict[str, Tree] = field(default_factory=dict)
    wire_sources: dict[WirePath, PortPath] = field(default_factory=dict)
    wire_targets: dict[WirePath, InstancePath] = field(default_factory=dict)
    leaves: dict[str, Leaf] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    failed: dict[InstancePath, str] = field(default_factory=dict)
    blocked: dict[InstancePath, InstancePath] = field(default_factory=dict)
    forward_end: int = 0
    inside: dict[PortPath, Value] = field(default_factory=dict)
    """What loops compute at the ports of a first step, each on the trace of its body."""
    checked: int = 0
    """How many of the diagnostics come from checking the document; those of the trace follow."""
    _derived: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    _of_numbers: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def derived(self, key: Hashable, derive: Callable[[], T]) -> T:
        """The result of ``derive``, computed once: for facts that new numbers leave valid."""
        if key not in self._derived:
            self._derived[key] = derive()
        found: T = self._derived[key]
        return found

    def of_numbers(self, key: Hashable, derive: Callable[[], T]) -> T:
        """The same for a fact that is valid until numbers of the diagram change."""
        if key not in self._of_numbers:
            self._of_numbers[key] = derive()
        found: T = self._of_numbers[key]
        return found

    def forget_numbers(self) -> None:
        """Numbers of the diagram have changed."""
        self._of_numbers.clear()

    def block(self, path: InstancePath) -> Block:
        """The block at a path."""
        return self.flat.instances[path].block

    def culprit(self, path: InstancePath) -> InstancePath:
        """The block whose problem prevents the block at ``path`` from running, or itself."""
        return self.blocked.get(path, path)

    @property
    def instances(self) -> Mapping[InstancePath, Instance]:
        """Every block instance, by path."""
        return self.flat.instances

    def sources(self, *kinds: str) -> dict[str, Source]:
        """The source blocks of these kinds, or of all, by path in document order."""
        instances = self.flat.instances
        return {
            path: cast("Source", instances[path].block)
            for path, kind in self._source_kinds.items()
            if kind in kinds or not kinds
        }

    @cached_property
    def _source_kinds(self) -> dict[InstancePath, str]:
        blocks = ((path, instance.block) for path, instance in self.flat.instances.items())
        return {path: block.kind for path, block in blocks if isinstance(block, Source)}

    def streams(self) -> dict[str, Stream]:
        """The outputs of data sets, by path: leaves that get a new array at each step."""
        return self.derived("streams", self._streams)

    def _streams(self) -> dict[str, Stream]:
        leaves = self.leaves.items()
        return {path: leaf.source for path, leaf in leaves if isinstance(leaf.source, Stream)}

    def fed(self) -> dict[str, Source | Stream]:
        """Everything that may be fed or set, by path."""
        return {**self.sources(), **self.streams()}

    @property
    def trainable(self) -> list[str]:
        """The paths of the variables that want a gradient."""
        return list(self._trainable)

    @cached_property
    def _trainable(self) -> list[str]:
        return [path for path, block in self.sources("variable").items() if block.wants_gradient]

    def heads(self) -> list[PortPath]:
        """Ports that are losses: the outputs of Loss blocks.

        Without a Loss block they are the floats of rank 0 that no block but a view reads;
        leaves of trees are losses only behind a Loss block.
        """
        return list(self._heads)

    @cached_property
    def _heads(self) -> list[PortPath]:
        marked = [
            instance.port(instance.block.output_names()[0])
            for instance in self.flat.instances.values()
            if instance.block.head
        ]
        if marked:
            leaves = [leaf for port in marked for leaf in self.leaf_ports(port)]
            return [port for port in leaves if port in self.ports]
        read = {
            self.flat.source(source)
            for instance in self.flat.instances.values()
            if not (is_view(instance.block) or is_kind(instance.block, "Display"))
            for _, source in instance.wires.values()
        }
        return [
            port
            for port, value in self.ports.items()
            if port not in read
            and not port.leaf
            and value.shape == ()
            and value.dtype in FLOATS
            and not isinstance(block := self.block(port.block), Source)
            and not (is_dataset(block) or is_kind(block, "Display"))
        ]

    @cached_property
    def reached(self) -> set[Value]:
        """Forward values that a trainable variable reaches through slots that pass gradients."""
        return self.reached_from(self.trainable)

    def reached_from(self, variables: Iterable[str]) -> set[Value]:
        """Forward values that one of these variables reaches through slots that pass gradients."""
        found = {self.leaves[path].value for path in variables if path in self.leaves}
        for value in self.trace.values[: self.forward_end]:
            for slot, source in enumerate(value.inputs):
                if source in found and passes_gradient(value, slot):
                    found.add(value)
                    break
        return found

    @cached_property
    def shown(self) -> frozenset[WirePath]:
        """The wires whose values are only shown: those into views, and those into blocks that
        nothing but views reads.
        """
        return frozenset(self.shown_by)

    @cached_property
    def shown_by(self) -> Mapping[WirePath, InstancePath]:
        """The first view that each wire leads to of those that lead to nothing but views."""
        views = [path for path, instance in self.instances.items() if is_view(instance.block)]
        if not views:  # as in most diagrams, and large ones take long to search
            return {}
        unread = dict(Counter(source.block for source in self.wire_sources.values()))
        inward: dict[InstancePath, list[WirePath]] = {}
        for wire, target in self.wire_targets.items():
            inward.setdefault(target, []).append(wire)
        heads = {head.block for head in self.heads()}
        view_of = {path: path for path in views if path in inward}
        found: dict[WirePath, InstancePath]
        pending, found = list(view_of), {}
        while pending:
            path = pending.pop()
            for wire in inward.get(path, ()):
                found[wire] = view_of[path]
                before = self.wire_sources[wire].block
                unread[before] -= 1
                if not unread[before] and before not in heads:
                    view_of.setdefault(before, view_of[path])
                    pending.append(before)
        return found

    def leaf_ports(self, port: PortPath) -> tuple[PortPath, ...]:
        """The ports of the arrays of a tree; the port itself if it has no tree."""
        return tuple(self.trees[port].arrays.values()) if port in self.trees else (port,)

    def leaf_wires(self, wire: WirePath) -> tuple[WirePath, ...]:
        """The wires of the arrays of a tree; the wire itself if it carries none."""
        return tuple(self.wire_trees[wire].arrays.values()) if wire in self.wire_trees else (wire,)

    def markers(self, path: InstancePath) -> list[tuple[str, Value]]:
        """The markers of all wires into a block, each with the name of its input port."""
        return [
            (port, self.wires[leaf])
            for port, (key, _) in self.flat.instances[path].wires.items()
            for leaf in self.leaf_wires(key)
            if leaf in self.wires
        ]

    def drawn(self) -> set[InstancePath]:
        """The blocks that give other numbers at every step, whatever their inputs."""
        step, forward = self.trace.step, self.trace.values[: self.forward_end]
        owners = (value.owner for value in forward if any(x is step for x in value.inputs))
        data = (PortPath(path).block for path in self.streams())
        return {*data, *(owner for owner in owners if owner is not None)}

    def shape(self, port: PortPath) -> Shape:
        """The shape of a port's value."""
        return self.ports[port].shape
