"""What is more than there may be, refused with one message."""

from __future__ import annotations

from typing import Any

from gradwire.blocks.errors import FileError, GradwireError


def require_at_most(
    what: str,
    count: int,
    most: int,
    unit: str = "",
    error: type[GradwireError] = FileError,
    **more: Any,
) -> None:
    """Raise an error that says ``what`` is wrong where ``count`` is above ``most``."""
    if count > most:
        expected = f"at most {most:,} {unit}".rstrip()
        raise error(what, expected=expected, got=f"{count:,}", **more)
