"""Finds blocks on all pages of a diagram by name, type, state of a wire, or problem."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from gradwire.blocks.block import Opaque
from gradwire.runtime.diagram import InstancePath, WirePath, all_blocks

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import Diagram

MAX_BLOCKS = 20_000
"""Largest number of blocks searched, since uses of pages multiply."""


def search(diagram: Diagram, result: EvaluationResult | None, text: str) -> list[str]:
    """Instance paths (``enc/mul1``) of the blocks that match every word of ``text``, in order.

    A word matches a part of the name, the type, the state of a wire into the block (``stopped``,
    ``NaN``, ``no path``), or a problem of the block.
    """
    words = text.casefold().split()
    if not words:
        return []
    known = _known_words(result)
    return [
        path
        for path, block in islice(all_blocks(diagram), MAX_BLOCKS)
        if all(word in _words(path, block) or word in known.get(path, "") for word in words)
    ]


def _words(path: InstancePath, block: Block) -> str:
    kind = block.original_type if isinstance(block, Opaque) else type(block).type_name()
    return f"{path.name} {kind} {type(block).symbol}".casefold()


def _known_words(result: EvaluationResult | None) -> dict[str, str]:
    """The states of wires into each block, and its problems, as one text."""
    known: dict[str, list[str]] = {}
    if result is None:
        return {}
    for key, state in result.states.items():
        words = f"{state.value} {state.row.search}"
        known.setdefault(WirePath(key).block, []).append(words)
    for diagnostic in result.diagnostics:
        place = diagnostic.location
        known.setdefault(place.block or "", []).append(f"{diagnostic.severity} {diagnostic.what}")
    return {path: " ".join(dict.fromkeys(words)).casefold() for path, words in known.items()}
