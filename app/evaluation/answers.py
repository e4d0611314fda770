"""The slow part of the Why panel: a repair, other systems' views, contributions."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram import InstancePath, PortPath, same_meaning
from gradwire.runtime.flow import Account, Dialects, Fix, account, dialects, fix

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.runtime.engine import Program, Session

MAX_VARIABLES = 3
"""Variables upstream of a wire that are described in the terms of other systems."""


@dataclass(frozen=True, eq=False)
class Reasons:
    """Answers about one wire and its source port."""

    wire: str
    port: str
    fix: Fix | None = None
    dialects: tuple[Dialects, ...] = ()
    account: Account | None = None


def reasons(session: Session, result: EvaluationResult, wire: str, port: str) -> Reasons:
    """Answers about ``wire``, whose source is ``port``; raises what a run of ``session`` raises.

    There are none about a result of which only a part is shown.
    """
    flow = result.flow
    if flow is None or result.is_partial or wire not in result.states:
        return Reasons(wire, port)
    run, source = flow.run(result.loss), flow.program.flat.source(PortPath(port))
    # A repair applies to the document, even while a trial changes what is shown.
    tried = flow.diagram is None or not same_meaning(flow.diagram, session.diagram)
    return Reasons(
        wire,
        port,
        fix(session, wire, result.loss, flow=None if tried else flow.flow),
        tuple(dialects(flow, name, result.loss) for name in variables(flow.program, source)),
        account(flow.program, run, port)
        if run is not None and source in flow.program.ports
        else None,
    )


def variables(program: Program, port: str) -> list[str]:
    """The variables nearest upstream of ``port``, a few at most."""
    known = set(program.sources("variable"))
    before: dict[InstancePath, list[InstancePath]] = {}
    for wire, source in program.wire_sources.items():
        if not wire.leaf:
            before.setdefault(wire.block, []).append(source.block)
    start = PortPath(port).block
    waiting, seen = deque([start]), {start}
    found: list[str] = []
    while waiting and len(found) < MAX_VARIABLES:
        block = waiting.popleft()
        if block in known:
            found.append(block)
        fresh = [name for name in before.get(block, ()) if name not in seen]
        seen.update(fresh)
        waiting.extend(fresh)
    return found
