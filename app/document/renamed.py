"""Which pages only go by another name after a change, or after its undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.diagram import Diagram


def renamed(before: Diagram, after: Diagram) -> dict[str, str]:
    """Pages of ``before`` whose name is gone, with the new name of the very same page."""
    gone = {id(page): name for name, page in before.pages.items() if name not in after.pages}
    new = {name: page for name, page in after.pages.items() if name not in before.pages}
    return {gone[id(page)]: name for name, page in new.items() if id(page) in gone}
