"""Which wires are allowed: those between existing ports that close no cycle on any page."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from gradwire.blocks.block import Opaque
from gradwire.blocks.errors import ChangeError, Location
from gradwire.blocks.library.pages import PageInput
from gradwire.runtime.diagram.checks.dependencies import Cycle, Dependencies
from gradwire.runtime.diagram.edits.draft import no_block
from gradwire.runtime.diagram.model import Diagram, DiagramView, ports

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import PortName


def require_ports(diagram: DiagramView, page: str, source: PortName, target: PortName) -> None:
    """Raise ChangeError unless the output and the input exist."""
    blocks = diagram.pages[page].blocks
    for end in (source, target):
        if end.block not in blocks:
            raise no_block(end.block, blocks, Location(page, *end))
    sources, targets = ports(diagram, page, source.block), ports(diagram, page, target.block)
    if source.port not in sources.outputs and not isinstance(blocks[source.block], Opaque):
        raise ChangeError(
            f"{source} is an input; a wire starts at an output."
            if source.port in (*sources.inputs, *sources.free)
            else f"{source.block} has no output {source.port!r}.",
            location=Location(page, *source),
            expected="one of " + ", ".join(sources.outputs) if sources.outputs else None,
        )
    if isinstance(blocks[target.block], PageInput):
        raise ChangeError(
            f"{target.block} is an input of this page and gets its value from outside.",
            location=Location(page, *target),
        )
    inputs = (*targets.inputs, *targets.free)
    if target.port not in inputs and not isinstance(blocks[target.block], Opaque):
        raise ChangeError(
            f"{target} is an output; a wire ends at an input."
            if target.port in targets.outputs
            else f"{target.block} has no input {target.port!r}.",
            location=Location(page, *target),
            expected="one of " + ", ".join(inputs) if inputs else None,
        )


def refuse_new_cycles(
    before: Diagram, after: Diagram, connected: Collection[tuple[str, PortName]]
) -> None:
    """Raise ChangeError if new wires close a cycle, on their page or on one that uses it."""
    dependencies = Dependencies(after)
    for page in dict.fromkeys(page for page, _ in connected):
        if page not in after.pages:
            continue
        wires = after.pages[page].wires
        along = [target for name, target in connected if name == page and target in wires]
        cycle = dependencies.cycle_along(page, along)
        if cycle is None and len(after.pages) > 1:
            cycle = _new_cycle_outside(before, dependencies, page)
        if cycle is not None:
            raise ChangeError(
                f"That makes a cycle: {cycle}.",
                location=Location(cycle.page, cycle.blocks[0]),
                next_step="A block can't depend on its own output.",
            )


def _new_cycle_outside(before: Diagram, after: Dependencies, page: str) -> Cycle | None:
    """A new cycle in a page that uses this one."""
    for user in after.users(page):
        known = Dependencies(before).cycles(user) if user in before.pages else []
        for cycle in after.cycles(user):
            if cycle not in known:
                return cycle
    return None
