"""What a run found about ports, wires and blocks besides the states of lanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.flow import PASSING, Badge, State, contracts_of, surrogate_badges
from gradwire.runtime.flow.badges import badges

if TYPE_CHECKING:
    from gradwire.runtime.diagram import InstancePath, WirePath
    from gradwire.runtime.engine import Program
    from gradwire.runtime.flow import Check, Contract, Flow, ObservedFlow


@dataclass(frozen=True)
class Badges:
    """The badges of a run, and how many leaves of each tree carry a gradient."""

    about: Mapping[str, tuple[Badge, ...]] = field(default_factory=dict)
    """Badges by the path of their block or port; for all losses together."""
    checks: Mapping[str, Check] = field(default_factory=dict)
    """Checks of derivatives against differences, by block."""
    origins: frozenset[str] = frozenset()
    """Wires on which a NaN or infinity first appears, rather than being passed on from the loss."""
    leaves: Mapping[str | None, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    """By loss (None for all together) and wire: how many leaves carry a gradient, of how many."""


NONE = Badges()


def badges_without_run(flow: Flow) -> Badges:
    """The badges that are known without a run."""
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
    leaves = {None: _leaves(flow, None)}
    for loss in flow.losses if flow.program.wire_trees else ():
        only = flow.states(loss) is flow.states(None)
        leaves[loss] = leaves[None] if only else _leaves(flow, loss)
    return Badges(about, origins=_origins(flow), leaves=leaves)


def _origins(flow: ObservedFlow) -> frozenset[str]:
    """Nonfinite wires whose target block receives nothing nonfinite from further downstream."""
    program = flow.program
    wild: set[WirePath] = set()
    for loss in (None, *flow.losses):
        if flow.is_finite(loss):  # then the states of single losses may wait
            continue
        numeric = flow.numeric_states(loss).items()
        found = {wire for wire, state in numeric if state is State.NONFINITE}
        wild.update(wire for wire in program.wire_sources if wire in found)
    starts = _blocks_read(program) if wild else {}
    victims = {starts[wire] for wire in wild}
    return frozenset(wire for wire in wild if program.wire_targets[wire] not in victims)


def _blocks_read(program: Program) -> dict[WirePath, InstancePath]:
    """The block that each wire starts at."""
    return program.derived(
        "blocks read by wires",
        lambda: {wire: source.block for wire, source in program.wire_sources.items()},
    )


def _stated(flow: ObservedFlow) -> list[Contract]:
    """The contracts in the diagram; those in a file beside it are left to the doctor."""
    if flow.diagram is None:
        return []
    try:
        return contracts_of(flow.diagram)
    except GradwireError:  # the doctor reports the line that is wrong
        return []


def _leaves(flow: ObservedFlow, loss: str | None) -> dict[str, tuple[int, int]]:
    states = flow.states(loss)
    return {
        wire: (sum(states[leaf] in PASSING for leaf in tree.arrays.values()), len(tree.arrays))
        for wire, tree in flow.program.wire_trees.items()
    }
