"""What a diagram of somebody's program gives away: the numbers of its batch, and its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.library.sources import Input
from gradwire.runtime.flow.words.sentences import names

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Diagram

_NAMED = 3


def included(diagram: Diagram) -> str:
    """``It includes the numbers of x and y, and 31 lines of source.``; empty for a diagram that no
    program has been captured for, or without either.
    """
    blocks = [(name, b) for page in diagram.pages.values() for name, b in page.blocks.items()]
    if not any(block.written for _, block in blocks):
        return ""
    data = [n for n, block in blocks if isinstance(block, Input) and block.value is not None]
    more = len(data) - _NAMED
    lines = {block.written for _, block in blocks if ": " in block.written}
    parts = []
    if data:
        parts.append(
            f"the numbers of {names([*data[:_NAMED], *([f'{more} more'] if more > 0 else [])])}"
        )
    if lines:
        parts.append(f"{len(lines)} line{'' if len(lines) == 1 else 's'} of source")
    return f"It includes {', and '.join(parts)}." if parts else ""
