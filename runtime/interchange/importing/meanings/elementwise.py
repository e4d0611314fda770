"""Functions of single elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def times_logarithm(x: Staged, y: Staged, kind: str = "Log", pole: float = 0.0) -> Staged:
    """``x * log(y)``, which is 0 where x is and y is at the pole of the logarithm or below.

    Gradient still goes through the logarithm there, so that ``0 / 0`` is NaN, as in PyTorch.
    """
    nothing = put("And", put("Equal", x, x.like(0)), y <= pole)
    logarithm = put(kind, y)
    return x * put("Where", nothing, logarithm.like(0), logarithm)
