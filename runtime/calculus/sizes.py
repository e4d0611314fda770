"""Limits on shapes, checked while a diagram is traced: before any memory is allocated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradwire.blocks.errors import LimitError
from gradwire.blocks.limits import MAX_AXES, MAX_CONSTANT, MAX_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence


def require_size(shape: Sequence[int], most: int = MAX_ELEMENTS) -> None:
    """Raise LimitError for too many axes, or for more than ``most`` elements."""
    require_axes(shape)
    if math.prod(shape) > most:
        raise LimitError(
            f"An array of shape {list(shape)} has too many elements.",
            expected=f"at most {most:,}",
            got=f"{math.prod(shape):,}",
            next_step="Make the shape smaller.",
        )


def require_axes(shape: Sequence[int]) -> None:
    """Raise LimitError for too many axes."""
    if len(shape) > MAX_AXES:
        raise LimitError(
            "An array has too many axes.",
            expected=f"at most {MAX_AXES}",
            got=f"{len(shape):,}",
            next_step="Join some of them.",
        )


def require_constant(*shape: int) -> None:
    """Raise LimitError where an array is too large to be made while the diagram is traced."""
    require_size(shape, MAX_CONSTANT)
