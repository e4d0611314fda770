"""Keeps the places of labels along wires until these move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gradwire.app.canvas.scene.arrays import Indices, Ints


class OnWire(Protocol):
    """A place on a wire, or beside it."""

    @property
    def wire(self) -> int:
        """The wire's number."""


S = TypeVar("S", bound=OnWire)
Find: TypeAlias = "Callable[[Indices, Ints], Iterable[S]]"
"""Finds the places on wires (k,), whose lanes are at positions (k,); none for some."""


class Spots(Generic[S]):
    """The places on wires by number, for one camera."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, S | None]] = {}
        """By wire the position of its lane, and its place, if it has one."""

    def of(self, wires: Indices, positions: Ints, find: Find[S]) -> list[S]:
        """The places on ``wires`` (k,), whose lanes are at ``positions`` (k,), in this order."""
        known = self._known
        pairs = list(zip(wires.tolist(), positions.tolist(), strict=True))
        unknown = [n for n, (wire, at) in enumerate(pairs) if known.get(wire, _NOWHERE)[0] != at]
        if unknown:
            chosen = np.array(unknown, np.intp)
            known.update((pairs[n][0], (pairs[n][1], None)) for n in unknown)
            for spot in find(wires[chosen], positions[chosen]):
                known[spot.wire] = known[spot.wire][0], spot
        found = (known[wire][1] for wire, _ in pairs)
        return [spot for spot in found if spot is not None]

    def forget(self, wires: Indices) -> None:
        """Find the places of ``wires`` anew, which have moved."""
        for wire in wires.tolist():
            self._known.pop(wire, None)


_NOWHERE: tuple[int, None] = (-2, None)
"""For a wire of which nothing is known: a position that no lane has."""
