"""The type of parameters that are lists of paths or patterns."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BeforeValidator


def listed(data: object) -> object:
    """A tuple of paths from a list, or from text with commas such as ``a, b/c``."""
    if isinstance(data, str):
        inner = data[1:-1] if data.startswith("[") and data.endswith("]") else data
        return tuple(part.strip(" ") for part in inner.split(",")) if inner.strip() else ()
    if isinstance(data, int | float):
        return (str(data),)
    if isinstance(data, list | tuple):
        return tuple(str(item) if type(item) is int else item for item in data)
    return data


PathList: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(listed)]
"""The type of parameters that are lists of paths or patterns."""
