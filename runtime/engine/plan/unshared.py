"""Tells whether nobody but its container refers to an array, so that its memory can be reused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import getrefcount
from typing import Any


def _references(container: Sequence[Any] | Mapping[Any, Any], key: Any) -> int:
    return getrefcount(container[key])


_ALONE = _references([object()], 0)
"""What is counted where nobody else refers to it; versions of Python count differently."""


def is_unshared(container: Sequence[Any] | Mapping[Any, Any], key: Any) -> bool:
    """Whether nothing but the container, not even a view, refers to what it has at ``key``."""
    return _references(container, key) == _ALONE
