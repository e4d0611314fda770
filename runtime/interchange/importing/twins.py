"""Finds calls of one module that compute alike: they become uses of one page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.sources import Variable

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.scopes import ModuleScope
    from gradwire.runtime.interchange.importing.staged import Staged, StagedBlock

SourceKey: TypeAlias = "tuple[StagedBlock | None, str, int]"


@dataclass
class Twin:
    """A later call of a module that computes what the first one does.

    ``blocks`` maps the later call's blocks to those of the first, ``outside`` what the first call
    reads from around it to what the later one reads in its place.
    """

    first: ModuleScope
    blocks: dict[StagedBlock, StagedBlock] = field(default_factory=dict)
    outside: dict[SourceKey, Staged] = field(default_factory=dict)


def source_key(x: Staged) -> SourceKey:
    """What identifies a staged value: the port that gives it, or the constant itself."""
    return (x.source, x.port, 0) if x.source is not None else (None, "", id(x))


def find_twins(
    root: ModuleScope, arithmetic: Mapping[ModuleScope, Sequence[StagedBlock]]
) -> dict[ModuleScope, Twin]:
    """The later calls that are like the first call of their module, by scope.

    ``arithmetic`` has the blocks of every scope and those inside it, without sources, in order.
    """
    found: dict[ModuleScope, Twin] = {}
    readers: dict[StagedBlock | None, set[tuple[str, ...]]] = defaultdict(set)
    for block in arithmetic.get(root, ()):
        for x in block.inputs.values():
            readers[x.source].add(tuple(block.scope.names))
    shared = {source for source, names in readers.items() if len(names) > 1}
    pending = [root]
    while pending:
        scope = pending.pop()
        first = {call.name: inner for call, inner in scope.inside.items() if call.number == 1}
        for call, inner in scope.inside.items():
            twin = None
            if call.number > 1 and call.name in first and not inner.is_loop:
                twin = _twin(first[call.name], inner, arithmetic, shared)
            if twin is None:
                pending.append(inner)
            else:
                found[inner] = twin
    return found


def _twin(
    first: ModuleScope,
    later: ModuleScope,
    arithmetic: Mapping[ModuleScope, Sequence[StagedBlock]],
    shared: Container[StagedBlock | None],
) -> Twin | None:
    """How a later call corresponds to the first one; None where they differ."""
    ours, theirs = arithmetic.get(later, ()), arithmetic.get(first, ())
    if not ours or len(ours) != len(theirs) or _is_one_function(ours, shared):
        return None
    twin = Twin(first)
    for block, like in zip(ours, theirs, strict=True):
        alike = (
            _same_work(block.block, like.block)
            and block.body is like.body is None
            and _below(later, block) == _below(first, like)
            and block.inputs.keys() == like.inputs.keys()
            and all(_fits(twin, x, like.inputs[port]) for port, x in block.inputs.items())
        )
        if not alike:
            return None
        twin.blocks[block] = like
    return twin


def _is_one_function(blocks: Sequence[StagedBlock], shared: Container[StagedBlock | None]) -> bool:
    """Whether a module is one block without variables of its own: it can stand there each time."""
    return len(blocks) == 1 and all(
        x.source in shared for x in blocks[0].inputs.values() if _is_variable(x)
    )


def _same_work(block: Block, like: Block) -> bool:
    """Whether two blocks compute alike, wherever the program has them."""
    if block.written == like.written:
        return block == like
    unmarked = {"written": ""}
    return block.model_copy(update=unmarked) == like.model_copy(update=unmarked)


def _below(scope: ModuleScope, block: StagedBlock) -> list[tuple[str, int]]:
    """Where a block stands inside a scope."""
    line = block.scope.line
    return [(inner.name, inner.number) for inner in line[line.index(scope) + 1 :]]


def _fits(twin: Twin, x: Staged, like: Staged) -> bool:
    """Whether an input of the later call may stand for one of the first, as far as is known."""
    if x.source in twin.blocks:
        return twin.blocks[x.source] is like.source and x.port == like.port
    if like.source in twin.blocks.values():
        return False
    if x.array is not None or like.array is not None:
        return _same_numbers(x.array, like.array)
    if _is_variable(x) or _is_variable(like):
        return x.source is like.source
    known = twin.outside.setdefault(source_key(like), x)
    return source_key(known) == source_key(x) and x.value.shape == like.value.shape


def _is_variable(x: Staged) -> bool:
    return x.source is not None and isinstance(x.source.block, Variable)


def _same_numbers(one: Array | None, other: Array | None) -> bool:
    if one is None or other is None:
        return False
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
