"""Which values stand for the tensors of a run."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.torch.inspection import is_leaf, memory_of
from gradwire.runtime.interchange.importing.torch.steps.unused import is_average

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import StagedBlock
    from gradwire.runtime.interchange.importing.torch.memory import TrackedTensor
    from gradwire.runtime.interchange.importing.torch.recorded.asking import FunctionProbe
    from gradwire.runtime.interchange.importing.torch.recorded.regions import TorchRegions
    from gradwire.runtime.interchange.importing.torch.types import Reference, Tensor

_LARGE = 1 << 16
"""Elements of a tensor that is large."""
Port: TypeAlias = "tuple[StagedBlock, str]"
"""An output of a block."""


class KnownTensors:
    """The tensors of a run, by identity and by memory, and what stands for them."""

    regions: TorchRegions

    def __init__(self) -> None:
        self.read: set[int] = set()
        """The identities of tensors that something has read."""
        self.inside_function = 0
        """How many custom functions are running: in them autograd keeps track of nothing."""
        self.inside: FunctionProbe | None = None
        """What is known of the custom function that runs."""
        self.measures = False
        """Whether numbers are measured while they are there, and no gradient is kept."""
        self._tensors: dict[int, tuple[Reference, TrackedTensor]] = {}
        """By identity; a tensor is kept, so that none takes the identity of another, or forgotten
        when it goes.
        """
        self._owners: dict[int, dict[int, tuple[Reference, TrackedTensor]]] = {}
        """By memory: the tensors there that are no views of each other, and what they are."""

    @property
    def trained_leaves(self) -> list[Tensor]:
        """The leaves that have come up and need a gradient."""
        return [t for t, _ in self._alive() if t.requires_grad and is_leaf(t)]

    def results(self, *, differentiated: bool = True) -> Iterator[tuple[Port, Tensor]]:
        """Intermediate results and the outputs of blocks that they are, of several tensors with
        one output the first; those that gradient comes to, or all.
        """
        seen = set()
        for tensor, entry in self._alive():
            value = entry.value
            is_inner = is_leaf(tensor) is False
            if not is_inner if differentiated else tensor.is_inference() or tensor._version:
                continue
            if isinstance(value, Staged) and value.source is not None:
                port = value.source, value.port
                if port not in seen and (tensor.requires_grad or not differentiated):
                    seen.add(port)
                    yield port, tensor

    @property
    def holders(self) -> list[object]:
        """What the recording itself keeps tensors in."""
        known = (reference for reference, _ in self._tensors.values())
        owners = (reference for of in self._owners.values() for reference, _ in of.values())
        return [x.args for x in (*known, *owners) if isinstance(x, partial)]

    def knows(self, tensor: Tensor) -> bool:
        """Whether the run has shown where a tensor comes from."""
        return id(tensor) in self._tensors

    def value_of(self, tensor: Tensor) -> Staged | None:
        """The value of a tensor whose blocks the run has shown."""
        value = self._tensors[id(tensor)][1].value if self.knows(tensor) else None
        return value if isinstance(value, Staged) else None

    def bind(self, tensor: Tensor, entry: TrackedTensor, *, is_result: bool = False) -> None:
        """Let an entry stand for a tensor; where numbers are measured, large results may go."""
        is_large = is_result and self.measures and tensor.numel() >= _LARGE
        may_go = is_large and not _is_asked_for(tensor, entry)
        reference = self._weak(tensor) if may_go else partial(_itself, tensor)
        self._tensors[id(tensor)] = (reference, entry)
        if self.inside is not None and not (is_result or tensor.requires_grad):
            self.inside.meet(tensor, entry.value)
        if not self.inside_function:
            self.regions.note(tensor, reference, entry)
        if memory := memory_of(tensor):
            owners = self._owners.setdefault(memory, {})
            owners.setdefault(id(entry.root), (reference, entry.root))

    def _reference(self, tensor: Tensor) -> Reference:
        """What gives a tensor, and keeps it if it is kept anyway."""
        known = self._tensors.get(id(tensor))
        return partial(_itself, tensor) if known is None else known[0]

    def _weak(self, tensor: Tensor) -> Reference:
        key = id(tensor)

        def forget(gone: Reference) -> None:
            if key in self._tensors and self._tensors[key][0] is gone:
                del self._tensors[key]
                self.read.discard(key)

        return weakref.ref(tensor, forget)

    def _alive(self) -> list[tuple[Tensor, TrackedTensor]]:
        """The tensors that are still there, and what they are."""
        found = [(reference(), entry) for reference, entry in [*self._tensors.values()]]
        return [(tensor, entry) for tensor, entry in found if tensor is not None]

    def _sharing(self, tensor: Tensor) -> list[tuple[Tensor, TrackedTensor]]:
        """The tensors that share memory with one and are no views of each other."""
        owners = self._owners.get(memory_of(tensor), {})
        found = [(reference(), entry) for reference, entry in owners.values()]
        alive = [(owner, entry) for owner, entry in found if owner is not None]
        own = [(tensor, self._tensors[id(tensor)][1].root)] if self.knows(tensor) else []
        return alive or own

    def _forget(self, root: TrackedTensor) -> None:
        """What shares memory with what was written to is to be asked for when it is used."""
        error = UnsupportedError("an in-place change", "what shares its memory is not known")
        for tensor, entry in self._alive():
            if entry.root is root and tensor.requires_grad:
                del self._tensors[id(tensor)]
        for owners in self._owners.values():
            owners.pop(id(root), None)
        root.spoil(error)


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def _is_asked_for(tensor: Tensor, entry: TrackedTensor) -> bool:
    """Whether it will be asked whether anything else holds a tensor."""
    source = entry.value.source if isinstance(entry.value, Staged) else None
    return source is not None and not tensor.requires_grad and is_average(source, tensor)
