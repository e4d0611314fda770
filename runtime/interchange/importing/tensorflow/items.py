"""What the outputs of nodes are besides values: variables, strings and lists of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.imported import UnsupportedError
    from gradwire.runtime.interchange.importing.staged import Staged


@dataclass(eq=False)
class Handle:
    """A variable, by its name; ``value`` is what it has now, None until something is assigned."""

    name: str
    value: Staged | None = None
    is_put_up: bool = False
    """Whether its value is that of a Variable block."""
    changed: UnsupportedError | None = None
    """What a read is refused with, once a node has changed the variable during a run."""


@dataclass(frozen=True)
class ChangedVariable:
    """What a read gives of a variable that has changed during a run; the error if it is used."""

    error: UnsupportedError


@dataclass(frozen=True)
class Strings:
    """Strings, which no block computes with: names of files and tensors."""

    texts: tuple[bytes, ...]


@dataclass(frozen=True)
class TensorList:
    """A list of tensors, as loops read and write them; None for one that was not written."""

    elements: tuple[Staged | None, ...]
    shape: Shape | None = None
    """The shape of an element, where it is known."""
    dtype: str = "float32"
    whole: Staged | None = None
    """All elements in one tensor, where some block gives that."""


@dataclass(frozen=True)
class ListElement:
    """A list in the body of a Scan: what is read of it, or written to it, in one step.

    ``index`` is the number of the step, the only index that it may have.
    """

    index: Staged
    read: Staged | None = None
    written: Staged | None = None


Item: TypeAlias = "Staged | Handle | ChangedVariable | Strings | TensorList | ListElement | None"
"""One output of a node; None for what only other programs make use of."""
