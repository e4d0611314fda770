"""Averages of variables over the rounds, as frozen variables keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runtime.training.rounds.arenas import Arena, Form, stretches

if TYPE_CHECKING:
    from runtime.diagram.training import Average

Array = NDArray[Any]


class Averaging:
    """One average of a recipe: ``update`` moves the targets towards the sources.

    ``target = decay * target + (1 - decay) * source``; see ``Average`` for how it starts.
    """

    def __init__(self, rule: Average, pairs: Sequence[tuple[str, str]]) -> None:
        self.rule = rule
        self.name = rule.name
        self.sources = tuple(source for source, _ in pairs)
        self.targets = tuple(target for _, target in pairs)
        self.updates = 0
        self._debiased = rule.start == "zero_debiased"
        self._parts: list[tuple[Array, Array, Array]] = []
        """Targets, sources, and what is averaged: the targets unless they are divided."""
        self._raw = Arena()

    def settle(self, values: Arena, forms: Mapping[str, Form]) -> None:
        """Give targets their memory, beside each other; sources that no optimiser moves too."""
        for names in (self.sources, self.targets):
            values.add(forms[name] for name in names)
        kept = values
        if self._debiased:
            kept = self._raw
            kept.add(forms[name] for name in self.targets)
        sides = (values, self.targets), (values, self.sources), (kept, self.targets)
        for stretch in stretches(*sides):
            target, source, total = stretch.flat
            self._parts.append((target, source, total))

    def update(self) -> None:
        """Average once more."""
        self.updates += 1
        copied = self.updates == 1 and self.rule.start == "first_update"
        decay = 0.0 if copied else self.rule.decay
        for target, source, total in self._parts:
            if decay == 0.0:
                np.copyto(total, source)
            else:
                np.multiply(total, decay, out=total)
                np.add(total, (1 - decay) * source, out=total)
            if self._debiased:
                np.divide(total, 1 - self.rule.decay**self.updates, out=target)

    def state(self) -> dict[str, Array]:
        """Copies of what is divided before it becomes a target; nothing for other averages."""
        return {path: array.copy() for path, array in self._raw.arrays.items()}

    def restore(self, arrays: Mapping[str, Array], updates: int) -> None:
        """Take over what ``state`` returned."""
        self.updates = updates
        for path, array in arrays.items():
            np.copyto(self._raw.arrays[path], array)
