"""Tensors that share memory: what is written into one of them shows in the others.

Blocks never change a value. So a tensor of the program is a place whose value is replaced, and a
view takes its value anew from the tensor that it shows once that has been written to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus.sizes import require_constant
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.operators.scattering import put_back

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.scopes import Part
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

Show: TypeAlias = "Callable[[Staged], Staged]"


@dataclass(frozen=True)
class Cut:
    """Why gradient doesn't pass, though the value depends on what is trained."""

    name: str
    """What did it: ``no_grad``, ``detach``."""
    path: tuple[Part, ...] = ()
    written: str = ""


@dataclass(eq=False)
class TrackedTensor:
    """A tensor of the program: its value now, and whether autograd keeps track of it."""

    value: Staged | UnsupportedError
    """An error where no block can express it; it is raised if something needs the value."""
    live: bool = False
    """Whether gradient reaches something trained from it, as autograd has it."""
    cut: Cut | None = None
    """The cut that still has to be added where gradient would pass."""
    of: TrackedTensor | None = None
    """The tensor that this one is a view of."""
    show: Show | None = None
    """How the value of a view follows from that of the other tensor."""
    changes: int = 0
    """How often the memory has been written to when ``value`` was taken."""
    frozen: Staged | UnsupportedError | None = None
    """Once it is frozen, the value before the stop that it has had since."""
    _stopped: Staged | None = None

    def freeze(self, stopped: Staged) -> None:
        """Take gradient from it, until ``thaw``."""
        self.frozen, self.value, self._stopped, self.live = self.value, stopped, stopped, False

    def thaw(self) -> None:
        """Give gradient to it again, if nothing has been written to it since."""
        if self.frozen is not None and self.value is self._stopped:
            self.value, self.live = self.frozen, True
        self.frozen = self._stopped = None

    @property
    def root(self) -> TrackedTensor:
        """The tensor that has the memory."""
        return self if self.of is None else self.of.root

    def read(self) -> Staged:
        """The value now. Raises UnsupportedError where it can't be expressed."""
        root = self.root
        if self.of is not None and self.changes != root.changes:
            assert self.show is not None
            self.value, self.changes = self.show(self.of.read()), root.changes
            self.live, self.cut = self.of.live, self.of.cut
        if isinstance(self.value, UnsupportedError):
            raise self.value
        return self.value

    def write(self, stage: Stage, value: Staged, live: bool, cut: Cut | None = None) -> None:
        """Replace the value; all tensors that share the memory follow."""
        if self.of is None:
            self.changes += 1
        else:
            whole = self.of.read()
            part = put_back(whole, value, self._places(stage, whole))
            self.of.write(stage, part, live or self.of.live, cut or self.of.cut)
            self.changes = self.root.changes
        self.value, self.live, self.cut = value, live, cut

    def arrive_as_before(self, value: Staged) -> None:
        """Replace the value of the memory, which gradient comes to, and nothing else."""
        root, known = self.root, (self.live, self.cut)
        root.value, root.live, root.cut = value, True, None
        root.changes += 1
        self.read()
        if self is not root:
            self.live, self.cut = known

    def spoil(self, error: UnsupportedError) -> None:
        """The memory now has numbers that no block can express."""
        root = self.root
        root.value, root.live, root.cut = error, False, None
        root.changes += 1

    def _places(
        self, stage: Stage, whole: Staged
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The flat places of this view's elements in the tensor that it shows."""
        assert self.show is not None
        require_constant(*whole.shape)
        everything = stage.constant(np.arange(whole.size).reshape(whole.shape))
        places = self.show(everything).array
        if places is None:
            raise UnsupportedError("an in-place change", "the places that it changes are not known")
        return places
