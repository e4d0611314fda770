"""Where tensors are in autograd's graph, and by what they are known again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch

from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.library.recorded import LEFT_OUT, SEEN
from gradwire.runtime.calculus.measuring import measured
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.capture.arrays import shown
from gradwire.runtime.interchange.importing.torch.inspection import base_of

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.torch.capture.recording import CaptureRecording
    from gradwire.runtime.interchange.importing.torch.types import (
        EdgeKey,
        Hook,
        Node,
        RemovableHandle,
        Tensor,
    )

NOT_SEEN = (-1.0, *[0.0] * (SEEN - 1))
"""Of an input that can't be known again."""
NOT_KNOWN = (LEFT_OUT, *[0.0] * (SEEN - 1))
"""Of an input without numbers."""


@by_identity
class Old(NamedTuple):
    """A tensor as it was before it was written to."""

    tensor: Tensor
    version: int | None
    seen: tuple[float, ...]
    value: Staged

    @property
    def unchanged(self) -> Tensor | None:
        """The tensor, if it has not been written to; None otherwise."""
        version = _version_of(self.tensor)
        return self.tensor if version is not None and version == self.version else None


def hooked(tensor: Tensor, hook: Hook) -> list[RemovableHandle]:
    """The handle of a hook; nothing for a tensor that PyTorch lets nobody differentiate."""
    try:
        return [tensor.register_hook(hook)]
    except RuntimeError:  # a view made without gradient, of what was written to with gradient
        return []


def edge_of(tensor: Tensor) -> tuple[Node, int] | None:
    """The gradient edge of a tensor; None where autograd doesn't keep track of it."""
    if not tensor.requires_grad:
        return None
    try:
        edge = torch.autograd.graph.get_gradient_edge(tensor)
    except (AssertionError, AttributeError, RuntimeError):  # changed where gradient is off
        return None
    return edge.node, edge.output_nr


def old_of(recording: CaptureRecording, tensors: Iterable[Tensor]) -> dict[EdgeKey, Old]:
    """Tensors that may be written to, as they are now, by their edges or identities."""
    found = {}
    for x in tensors:
        entry = recording.entry(x)
        entry.read()
        if torch.is_grad_enabled():
            recording.performer.commit_cut(entry)
        found[key_of(x)] = Old(x, _version_of(x), seen(x), entry.read())
    return found


def old_written(
    recording: CaptureRecording,
    written: Sequence[Tensor],
    is_apart: Callable[..., bool] | Literal[False],
) -> dict[EdgeKey, Old]:
    """What an operator will write to, as it is now, with the bases of views; nothing where that
    can't be expressed.

    Where blocks are known for the operator, there ``is_apart`` says which views no block shows:
    only their bases are asked for.
    """
    views = [x for x in written if x._is_view()]
    if is_apart:
        tensors = [base_of(x) for x in views if is_apart(x, later=True)]
    else:
        tensors = [*written, *map(base_of, views)]
    try:
        return old_of(recording, tensors)
    except UnsupportedError:
        return {}


def is_among(tensor: Tensor, others: Iterable[Tensor]) -> bool:
    """Whether a tensor is one of others."""
    return any(tensor is other for other in others)


def key_of(tensor: Tensor) -> EdgeKey:
    """What a tensor is known by: its gradient edge, or else its identity."""
    edge = edge_of(tensor)
    return id(tensor) if edge is None else (id(edge[0]), edge[1])


def _version_of(tensor: Tensor) -> int | None:
    """How often a tensor has been written to; None for one of inference mode, which doesn't say."""
    return None if tensor.is_inference() else int(tensor._version)


def seen(tensor: Tensor) -> tuple[float, ...]:
    """By what an input is known again."""
    if tensor is None:
        return NOT_SEEN
    return NOT_KNOWN if tensor.is_meta else seen_as(shown(tensor))


def seen_as(numbers: Array) -> tuple[float, ...]:
    """The same of an array."""
    found = measured(numbers)
    return float(found.elements), found.size, found.projection, *map(float, found.wild)
