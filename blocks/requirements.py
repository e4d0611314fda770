"""What a block asks of its inputs beyond what its arithmetic asks."""

from __future__ import annotations

from typing import Any

from blocks.errors import DTypeError


def require_float(x: Any, port: str) -> None:
    """Raise DTypeError unless the input ``x`` at ``port`` is floating."""
    if not x.dtype.startswith("float"):
        raise DTypeError(
            f"Input {port!r} must be floating.",
            expected="float16, float32 or float64",
            got=x.dtype,
            next_step="Put a Cast before it.",
        )


def require_integer(x: Any, port: str) -> None:
    """Raise DTypeError unless the input ``x`` at ``port`` is an integer."""
    if not x.dtype.startswith(("int", "uint")):
        raise DTypeError(
            f"Input {port!r} must be an integer.",
            expected="an integer dtype",
            got=x.dtype,
            next_step="Put a Cast before it.",
        )
