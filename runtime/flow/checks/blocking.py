"""Where a StopGradient would keep the gradient of a loss from a variable, and from no other."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.flow.analyse import Flow, analyse
from gradwire.runtime.flow.lazy import MANY
from gradwire.runtime.flow.tools.interventions import CutWire
from gradwire.runtime.flow.tools.repairs import trial
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.states import PASSING

if TYPE_CHECKING:
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program

_TRIED = 4
"""Places for a stop that are tried."""


def stop_that_blocks(
    session: Session, flow: Flow, loss: PortPath, variable: str, blocked: Collection[str] = ()
) -> str:
    """``A StopGradient on mul1.a would block it.`` for a variable that gets a gradient of a loss;
    empty where no single stop leaves all trained variables, but those ``blocked``, theirs. Where
    uses of a page share the stop, so that other losses lose gradient as well, that is said instead.
    """
    program = flow.program
    states = flow.states(loss)
    carrying = [wire for wire in program.wire_sources if states[wire] in PASSING]
    reached = _reached(program, carrying, loss.block)
    kept = {
        name for name in program.trainable if name in reached and name not in {variable, *blocked}
    }
    fitting = []
    for wire in _route(flow, loss, variable, carrying):
        left = _reached(program, (other for other in carrying if other != wire), loss.block)
        if variable not in left and kept <= left:
            fitting.append(wire)
    merging = [wire for wire in fitting if len(program.instances[wire.block].wires) > 1]
    also: list[PortPath] = []
    for wire in list(dict.fromkeys([*merging, *fitting]))[:_TRIED]:
        spoilt = _spoilt(session, flow, wire, loss, variable, kept)
        if spoilt == []:
            others = " All others keep one." if kept else ""
            return f"A StopGradient on {wire} would block it.{others}"
        also = also or spoilt or []
    return sentences.shared_stop(variable, loss.block, [head.block for head in also])


def _route(
    flow: Flow, loss: PortPath, variable: str, carrying: Iterable[WirePath]
) -> list[WirePath]:
    """The wires of the route from a loss to a variable, from the loss on."""
    blocks = list(flow.explain(variable, loss).witness[:MANY])
    places = {pair: place for place, pair in enumerate(pairwise(blocks))}
    program = flow.program
    found = {
        wire: place
        for wire in carrying
        if (place := places.get((program.wire_targets[wire], program.wire_sources[wire].block)))
        is not None
    }
    return sorted(found, key=found.__getitem__)


def _reached(
    program: Program, carrying: Iterable[WirePath], head: InstancePath
) -> set[InstancePath]:
    """The blocks that the gradient of a loss reaches along wires."""
    before: dict[InstancePath, list[InstancePath]] = {}
    for wire in carrying:
        before.setdefault(program.wire_targets[wire], []).append(program.wire_sources[wire].block)
    found, pending = {head}, [head]
    while pending:
        fresh = [block for block in before.get(pending.pop(), ()) if block not in found]
        pending += fresh
        found.update(fresh)
    return found


def _spoilt(
    session: Session,
    flow: Flow,
    wire: WirePath,
    loss: PortPath,
    variable: str,
    kept: Iterable[str],
) -> list[PortPath] | None:
    """The other losses of which trained variables lose the gradient by a stop; None where it does
    not keep that of the loss from the variable, and from it alone.
    """
    try:
        stopped, _ = trial(session, (CutWire(wire),))
    except GradwireError:
        return None
    after = analyse(stopped.program, flow.losses)

    def arrives(flow: Flow, name: str, head: PortPath) -> bool:
        return flow.arrives(InstancePath(name).port("out"), head)

    if arrives(after, variable, loss) or not all(arrives(after, name, loss) for name in kept):
        return None
    trained = flow.program.trainable
    return [
        head
        for head in flow.losses
        if head != loss
        if any(arrives(flow, name, head) and not arrives(after, name, head) for name in trained)
    ]
