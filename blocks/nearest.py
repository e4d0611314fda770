"""Suggests names similar to one that doesn't exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_COMPARED = 10_000
"""Names that are compared at most; more would take seconds."""
_LENGTH = 200
"""Characters of a name that are compared."""


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """Up to three of the known names, the most similar first; ``cutoff`` of 0 takes any."""
    candidates = [text for text in islice(known, _COMPARED) if len(text) <= _LENGTH]
    return get_close_matches(name[:_LENGTH], candidates, n=3, cutoff=cutoff)


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """``Did you mean a or b?``, or None if no name is similar."""
    near = nearest(name, known, cutoff)
    return f"Did you mean {' or '.join(near)}?" if near else None
