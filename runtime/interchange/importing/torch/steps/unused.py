"""What a program computes and drops: averages of parameters, and numbers with a gradient."""

from __future__ import annotations

import gc
from collections.abc import Container, Iterable, Iterator, Mapping
from types import FrameType
from typing import TYPE_CHECKING

from gradwire.runtime.diagram.comparison import MAX_TEXT, Misstep
from gradwire.runtime.interchange.importing.torch.inspection import node_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import StagedBlock
    from gradwire.runtime.interchange.importing.torch.steps.failures import NodeHistory
    from gradwire.runtime.interchange.importing.torch.types import Tensor

_SUMS = frozenset({"Add", "Lerp", "Sub"})
_MOST = 100
"""Blocks that a sum of parameters is made of, at most."""
_ASKED = 8
"""Numbers for which it is asked who else keeps them, at most: that takes long."""


def unused_averages(
    results: Iterable[tuple[StagedBlock, Tensor]],
    blocks: Iterable[StagedBlock],
    kept: Iterable[object],
) -> Iterator[Misstep]:
    """Sums of parameters alone that no block reads and nothing but ``kept`` holds, once a line;
    ``results`` are blocks with their tensors.
    """
    read = {id(x.source) for block in blocks for x in block.inputs.values()}
    found = _averages((block, tensor) for block, tensor in results if id(block) not in read)
    tensors = [tensor for several in found.values() for tensor in several]
    held = _held(tensors, [*found.values(), tensors, *kept]) if tensors else {}
    for written, several in found.items():
        if not all(held[id(tensor)] for tensor in several):
            line, _, _ = written.partition(": ")
            text = (
                f"An average of parameters ({line}) is computed, and nothing uses it: they stay as "
                "they are. Write it into a parameter, under no_grad by copy_() or lerp_()."
            )
            yield Misstep(text=text, written=written)


def _averages(results: Iterable[tuple[StagedBlock, Tensor]]) -> dict[str, list[Tensor]]:
    """Sums of parameters, by line."""
    found: dict[str, list[Tensor]] = {}
    for block, tensor in results:
        if block.block.written and is_average(block, tensor):
            found.setdefault(block.block.written, []).append(tensor)
    return found


def is_average(block: StagedBlock, tensor: Tensor) -> bool:
    """Whether a block adds up several variables of its own shape, and depends on nothing else."""
    if block.block.type_name() not in _SUMS:
        return False
    pending, seen, variables = [*block.inputs.values()], {id(block)}, 0
    while pending:
        x = pending.pop()
        if x.source is None or id(x.source) in seen:
            continue
        seen.add(id(x.source))
        kind = x.source.block.type_name()
        if kind in ("Input", "Recorded") or kind.startswith("Random") or len(seen) > _MOST:
            return False
        variables += kind == "Variable" and x.shape == tuple(tensor.shape)
        inputs = x.source.inputs
        # A leaf that has been written to, as by an optimiser, is still that leaf.
        pending += [inputs["soft"]] if kind == "StraightThrough" else inputs.values()
    return variables > 1


def _held(tensors: list[Tensor], kept: list[object]) -> Mapping[int, bool]:
    """Whether anything else holds each of the tensors, by identity."""
    own = {id(kept), *map(id, kept)}
    found = {}
    for tensor in tensors:
        holders = gc.get_referrers(tensor)
        others = (x for x in holders if id(x) not in own and not isinstance(x, FrameType))
        found[id(tensor)] = any(True for _ in others)
    return found


def unused(
    tensors: Iterable[Tensor], read: Container[int], results: Iterable[Tensor], history: NodeHistory
) -> Iterator[Misstep]:
    """Single numbers with a gradient that no operation reads and that the program neither returns
    nor keeps, as a penalty that was not added to the loss. ``read`` are identities.
    """
    given = {id(x) for x in results}
    single = (x for x in tensors if x.dim() == 0 and node_of(x) is not None)
    found = tuple(x for x in single if id(x) not in read and id(x) not in given)
    for tensor in found[:_ASKED]:
        made = history.made(tensor)
        if made is not None and made.place.line and not _is_kept(tensor):
            text = (
                f"What is computed here ({made.place.written}) has a gradient, and nothing uses "
                "it: it is in no loss. Add it to one, or leave it out."
            )
            yield Misstep(text=text[:MAX_TEXT], written=made.place.written)


def _is_kept(tensor: Tensor) -> bool:
    """Whether a list, a dict or an object has a tensor; what records a run has it in tuples."""
    return any(isinstance(x, dict | list | set) for x in gc.get_referrers(tensor))
