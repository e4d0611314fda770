"""Names for new blocks."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import count
from typing import TYPE_CHECKING

from blocks.names import snake_case

if TYPE_CHECKING:
    from runtime.diagram.model import Page


def fresh_names(type_name: str, taken: Container[str]) -> Iterator[str]:
    """Unused names for blocks of a type: ``mul1``, ``mul2``, …, ``arctan2_1``, ….

    The first Loss is ``loss``, the next ``loss2``: most diagrams have one, and reports name it.
    """
    base = snake_case(type_name)
    if type_name == "Loss" and base not in taken:
        yield base
    joint = "_" if base[-1:].isdigit() else ""
    for number in count(2 if type_name == "Loss" else 1):
        if f"{base}{joint}{number}" not in taken:
            yield f"{base}{joint}{number}"


def fresh_name(page: Page, type_name: str) -> str:
    """The first unused name on the page for a block of this type: ``mul2``."""
    return next(fresh_names(type_name, page.blocks))
