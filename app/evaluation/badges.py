"""What a run says of ports, wires and blocks besides the states of lanes, by what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from blocks.errors import GradwireError
from runtime.diagram.paths import WirePath
from runtime.flow import PASSING, Badge, State, badges, contracts_of
from runtime.flow.badges import surrogate_badges

if TYPE_CHECKING:
    from runtime.flow import Check, Flow, ObservedFlow
    from runtime.flow.tools.contracts import Contract


@dataclass(frozen=True)
class Badges:
    """The badges of a run, and how many leaves of the trees on its wires carry."""

    about: Mapping[str, tuple[Badge, ...]] = field(default_factory=dict)
    """By instance path of a block, or port; about all losses together."""
    checks: Mapping[str, Check] = field(default_factory=dict)
    """By block whose derivative was checked against a difference."""
    origins: frozenset[str] = frozenset()
    """Wires on which a NaN or infinity is made, and not passed on from nearer to the loss."""
    leaves: Mapping[str | None, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    """By loss (None: all together) and wire: how many leaves carry, of how many."""


NONE = Badges()


def badges_without_run(flow: Flow) -> Badges:
    """What is known of blocks where nothing could be run."""
    return Badges({badge.key: (badge,) for badge in surrogate_badges(flow)})


def badges_of(flow: ObservedFlow) -> Badges:
    """The badges of a run."""
    about: dict[str, tuple[Badge, ...]] = {}
    for badge in badges(flow, _stated(flow)):
        about[badge.key] = (*about.get(badge.key, ()), badge)
    flat = flow.program.flat
    for path, first in flat.shared.items():  # a variable has its badges in every use
        for key, shown in ((path, first), (path.port("out"), first.port("out"))):
            if shown in about:
                about[key] = about[shown]
    leaves: dict[str | None, dict[str, tuple[int, int]]]
    leaves = {loss: _leaves(flow, loss) for loss in (None, *flow.losses)}
    return Badges(about, origins=_origins(flow), leaves=leaves)


def _origins(flow: ObservedFlow) -> frozenset[str]:
    """Wires that are not finite into blocks that nothing of the kind comes back to."""
    wild = {
        WirePath(wire)
        for loss in (None, *flow.losses)
        for wire, state in flow.states(loss).items()
        if state is State.NONFINITE
    }
    program = flow.program
    victims = {program.wire_sources[wire].block for wire in wild}
    return frozenset(wire for wire in wild if program.wire_targets[wire] not in victims)


def _stated(flow: ObservedFlow) -> list[Contract]:
    """What the diagram states; lines beside its file are the doctor's to read."""
    if flow.diagram is None:
        return []
    try:
        return contracts_of(flow.diagram)
    except GradwireError:  # the doctor says which line is none
        return []


def _leaves(flow: ObservedFlow, loss: str | None) -> dict[str, tuple[int, int]]:
    states = flow.states(loss)
    return {
        wire: (sum(states[leaf] in PASSING for leaf in tree.arrays.values()), len(tree.arrays))
        for wire, tree in flow.program.wire_trees.items()
    }
