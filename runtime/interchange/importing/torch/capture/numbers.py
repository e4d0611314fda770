"""Numbers that were tensors: ``loss.item()`` leaves autograd, goes on being computed, and comes
back as ``torch.tensor([a, b])``, by whatever way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch

from gradwire.blocks.library.sources import Variable
from gradwire.runtime.flow.checks.leaving import CURES
from gradwire.runtime.interchange.importing.torch.memory import TrackedTensor
from gradwire.runtime.interchange.importing.torch.nested import each

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Operand, Staged
    from gradwire.runtime.interchange.importing.torch.capture.recording import CaptureRecording
    from gradwire.runtime.interchange.importing.torch.memory import Cut

Decided: TypeAlias = "Callable[[TrackedTensor, object], None]"


class TracedNumber(float):
    """A number with the value that it comes from; what is computed from it remembers that too."""

    tensor: TrackedTensor
    decided: Decided

    def __new__(cls, value: float, tensor: TrackedTensor, decided: Decided) -> TracedNumber:
        """A number that comes from a tensor; ``decided`` is called when the program goes by it."""
        made = super().__new__(cls, value)
        made.tensor, made.decided = tensor, decided
        return made

    def __reduce__(self) -> tuple[type, tuple[float]]:
        return float, (float(self),)


def _enter(name: str, compute: Callable[[Staged, Operand], Staged]) -> None:
    plain = getattr(float, name)

    def method(self: TracedNumber, other: object) -> object:
        value = plain(self, other)
        if value is NotImplemented or not isinstance(other, int | float):
            return value
        operand = other.tensor.read() if isinstance(other, TracedNumber) else float(other)
        made = type(self.tensor)(compute(self.tensor.read(), operand))
        return TracedNumber(value, made, self.decided)

    setattr(TracedNumber, name, method)


def _enter_decision(name: str) -> None:
    plain = getattr(float, name)

    def method(self: TracedNumber, *others: object) -> object:
        self.decided(self.tensor, float(self))
        return plain(self, *others)

    setattr(TracedNumber, name, method)


for _name in ("__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__int__"):
    _enter_decision(_name)
_enter("__add__", lambda a, b: a + b)
_enter("__radd__", lambda a, b: b + a)
_enter("__sub__", lambda a, b: a - b)
_enter("__rsub__", lambda a, b: b - a)
_enter("__mul__", lambda a, b: a * b)
_enter("__rmul__", lambda a, b: b * a)
_enter("__truediv__", lambda a, b: a / b)
_enter("__rtruediv__", lambda a, b: b / a)


Parts: TypeAlias = "list[TrackedTensor | Array]"
"""What a tensor is made of, in order: entries, and numbers from elsewhere."""
Left: TypeAlias = "Sequence[tuple[Array, TrackedTensor, Cut]]"
"""Numbers that have left autograd, with what they were and why."""


def parts_of(recording: CaptureRecording, data: object) -> Parts:
    """The parts of nested lists, numbers and tensors; none unless the run has made some of them."""
    parts = list(_parts(recording, data))
    return parts if any(isinstance(part, TrackedTensor) for part in parts) else []


def _parts(recording: CaptureRecording, data: object) -> Iterator[TrackedTensor | Array]:
    for x in each(data):
        if isinstance(x, TracedNumber):
            yield x.tensor
        elif isinstance(x, torch.Tensor):
            known = recording.knows(x) or x.requires_grad
            yield recording.entry(x) if known else x.detach().cpu().numpy()
        else:
            yield np.asarray(x)


def as_it_left(recording: CaptureRecording, numbers: Array) -> TrackedTensor | None:
    """What stands for numbers that have left autograd, alone or side by side; None for others."""
    stage, performer = recording.stage, recording.performer
    for known, entry, cut in recording.left:
        if known.shape == numbers.shape and known.size and np.array_equal(known, numbers):
            return TrackedTensor(performer.cut_at(entry, cut))
    parts, last = _parts_among(recording.left, numbers)
    if last is None:
        return None
    with stage.at(last.path, last.written):
        row = joined(recording, parts, numbers.dtype.name)
        row.value = stage.reshape(row.read(), numbers.shape)
    return TrackedTensor(performer.cut_at(row, last))


def changed_since(
    recording: CaptureRecording, numbers: Array, left: Array, entry: TrackedTensor, cut: Cut
) -> Staged:
    """Numbers that a program may have computed from those that left autograd."""
    stage = recording.stage
    constant = stage.constant(numbers)
    with stage.at(cut.path, cut.written):
        before = recording.performer.cut_at(entry, cut)
        if before.shape == numbers.shape and before.dtype == constant.dtype:
            constant = stage.block("StraightThrough", constant, before, name=cut.name)
        else:
            constant = recording.regions.outside(cut.name, before, left, numbers)
        text = (
            f"{cut.name} leaves autograd; numbers that come back, perhaps changed, are a constant "
            f"of this run. {CURES.get(cut.name, '')}"
        )
        stage.remark("lost", text.rstrip(), constant)
    return constant


def _parts_among(left: Left, numbers: Array) -> tuple[Parts, Cut | None]:
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
            recording.performer.commit_cut(part)
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
