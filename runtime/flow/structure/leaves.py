"""Combines the verdicts on the leaves of a tree to one on the wire that carries it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.runtime.flow.words.sentences import names
from gradwire.runtime.flow.words.states import Cutter, State, Verdict, best

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import PortPath

NO_ARRAYS = "There are no arrays in this tree."
_SHOWN = 3


def best_state(states: Iterable[State]) -> State:
    """The best of the leaves' states; NOTHING TO TRAIN without leaves."""
    return best(states, default=State.NOTHING_TO_TRAIN)


def combined_verdict(wire: str, loss: PortPath | None, leaves: Mapping[str, Verdict]) -> Verdict:
    """The verdict on a wire, given those on its leaves: the best state, and how many carry."""
    if not leaves:
        return Verdict(wire, loss, State.NOTHING_TO_TRAIN, NO_ARRAYS, leaves=(0, 0))
    best_leaf = min(leaves.values(), key=lambda verdict: verdict.state.row.rank)
    return replace(
        best_leaf,
        wire=wire,
        sentence=_sentence(leaves),
        cutters=tuple(dict.fromkeys(c for v in leaves.values() for c in v.cutters)),
        frozen=tuple(dict.fromkeys(name for v in leaves.values() for name in v.frozen)),
        repair=merged_repairs(v.repair for v in leaves.values() if v.state is best_leaf.state),
        leaves=(_carrying(leaves), len(leaves)),
    )


def merged_repairs(repairs: Iterable[Sequence[Cutter]]) -> tuple[Cutter, ...]:
    """The slots of several repairs, each once."""
    return tuple(dict.fromkeys(cutter for repair in repairs for cutter in repair))


def counted(carrying: int, leaves: int) -> str:
    """The sentence ``1 of 3 leaves carries``."""
    return f"{carrying} of {leaves} leaves {'carries' if carrying == 1 else 'carry'}."


def _carrying(leaves: Mapping[str, Verdict]) -> int:
    return sum(verdict.state.row.passes for verdict in leaves.values())


def _sentence(leaves: Mapping[str, Verdict]) -> str:
    """How many leaves carry, then the distinct sentences with their leaves."""
    by_sentence: dict[str, list[str]] = {}
    for path, verdict in leaves.items():
        by_sentence.setdefault(verdict.sentence, []).append(path)
    count = _carrying(leaves)
    parts = [counted(count, len(leaves))]
    groups = list(by_sentence.items())
    parts += [f"{names(paths)}: {sentence}" for sentence, paths in groups[:_SHOWN]]
    more = sum(len(paths) for _, paths in groups[_SHOWN:])
    return " ".join([*parts, f"And {more} more."] if more else parts)
