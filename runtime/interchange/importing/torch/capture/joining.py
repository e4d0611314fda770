"""Tensors made of numbers that were tensors: ``torch.tensor([a, b])``, by whatever way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from gradwire.blocks.library.sources import Variable
from gradwire.runtime.interchange.importing.torch.capture.numbers import TracedNumber
from gradwire.runtime.interchange.importing.torch.memory import TrackedTensor

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.torch.capture.recording import CaptureRecording
    from gradwire.runtime.interchange.importing.torch.memory import Cut

Parts: TypeAlias = "list[TrackedTensor | Array]"
"""What a tensor is made of, in order: entries, and numbers from elsewhere."""
Left: TypeAlias = "Sequence[tuple[Array, TrackedTensor, Cut]]"
"""Numbers that have left autograd, with what they were and why."""


def parts_of(recording: CaptureRecording, data: Any) -> Parts:
    """The parts of nested lists, numbers and tensors; none unless the run has made some of them."""
    parts = list(_parts(recording, data))
    return parts if any(isinstance(part, TrackedTensor) for part in parts) else []


def _parts(recording: CaptureRecording, data: Any) -> Iterator[TrackedTensor | Array]:
    if isinstance(data, TracedNumber):
        yield data.tensor
    elif isinstance(data, torch.Tensor):
        known = recording.knows(data) or data.requires_grad
        yield recording.entry(data) if known else data.detach().cpu().numpy()
    elif isinstance(data, list | tuple):
        for x in data:
            yield from _parts(recording, x)
    else:
        yield np.asarray(data)


def parts_among(left: Left, numbers: Array) -> tuple[Parts, Cut | None]:
    """The parts of numbers that are, for at least one half, some that have left, in their order.

    With why they have; nothing for other numbers.
    """
    flat = numbers.ravel()
    parts: Parts = []
    at, found, why = 0, 0, None
    for known, entry, cut in left:
        size = known.size
        if not 0 < size <= flat.size - at:
            continue
        rows = flat[: flat.size // size * size].reshape(-1, size)
        equal = (rows == known.ravel().astype(flat.dtype)).all(axis=1)
        (places,) = np.nonzero(equal[-(-at // size) :])
        if not places.size:
            continue
        start = (places[0] - (-at // size)) * size
        if start > at:
            parts.append(flat[at:start])
        parts.append(entry)
        at, found, why = start + size, found + size, cut
    if at < flat.size:
        parts.append(flat[at:])
    return (parts, why) if 2 * found >= flat.size else ([], None)


def joined(recording: CaptureRecording, parts: Parts, dtype: str) -> TrackedTensor:
    """One row of all elements, live where one of the parts is."""
    stage = recording.stage
    values, live = [], False
    for part in parts:
        if isinstance(part, TrackedTensor):
            part.read()
            live = live or part.live
            recording.performer.settle(part)
            values.append(stage.cast(part.read(), dtype))
        else:
            values.append(stage.constant(part.astype(dtype)))
    if len(values) > 1 and all(x.size == 1 for x in values):
        row = stage.block("Stack", *(stage.reshape(x, ()) for x in values), axis=0)
    else:
        rows = [stage.reshape(x, (x.size,)) for x in values]
        row = rows[0] if len(rows) == 1 else stage.block("Concat", *rows, axis=0)
    return TrackedTensor(row, live)


def is_derived(value: Staged) -> bool:
    """Whether a value is computed from something trained, be it past a stop."""
    pending, seen = [value], set()
    while pending:
        source = pending.pop().source
        if source is None or id(source) in seen:
            continue
        seen.add(id(source))
        if isinstance(source.block, Variable) and source.block.trainable:
            return True
        pending.extend(source.inputs.values())
    return False
