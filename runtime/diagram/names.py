"""Names for new blocks of a page, and names that have changed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from gradwire.blocks.names import fresh_names

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Page

OLDER_STATES: Mapping[str, str] = MappingProxyType({"FAINT": "VANISHING", "FLOOD": "EXPLODING"})
"""States by the names that they had before version 3 of the file format. Both are read."""


def fresh_name(page: Page, type_name: str) -> str:
    """The first unused name on the page for a block of this type: ``mul2``."""
    return next(fresh_names(type_name, page.blocks))
