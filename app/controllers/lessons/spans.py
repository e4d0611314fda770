"""Which positions of a timeline a lesson or a comparison plays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.lessons import Phase

if TYPE_CHECKING:
    from gradwire.runtime.diagram import InstancePath
    from gradwire.runtime.lessons import Timeline


def from_block(timeline: Timeline, block: InstancePath) -> range:
    """The positions from where gradient passes a block."""
    return range(timeline.position(Phase.BACKWARD, block) or len(timeline), len(timeline) + 1)


def phases(timeline: Timeline, first: Phase, last: Phase) -> range:
    """The positions of the phases from ``first`` to ``last``."""
    order = [*Phase]
    shown = order[order.index(first) : order.index(last) + 1]
    known = [timeline.phases[phase] for phase in shown if phase in timeline.phases]
    return range(known[0][0], known[-1][-1] + 1) if known else range(0)
