"""Requirements of blocks on their inputs, beyond those of their arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Value


def require_float(x: Value, port: str) -> None:
    """Raise DTypeError unless the input ``x`` at ``port`` is floating."""
    if not x.dtype.startswith("float"):
        raise DTypeError(
            f"Input {port!r} must be floating.",
            expected="float16, float32 or float64",
            got=x.dtype,
            next_step="Put a Cast before it.",
        )


def require_integer(x: Value, port: str) -> None:
    """Raise DTypeError unless the input ``x`` at ``port`` is an integer."""
    if not x.dtype.startswith(("int", "uint")):
        raise DTypeError(
            f"Input {port!r} must be an integer.",
            expected="an integer dtype",
            got=x.dtype,
            next_step="Put a Cast before it.",
        )


def require_axis(x: Value, axis: int) -> int:
    """``axis`` of ``x`` counted from 0; raises ShapeError if x has no such axis."""
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(
            f"Axis {axis} is out of range for rank {x.ndim}.",
            expected=f"an axis from {-x.ndim} to {x.ndim - 1}" if x.ndim else "rank 1 or more",
        )
    return int(axis % x.ndim)
