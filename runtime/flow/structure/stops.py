"""Finds StopGradient blocks that cut nothing, as far as structure alone shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.importing.kinds import is_kind
from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.words import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.blocks.library.recorded import Recorded
    from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
    from gradwire.runtime.flow.analyse import Flow
    from gradwire.runtime.flow.words.states import Cutter


@dataclass(frozen=True, slots=True)
class StoppedPort:
    """An output, or a leaf of one, that a StopGradient stops.

    ``idle`` is the reason why it cuts nothing, whatever the numbers; None if gradient arrives and
    would continue. It is ``in_a_row`` where only other stops make it idle, and a program has put up
    all of them: each alone cuts nothing, all together do.
    """

    port: PortPath
    idle: str | None
    in_a_row: bool = False


def stopped_ports(flow: Flow) -> dict[InstancePath, tuple[StoppedPort, ...]]:
    """The stopped ports of each StopGradient that is not open; empty if its input is not wired."""
    key = "stopped ports", flow.losses
    return flow.program.derived(
        key, lambda: {stop: _ports_of(flow, stop) for stop in closed_stops(flow)}
    )


def closed_stops(flow: Flow) -> tuple[InstancePath, ...]:
    """The StopGradient blocks that are not open."""
    return flow.program.derived(
        "closed stops",
        lambda: tuple(
            path
            for path, instance in flow.program.instances.items()
            if isinstance(instance.block, StopGradient) and not instance.block.open
        ),
    )


def _ports_of(flow: Flow, stop: InstancePath) -> tuple[StoppedPort, ...]:
    program, port = flow.program, stop.port("out")
    wires = program.instances[stop].wires
    if "x" not in wires:
        return ()
    wire = wires["x"][0]
    if port not in program.trees:
        return (_port(flow, port, (wire,)),) if port in program.ports else ()
    stopped = [leaf for leaf in program.leaf_ports(port) if program.ports[leaf].primitive.stops]
    if not stopped:
        return (StoppedPort(port, "it spares every array that it selects"),)
    return tuple(_port(flow, leaf, _wires_into(flow, wire, leaf)) for leaf in stopped)


def _wires_into(flow: Flow, wire: WirePath, port: PortPath) -> tuple[WirePath, ...]:
    """The input wire of the same leaf as the port; all leaves if the stop stacks sequences."""
    leaves = flow.program.leaf_wires(wire)
    same = [leaf for leaf in leaves if leaf.leaf == port.leaf]
    return tuple(same) or leaves


def _port(flow: Flow, port: PortPath, wires: Sequence[WirePath]) -> StoppedPort:
    if _is_differentiated(flow, port.block):
        return StoppedPort(port, None)
    if not flow.arrives(port) and not _may_arrive(flow, port):
        others = [*flow.cutters_downstream(port)]
        return StoppedPort(port, _why_nothing_arrives(flow, others), _in_a_row(flow, port, others))
    if not any(map(flow.trained_upstream, wires)):
        others = [*dict.fromkeys(c for wire in wires for c in flow.cutters_upstream(wire))]
        return StoppedPort(port, _why_nothing_continues(others), _in_a_row(flow, port, others))
    return StoppedPort(port, None)


def _in_a_row(flow: Flow, port: PortPath, others: Sequence[Cutter]) -> bool:
    are_written = all(other.kind == "stop" and other.written for other in others)
    return bool(others and are_written and flow.program.block(port.block).written)


def _may_arrive(flow: Flow, port: PortPath) -> bool:
    """Whether the routes lead through what is recorded without that gradient, and so not known."""
    blocks = (flow.program.block(cutter.block) for cutter in flow.cutters_downstream(port))
    return any(
        is_kind(block, "Recorded") and cast("Recorded", block).run.unknown for block in blocks
    )


def _is_differentiated(flow: Flow, stop: InstancePath) -> bool:
    """Whether a Gradient block follows: it differentiates through the stop, though no wire of the
    diagram carries that.
    """
    near = neighbours_of(flow.program)
    return flow.differentiates and any(near.kind(at) == "Gradient" for at in near.after(stop))


def _why_nothing_continues(others: Sequence[Cutter]) -> str:
    if not others:
        return "no trained variable could get a gradient through it"
    return f"{_already_cut(others)} the routes behind it"


def _already_cut(cutters: Sequence[Cutter]) -> str:
    return f"{sentences.names(cutters)} already cut{'s' * (len(cutters) == 1)}"


def _why_nothing_arrives(flow: Flow, others: Sequence[Cutter]) -> str:
    if others:
        return f"{_already_cut(others)} its routes"
    if not flow.losses or set(flow.losses) >= set(flow.program.heads()):
        return "no loss depends on its output"
    asked = sentences.names([loss.block for loss in flow.losses])
    return f"{asked} {'does' if len(flow.losses) == 1 else 'do'} not depend on its output"
