"""How far updates move parameters, and what is wrong with that."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from gradwire.runtime.flow.words.sentences import names as listed
from gradwire.runtime.watch.reasons import Found, Trouble
from gradwire.runtime.watch.torch.measures import Updates

PATIENCE = 5
"""Checks in a row in which what can pass by itself must be seen before it is told: a gradient of
exactly 0, a parameter that no call reads, as an expert that no token chose.
"""
LONG = 50
"""Checks in a row in which no call reads a parameter that some have read, until it is told: layers
may be left out at random.
"""
_SAMPLES = 10
"""Steps from one look at updates to the next."""
_LARGE = 0.5
"""Update relative to the weights that is told, where it is so again and again."""


class Moves:
    """Looks at one update of some, and at what many of them have in common."""

    def __init__(self, trained: Mapping[str, Any]) -> None:
        self._trained = trained
        self._updates = Updates(trained)
        self._moved: set[str] = set()
        """The parameters of at least 32 bits that an update has moved: to stand still later is how
        a training ends.
        """
        self.ratios: Mapping[str, float] = {}
        """How far the last update that was looked at moved each parameter, relative to its size."""

    def is_due(self, step: int) -> bool:
        """Whether the update of a step is looked at."""
        return step % _SAMPLES == 0

    def begin(self, step: int) -> None:
        """An update is about to be made."""
        if self.is_due(step):
            self._updates.take()

    def found(
        self,
        owned: Callable[[], Collection[str]],
        sizes: Callable[[], Mapping[str, float | None]],
        lasting: Callable[[Sequence[str], Trouble], list[str]],
        step: int,
    ) -> Iterator[Found]:
        """What is wrong with an update that has been made, of parameters to which gradient of
        the ``sizes`` came. ``lasting`` gives those that have been so in enough looks.
        """
        ratios = self._updates.ratios()
        if not ratios:
            return
        self.ratios, own, came = ratios, frozenset(owned()), sizes()
        fine = (n for n, ratio in ratios.items() if ratio and self._trained[n].element_size() >= 4)
        self._moved.update(fine)
        still = [
            n
            for n, ratio in ratios.items()
            if ratio == 0 and n in own and came.get(n) and n not in self._moved
        ]
        if names := lasting(still, Trouble.NOT_UPDATED):
            text = (
                f"{listed(names)}: gradient comes, and {PATIENCE * _SAMPLES} steps have not moved "
                f"{'them' if len(names) > 1 else 'it'}: the learning rate is 0, or updates are "
                "below what the dtype can hold."
            )
            yield Found(Trouble.NOT_UPDATED, tuple(names), text, step)
        large = [n for n, ratio in ratios.items() if math.isfinite(ratio) and ratio > _LARGE]
        if names := lasting(large, Trouble.LARGE_UPDATE):
            worst = max(names, key=ratios.__getitem__)
            text = (
                f"{listed(names)}: updates keep changing the weights by more than half of their "
                f"size ({worst}: {ratios[worst]:.2g} times). Lower the learning rate."
            )
            yield Found(Trouble.LARGE_UPDATE, tuple(names), text, step)
