"""Finding blocks of a diagram by name, type, state of a wire, or error, on all its pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from blocks.block import Opaque
from blocks.library.pages import Page as PageBlock
from runtime.diagram import MAIN

if TYPE_CHECKING:
    from app.evaluation.result import Result
    from blocks.block import Block
    from runtime.diagram import Diagram

MOST = 20_000
"""Blocks that are looked through, at most: pages can be used without end."""


def found(diagram: Diagram, result: Result | None, text: str) -> list[str]:
    """Instance paths (``enc/mul1``) of the blocks that have every word of ``text``, in order.

    A word is part of the name, of the type, of the state of a wire that enters the block
    (``stopped``, ``NaN``, ``no path``), or of an error on it.
    """
    words = text.casefold().split()
    if not words:
        return []
    told = _told(result)
    return [
        path
        for path, block in _blocks(diagram)
        if all(word in _words(path, block) or word in told.get(path, "") for word in words)
    ]


def _words(path: str, block: Block) -> str:
    kind = block.original_type if isinstance(block, Opaque) else type(block).type_name()
    return f"{path.rpartition('/')[2]} {kind} {type(block).symbol}".casefold()


def _told(result: Result | None) -> dict[str, str]:
    """What a result says of each block: states of its wires, and problems."""
    told: dict[str, list[str]] = {}
    if result is None:
        return {}
    for key, state in result.states.items():
        words = f"{state.value} {state.row.search}"
        told.setdefault(key.partition(".")[0], []).append(words)
    for diagnostic in result.diagnostics:
        place = diagnostic.location
        told.setdefault(place.block or "", []).append(f"{diagnostic.severity} {diagnostic.what}")
    return {path: " ".join(dict.fromkeys(words)).casefold() for path, words in told.items()}


def _blocks(diagram: Diagram) -> Iterator[tuple[str, Block]]:
    """Blocks with their paths, a page's own before those inside the pages that it uses."""
    waiting = [("", MAIN, frozenset({MAIN}))]
    count = 0
    for prefix, page, above in waiting:
        for name, block in diagram.pages[page].blocks.items():
            count += 1
            if count > MOST:
                return
            yield f"{prefix}{name}", block
            if isinstance(block, PageBlock) and block.page in diagram.pages.keys() - above:
                waiting.append((f"{prefix}{name}/", block.page, above | {block.page}))
