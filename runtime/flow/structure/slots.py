"""Names closed slots: the block and input of a closed edge, and how to bypass it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.importing.kinds import is_kind
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.paths import path_text
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.base import WIRE
from gradwire.runtime.calculus.value import NoDerivative
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.flow.lazy import MANY
from gradwire.runtime.flow.structure.reachability import Edge, Gate
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.states import Cutter

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.structure.reachability import FlowGraph


_TO_INTEGERS = NoDerivative(
    "leaves the floats, and only floats have gradients", "keep floats there"
)
_FROM_INTEGERS = NoDerivative("reads integers or booleans, and only floats have gradients")


@dataclass(frozen=True, slots=True)
class Bypass:
    """A StraightThrough block that bypasses a slot: it has the value of ``hard``, sends gradient to
    ``soft``, and drives ``target``.
    """

    cutter: Cutter
    hard: PortPath
    soft: PortPath
    target: WirePath


class ClosedSlots:
    """Names for the closed edges of a program."""

    def __init__(self, program: Program, graph: FlowGraph) -> None:
        self.program = program
        self._graph = graph
        self._cutters: dict[Edge, Cutter] = {}
        self._openings: dict[Edge, Cutter] = {}
        self._ports: dict[str, dict[Value, tuple[int, str]]] = {}
        self._leaves: dict[str, dict[Value, str]] = {}
        self.wire_of = {marker.index: key for key, marker in program.wires.items()}
        """The wire of each marker, by its place in the trace."""

    def cutter(self, edge: Edge) -> Cutter:
        """The block and the input port that a closed edge belongs to."""
        if edge not in self._cutters:
            self._cutters[edge] = self._named(edge)
        return self._cutters[edge]

    def opening(self, edge: Edge) -> Cutter:
        """As ``cutter``, with the leaf if a StopGradient block stops a leaf of a tree."""
        if edge not in self._openings:
            cutter = self.cutter(edge)
            leaf = self._leaf(edge) if self.openable(cutter) else ""
            self._openings[edge] = replace(cutter, leaf=leaf) if leaf else cutter
        return self._openings[edge]

    def openable(self, cutter: Cutter) -> bool:
        """Whether the cutter is a StopGradient block, which has a parameter to open it."""
        return isinstance(self.program.block(cutter.block), StopGradient)

    def bypass(self, edge: Edge, path: Sequence[Value]) -> Bypass | str:
        """The bypass of a slot on ``path``, a route from the loss, or why there is none.

        It leads from the float wire nearest upstream of the slot to the one nearest downstream.
        """
        cutter = self.cutter(edge)
        if edge.gate is Gate.NO_RULE and cutter.remedy is None:
            return sentences.on_purpose(cutter.block)
        at = next(i for i, value in enumerate(path) if value is edge.source)
        before = next(filter(_is_float_wire, path[at:]), None)
        target = next(filter(_is_float_wire, reversed(path[:at])), None)
        if before is None or target is None:
            return sentences.unfit(cutter.block, "there is no float wire on both sides of it")
        sources = self.program.wire_sources
        soft, key = sources[self.wire_of[before.index]], self.wire_of[target.index]
        shape = self.program.ports[soft].shape
        if shape != target.shape:
            chooses = is_kind(self.program.block(cutter.block), "ArgMax")
            unfit = sentences.unfit_choice if chooses and shape else sentences.unfit
            return unfit(
                cutter.block, f"the shape is {shape} before it and {target.shape} after it"
            )
        if soft.leaf or key.leaf:
            hard = sources[key]
            if soft.leaf == key.leaf == hard.leaf and self._same_leaves(soft, hard):
                return sentences.whole_tree(cutter.block, hard.block, soft.block)
            return sentences.one_leaf(cutter.block)
        return Bypass(cutter, sources[key], soft, key)

    def _same_leaves(self, *leaves: PortPath) -> bool:
        """Whether the trees that leaves belong to have the same leaves."""
        ports = self.program.ports
        trees = [{port.leaf for port in ports if port.whole == leaf.whole} for leaf in leaves]
        return all(tree == trees[0] for tree in trees)

    def _leaf(self, edge: Edge) -> str:
        """The path of the leaf of a tree that a StopGradient block stops; empty for an array."""
        path = InstancePath(edge.value.owner)
        if path not in self._leaves:
            self._leaves[path] = dict(self._leaves_into(path))
        leaves = self._leaves[path]
        return next((leaves[value] for value in _within(edge) if value in leaves), "")

    def _leaves_into(self, path: InstancePath) -> Iterator[tuple[Value, str]]:
        """The wire markers that a StopGradient block stops, with the paths that select them."""
        tree, block = self.program.wire_trees.get(path.wire("x")), self.program.block(path)
        if tree is not None and isinstance(block, StopGradient):
            selectable = block.selectable(tree.map(lambda _, wire: (wire,)), _joined)
            for leaf, wires in selectable.arrays.items():
                yield from ((self.program.wires[wire], path_text(leaf)) for wire in wires)

    def _named(self, edge: Edge) -> Cutter:
        block = InstancePath(edge.value.owner)
        within = _within(edge)
        if block not in self._ports:
            markers = self.program.markers(block)
            self._ports[block] = {m: (place, name) for place, (name, m) in enumerate(markers)}
        ports = self._ports[block]
        port = min((ports[value] for value in within if value in ports), default=(0, ""))[1]
        written = self.program.block(block).written
        if edge.gate is Gate.STOP:
            return Cutter(block, port, "stop", written=written)
        reason, fits = _reason(edge), self._shapes_fit(edge)
        return Cutter(
            block,
            port,
            "no rule",
            reason.why,
            remedy=reason.remedy,
            bypassable=fits,
            written=written,
        )

    def _shapes_fit(self, edge: Edge) -> bool:
        """Whether float wires of equal shapes are nearest to a slot on both sides of it, where that
        can be seen with a few steps.
        """
        inputs, read_by = self._graph.inputs, self._graph.read_by
        above = _float_wires(edge.source, lambda at: [e.source for e in inputs(at)])
        below = _float_wires(edge.value, lambda at: [value for value, _ in read_by(at)])
        if above is None or below is None:
            return True
        shapes = {wire.shape for wire in above}
        return any(wire.shape in shapes for wire in below)


def _reason(edge: Edge) -> NoDerivative:
    """Why a slot has no derivative: because of its primitive, or of the dtypes at its ends."""
    primitive = edge.value.primitive
    reason = primitive.reason(edge.slot)
    if primitive.rule(edge.slot) is None and reason is not None:
        return reason
    return _TO_INTEGERS if is_float(edge.source.dtype) else _FROM_INTEGERS


def _joined(items: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(name for item in items for name in item)


def _within(edge: Edge) -> set[Value]:
    """The values of its block, including wires into it, from which a slot's input is computed."""
    within, pending = {edge.source}, [edge.source]
    while pending:
        value = pending.pop()
        if value.primitive is not WIRE and value.owner == edge.value.owner:
            pending += [source for source in value.inputs if source not in within]
            within.update(value.inputs)
    return within


def _float_wires(start: Value, near: Callable[[Value], list[Value]]) -> list[Value] | None:
    """The nearest float wires in a direction; None if that takes too many steps."""
    found, pending, seen = [], [start], {start}
    while pending:
        value = pending.pop()
        if _is_float_wire(value):
            found.append(value)
            continue
        further = [other for other in near(value) if other not in seen]
        seen.update(further)
        pending += further
        if len(seen) > MANY:
            return None
    return found


def _is_float_wire(value: Value) -> bool:
    return value.primitive is WIRE and is_float(value.dtype)
