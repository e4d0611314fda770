"""Steps of an import that can be counted and cancelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from runtime.data.progress import report
from runtime.engine.interruption import until_cancelled

_T = TypeVar("_T")
_OFTEN = 100
"""Reports in one pass."""


def counted(items: Sequence[_T], what: str = "operations") -> Iterator[_T]:
    """The items; listeners hear how many of them are done, and the import can be cancelled."""
    every = max(1, len(items) // _OFTEN)
    for index, item in enumerate(until_cancelled(items)):
        if index % every == 0:
            report(what, index / len(items))
        yield item
