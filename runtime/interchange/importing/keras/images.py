"""Layouts of images and sequences: channels last in Keras, first in blocks.

What a block gives is kept in both layouts; only what something reads becomes a Transpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


class Layouts:
    """Values with channels last, and the same ones with channels first where they are known."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._first: dict[Staged, Staged] = {}

    def first(self, x: Staged) -> Staged:
        """A value with channels before the spatial axes."""
        if x not in self._first:
            order = (0, x.ndim - 1, *range(1, x.ndim - 1))
            self._first[x] = self._stage.transpose(x, order)
        return self._first[x]

    def last(self, x: Staged) -> Staged:
        """A value with channels first, in the layout of Keras."""
        turned = self._stage.transpose(x, (0, *range(2, x.ndim), 1))
        self._first[turned] = x
        return turned

    def known(self, x: Staged) -> Staged | None:
        """The value with channels first, if some block gives it."""
        return self._first.get(x)
