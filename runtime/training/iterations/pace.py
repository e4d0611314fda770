"""How many iterations to make in one call of an engine."""

from __future__ import annotations

_FIRST = 10
"""Iterations of the first calls."""
_MOST = 100
"""Iterations of a call, where they are quick."""
_QUICK, _SLOW = 0.1, 2.0
"""Seconds that the first iterations take: below, more are made in a call; above, only one."""


class Pace:
    """Chooses how many iterations each call makes, for engines that gain by making many at once.

    Each number is compiled for by itself, so that few are tried. ``together`` is a number to keep
    to; a call that takes long can't be interrupted, which is what ends the choice.
    """

    def __init__(self, gains: bool, together: int | None = None) -> None:
        self.most = together or (_FIRST if gains else 1)
        """Iterations that the next call should make, at most."""
        self._is_open = gains and together is None
        self._compiled = False

    def took(self, iterations: int, seconds: float) -> None:
        """A call took so long."""
        if not self._is_open or iterations < self.most:
            return
        if not self._compiled:  # the first call compiles too
            self._compiled = True
            return
        self._is_open = False
        if seconds < _QUICK:
            self.most = _MOST
        elif seconds > _SLOW:
            self.most = 1
