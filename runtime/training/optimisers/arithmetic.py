"""How an optimiser moves variables that lie side by side, as its lines say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.values import Array
from gradwire.runtime.engine.plan.recording import InPlace
from gradwire.runtime.training.optimisers.update_program import UpdateProgram, slots_of

if TYPE_CHECKING:
    from gradwire.runtime.diagram.optimisers import Method


CHUNK = 1 << 15
"""Elements that are updated at a time: small enough to stay in a processor's cache."""

Work: TypeAlias = Callable[[Sequence[Array], Sequence[Array]], None]
"""Changes the first arrays in place; then come arrays of the same size to work in."""


class Arithmetic:
    """How one optimiser moves variables that lie in one dimension, side by side.

    All variables of a call have had the same number of updates. Gradients are left as they are.
    Raises RunError for options that exclude each other.
    """

    def __init__(self, method: Method) -> None:
        method.require_consistent()
        self.method = method
        self._starts = slots_of(method)
        self._first: dict[bool, UpdateProgram] = {}
        self._programs: dict[tuple[bool, tuple[float, ...]], UpdateProgram] = {}
        self._in_place: dict[UpdateProgram, InPlace] = {}

    def slots(self, like: Array) -> dict[str, Array]:
        """The state before the first update by PyTorch's names, in arrays like ``like``."""
        found = {name: np.zeros_like(like) for name in self._starts}
        for name, start in self._starts.items():
            if start:
                found[name][...] = start
        return found

    def program(self, count: int, weight_decay: float) -> UpdateProgram:
        """What update number ``count``, from 1 on, does."""
        decays = weight_decay != 0
        first = self._first.get(decays)
        if first is None:
            first = self._first[decays] = UpdateProgram(self.method, self._starts, count, decays)
        if not first.branches:
            return first
        key = decays, first.branches_of(count)
        found = self._programs.get(key)
        if found is None:
            found = UpdateProgram(self.method, self._starts, count, decays)
            if found.branches != key[1]:
                raise ValueError(f"the branches of {self.method.kind} are not on one level")
            self._programs[key] = found
        return found

    def update(
        self,
        values: Array,
        gradient: Array,
        slots: Mapping[str, Array],
        *,
        count: int,
        lr: float,
        weight_decay: float,
    ) -> None:
        """Make update number ``count`` (from 1 on) of one-dimensional values and state, in place.

        ``lr`` and ``weight_decay`` replace those of the method. Numbers that are not finite stay as
        they are; NumPy's warnings about them are the caller's.
        """
        program = self.program(count, weight_decay)
        arrays, size = (values, gradient, *slots.values()), values.size
        work = self._in_place.get(program)
        if work is None:
            work = self._in_place[program] = InPlace(program.recording, len(arrays))
        numbers = program.numbers(count, lr, weight_decay)
        for start in range(0, size, CHUNK):
            parts = arrays
            if size > CHUNK:
                parts = tuple([each[start : start + CHUNK] for each in arrays])
            work.run(parts, numbers)

    def rests(self, dtype: np.dtype[Any], weight_decay: float) -> bool:
        """Whether a gradient of 0 changes no bit of values and state, whatever these are."""
        return not (weight_decay or self.method.maximize) and self.method.rests(dtype)
