"""What a run says of ports, wires and blocks besides the states of lanes, each with a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from blocks.errors import GradwireError
from runtime.flow import PASSING, contracts_of, unowned
from runtime.flow.contracts import UNOWNED

if TYPE_CHECKING:
    from runtime.flow import FlowRun


@dataclass(frozen=True)
class Badges:
    """Sentences by instance path, and by wire how many leaves of its tree carry, of how many."""

    cancels: Mapping[str, str] = field(default_factory=dict)
    """By output port, where what comes back adds up to next to nothing."""
    idle: Mapping[str, str] = field(default_factory=dict)
    """By StopGradient that cuts nothing."""
    unowned: Mapping[str, str] = field(default_factory=dict)
    """By variable that is to be trained and that no optimiser updates."""
    leaves: Mapping[str | None, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    """By loss (None: all together) and wire."""


NONE = Badges()


def badges_of(flow: FlowRun) -> Badges:
    """The badges of a run; those of ports and blocks are about all losses together."""
    return Badges(
        {port: found.sentence for port, found in flow.cancels().items()},
        flow.idle_stops(),
        _unowned(flow),
        {loss: _leaves(flow, loss) for loss in (None, *flow.losses)},
    )


def _unowned(flow: FlowRun) -> dict[str, str]:
    """By what the diagram states; lines beside its file are the doctor's to read."""
    if flow.diagram is None:
        return {}
    try:
        stated = contracts_of(flow.diagram)
    except GradwireError:  # the doctor says which line is none
        return {}
    return {name: UNOWNED.format(name) for name in unowned(flow.program, stated)}


def _leaves(flow: FlowRun, loss: str | None) -> dict[str, tuple[int, int]]:
    states = flow.states(loss)
    return {
        wire: (sum(states[leaf] in PASSING for leaf in tree.arrays.values()), len(tree.arrays))
        for wire, tree in flow.program.wire_trees.items()
    }
