"""A ring of states in bounded memory, from which every step of a run can be reached again."""

from __future__ import annotations

from bisect import bisect_right
from typing import Generic, TypeVar

S = TypeVar("S")
LIMIT = 64 * 2**20
"""Bytes that the states of a run may take."""
_MOST = 1024
"""States that are kept at most, however small they are."""


class Ring(Generic[S]):
    """States by step, evenly spaced.

    The first state always stays, and so does one that is ``kept`` because the run can't be
    repeated past it. Whenever the others need more than ``limit`` bytes, every second one is
    dropped, and later ones are kept twice as far apart.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.spacing = 1
        """How many steps lie between two states."""
        self._states: dict[int, tuple[S, int, bool]] = {}
        self._steps: list[int] = []
        self.nbytes = 0
        """The memory of the states, in bytes."""

    def __len__(self) -> int:
        return len(self._states)

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of which there is a state, in order."""
        return tuple(self._steps)

    def wants(self, step: int) -> bool:
        """Whether a state of this step is to be added."""
        return step % self.spacing == 0

    def add(self, step: int, state: S, nbytes: int, *, kept: bool = False) -> None:
        """Add the state after ``step`` steps, which takes ``nbytes``; steps only grow."""
        if step in self._states:
            self._drop(step)
        self._states[step] = state, nbytes, kept or not self._states
        self._steps.insert(bisect_right(self._steps, step), step)
        self.nbytes += nbytes
        while self.nbytes > self.limit or len(self) > _MOST:
            if not self._thin():
                break

    def before(self, step: int) -> tuple[int, S]:
        """The last state at ``step`` or before, with its step; KeyError if there is none."""
        place = bisect_right(self._steps, step)
        if not place:
            raise KeyError(step)
        found = self._steps[place - 1]
        return found, self._states[found][0]

    def forget_after(self, step: int) -> None:
        """Drop all states of later steps, as the run goes on from this one."""
        for later in [found for found in self._steps if found > step]:
            self._drop(later)

    def _thin(self) -> bool:
        """Keep states twice as far apart; False if nothing can be dropped."""
        if not any(not kept for _, _, kept in self._states.values()):
            return False
        self.spacing *= 2
        for step, (_, _, kept) in [*self._states.items()]:
            if step % self.spacing and not kept:
                self._drop(step)
        return True

    def _drop(self, step: int) -> None:
        self.nbytes -= self._states.pop(step)[1]
        self._steps.remove(step)
