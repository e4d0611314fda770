"""The same numbers in other shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def move(x: Staged, source: int, destination: int) -> Staged:
    """``x`` with an axis moved to another place."""
    order = [axis for axis in range(x.ndim) if axis != source % x.ndim]
    order.insert(destination % x.ndim, source % x.ndim)
    return x.stage.transpose(x, order)
