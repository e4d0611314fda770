"""Badges: remarks on blocks, ports and wires in addition to the states of wires."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.flow.structure.leaves import counted
from gradwire.runtime.flow.structure.surrogates import surrogates
from gradwire.runtime.flow.words.sentences import names
from gradwire.runtime.flow.words.states import PASSING

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.analyse import Flow
    from gradwire.runtime.flow.observed import ObservedFlow
    from gradwire.runtime.flow.tools.contracts import Contract


SURROGATE = "≈ The rule of {0} sends back something other than its derivative."
STALE = "STALE: the values are older than the diagram."


class BadgeKind(StrEnum):
    """What a badge is about."""

    VALUE = "value not finite"
    SURROGATE = "surrogate"
    IDLE_STOP = "cuts nothing"
    OPEN_STOP = "open"
    LEAVES = "leaves"
    CANCELS = "CANCELS"
    UNOWNED = "UNOWNED"
    STALE = "STALE"


@dataclass(frozen=True, slots=True)
class Badge:
    """A mark on a block, a port or a wire (by its target); an empty ``key`` means the diagram."""

    mark: BadgeKind
    key: str
    sentence: str


def badges(
    observed: ObservedFlow,
    contracts: Iterable[Contract] = (),
    *,
    updated: Collection[str] = (),
    diagram: Diagram | None = None,
) -> list[Badge]:
    """All badges of an observed flow; those about numbers need a run.

    ``contracts``, a session's ``updated`` and the recipe of the current ``diagram`` determine which
    variables are updated.
    """
    from gradwire.runtime.flow.tools.contracts import (  # not of every import
        forgotten,
        unowned_sentence,
    )

    shown = diagram or observed.diagram
    training = None if shown is None else shown.training
    return [
        *(Badge(BadgeKind.VALUE, origin.block, origin.sentence) for origin in observed.origins),
        *_blocks(observed),
        *_leaves(observed),
        *(Badge(BadgeKind.CANCELS, port, c.sentence) for port, c in observed.cancels().items()),
        *(
            Badge(BadgeKind.UNOWNED, name, unowned_sentence(name))
            for name in forgotten(observed.flow, contracts, updated, training)
        ),
        *_stale(observed, diagram),
    ]


def surrogate_badges(flow: Flow) -> list[Badge]:
    """The badges ≈, which need no run."""
    return [Badge(BadgeKind.SURROGATE, p, SURROGATE.format(p)) for p in surrogates(flow)]


def _blocks(observed: ObservedFlow) -> Iterator[Badge]:
    program = observed.program
    yield from surrogate_badges(observed.flow)
    yield from program.derived("open stops", lambda: tuple(_open_stops(program)))
    for stop, text in observed.idle_stops().items():
        yield Badge(BadgeKind.IDLE_STOP, stop, text)


def _open_stops(program: Program) -> Iterator[Badge]:
    for path, instance in program.instances.items():
        block = instance.block
        if isinstance(block, StopGradient) and (block.open or block.spare):
            what = "all gradient" if block.open else f"the gradient of {names(block.spare)}"
            yield Badge(BadgeKind.OPEN_STOP, path, f"{path} lets {what} through.")


def _leaves(observed: ObservedFlow) -> Iterator[Badge]:
    """Badges that say how many leaves of the trees on wires carry gradient."""
    states = observed.states() if observed.losses else {}
    for wire, tree in observed.program.wire_trees.items():
        leaves = tree.arrays.values()
        carrying = sum(states.get(leaf) in PASSING for leaf in leaves)
        yield Badge(BadgeKind.LEAVES, wire, counted(carrying, len(leaves)))


def _stale(observed: ObservedFlow, diagram: Diagram | None) -> Iterator[Badge]:
    if diagram is not None and observed.stale(diagram):
        yield Badge(BadgeKind.STALE, "", STALE)
