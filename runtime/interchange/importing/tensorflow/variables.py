"""The variables of a model: restored from a checkpoint, put up as the first node reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.tensorflow.items import Handle

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.checkpoint import TensorFlowCheckpoint
    from gradwire.runtime.interchange.importing.tensorflow.graph import TensorFlowNode

_LOCAL = frozenset({"ReadVariableOp", "Read", "Cast", "read", "resource", "value"})
"""Parts of names that are those of nodes around a read, and of no module."""


class TensorFlowVariables:
    """Handles by name, with the checkpoint that their numbers come from.

    ``trainable`` says which are trained; those that are not in it are, if they are floats.
    """

    def __init__(
        self, stage: Stage, checkpoint: TensorFlowCheckpoint | None, trainable: Mapping[str, bool]
    ) -> None:
        self._stage = stage
        self._checkpoint = checkpoint
        self._trainable = trainable
        self._handles: dict[str, Handle] = {}
        self.module: tuple[str, ...] = ()
        """The path of the page whose nodes are being put up."""
        self.are_restored = False
        """Whether all have their first values, so that what is assigned changes them."""
        self._loops = 0
        """In the bodies of how many Scans, one in another, nodes are being put up."""

    def handle(self, name: str) -> Handle:
        """The variable with this name; the same one each time."""
        return self._handles.setdefault(name, Handle(name))

    @contextmanager
    def in_loop(self) -> Iterator[None]:
        """Put up the body of a Scan, in which no variable can change."""
        self._loops += 1
        try:
            yield
        finally:
            self._loops -= 1

    def restored(self, key: str) -> Array:
        """The numbers under a key of the checkpoint."""
        if self._checkpoint is None:
            raise FileError(f"The model restores {key!r}, but no checkpoint lies beside it.")
        return self._checkpoint.array(key)

    def assign(self, handle: Handle, value: Staged, node: TensorFlowNode) -> None:
        """Give a variable its first value; any other changes it during a run."""
        if self.are_restored or handle.is_put_up or value.array is None:
            self.change(handle, node)
        else:
            handle.value = value

    def change(self, handle: Handle, node: TensorFlowNode) -> None:
        """Let reads that follow be refused: the variables of a diagram keep their values in a run.

        Raises UnsupportedError in the body of a Scan, whose next step would read the variable.
        """
        error = UnsupportedError(
            f"{node.operator} of the node {node.name!r}",
            f"the variable {handle.name!r} is read after that, and keeps its value in a diagram",
        )
        if self._loops:
            raise error
        self._stage.remark("lost", f"The variable {handle.name!r} isn't updated after a run.")
        handle.changed = handle.changed or error

    def read(self, handle: Handle, node: TensorFlowNode) -> Staged:
        """The value of a variable; raises FileError where it has none, UnsupportedError once it has
        changed.
        """
        if handle.changed is not None:
            raise handle.changed
        if handle.value is None:
            raise FileError(
                f"The variable {handle.name!r} has no value.",
                next_step="Freeze the graph, or save the model with its variables.",
            )
        if not handle.is_put_up and handle.value.array is not None:
            name, array = handle.name, handle.value.array
            trained = self._trainable.get(name, True) and array.dtype.kind == "f"
            own = name.rpartition("/")[2] or name
            handle.value = self._stage.variable(name, array, trained, self.module_of(node), own)
        handle.is_put_up = True
        return handle.value

    def module_of(self, node: TensorFlowNode) -> tuple[str, ...]:
        """The module that a node reads a variable for: the scopes around what it is called for."""
        parts = list(node.path)
        while parts and parts[-1].rstrip("0123456789").rstrip("_") in _LOCAL:
            parts.pop()
        return (*self.module, *parts[:-1])
