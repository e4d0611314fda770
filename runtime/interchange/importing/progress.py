"""Steps of an import that can be counted and cancelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from gradwire.runtime.data.progress import report
from gradwire.runtime.engine.interruption import until_cancelled

_T = TypeVar("_T")
_OFTEN = 100
"""Reports in one pass."""


def advanced(what: str, done: int, of: int) -> None:
    """Let listeners hear now and then how many items of a pass are done."""
    if done % max(1, of // _OFTEN) == 0:
        report(what, done / max(1, of))


def counted(items: Sequence[_T], what: str = "operations") -> Iterator[_T]:
    """The items; listeners hear how many of them are done, and the import can be cancelled."""
    for index, item in enumerate(until_cancelled(items)):
        advanced(what, index, len(items))
        yield item
