"""Averages of variables over the iterations, as frozen variables keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.training.iterations.flat_buffers import FlatBuffer, VariableSpec, flat_slices

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.training import Average
    from gradwire.runtime.training.optimisers.arithmetic import Work


def is_divided(rule: Average) -> bool:
    """Whether what is averaged is divided before it becomes a target."""
    return rule.start == "zero_debiased"


def work_of(rule: Average, count: int) -> Work:
    """Update number ``count`` (from 1 on) of an average, in place on arrays of targets, sources,
    and of what is averaged if it is not the targets.
    """
    decay = 0.0 if count == 1 and rule.start == "first_update" else rule.decay

    def work(arrays: Sequence[Array], rooms: Sequence[Array]) -> None:
        target, source, *raw = arrays
        total = raw[0] if raw else target
        if decay == 0.0:
            np.copyto(total, source)
        else:
            np.multiply(total, decay, out=total)
            np.add(total, (1 - decay) * source, out=total)
        if raw:
            np.divide(total, 1 - rule.decay**count, out=target)

    return work


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
        self._debiased = is_divided(rule)
        self._parts: list[tuple[Array, ...]] = []
        """Targets, sources, and what is averaged if it is not the targets."""
        self._raw = FlatBuffer()

    def allocate(self, values: FlatBuffer, specs: Mapping[str, VariableSpec]) -> None:
        """Give targets their memory, beside each other; sources that no optimiser moves too."""
        for names in (self.sources, self.targets):
            values.add(specs[name] for name in names)
        kept = values
        if self._debiased:
            kept = self._raw
            kept.add(specs[name] for name in self.targets)
        sides = (values, self.targets), (values, self.sources), (kept, self.targets)
        for flat_slice in flat_slices(*sides):
            self._parts.append(flat_slice.flat if self._debiased else flat_slice.flat[:2])

    def update(self) -> None:
        """Average once more."""
        self.updates += 1
        work = work_of(self.rule, self.updates)
        for arrays in self._parts:
            work(arrays, ())

    def state(self) -> dict[str, Array]:
        """Copies of what is divided before it becomes a target; nothing for other averages."""
        return {path: array.copy() for path, array in self._raw.arrays.items()}

    def restore(self, arrays: Mapping[str, Array], updates: int) -> None:
        """Take over what ``state`` returned."""
        self.updates = updates
        for path, array in arrays.items():
            np.copyto(self._raw.arrays[path], array)
