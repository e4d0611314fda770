"""Names for new blocks of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.names import fresh_names

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Page


def fresh_name(page: Page, type_name: str) -> str:
    """The first unused name on the page for a block of this type: ``mul2``."""
    return next(fresh_names(type_name, page.blocks))
