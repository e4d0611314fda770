"""What an import results in: the diagram, and what the user should know about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import BuildError

if TYPE_CHECKING:
    from gradwire.blocks.errors import Location
    from gradwire.runtime.diagram.model import Diagram

RemarkKind: TypeAlias = Literal["cut", "lost", "specialised", "unrolled", "checked", "note"]
"""What a remark is about: a stop that the model has (cut), what no diagram can express (lost), what
holds for the given input alone (specialised), a loop that became blocks (unrolled), a comparison
with the framework (checked), or anything else (note)."""


class UnsupportedError(BuildError):
    """A model uses an operation, or a way of using one, that no block can express."""

    def __init__(
        self, operation: str, why: str = "", *, location: Location | None = None, written: str = ""
    ) -> None:
        reason = f": {why}" if why else ""
        super().__init__(
            f"{operation} can't be imported{reason}{f' ({written})' if written else ''}.",
            location=location,
            next_step="Replace it in the model, or export the part around it.",
        )
        self.operation = operation
        self.why = why
        self.written = written


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that the diagram of a model does not show by itself."""

    kind: RemarkKind
    text: str
    """A sentence."""
    block: str = ""
    """The path of the block that it is about; empty for the whole model."""
    written: str = ""
    """Where the program has it, ``model.py:42``."""

    def __str__(self) -> str:
        line, _, _ = self.written.partition(": ")
        place = ", ".join(part for part in (self.block, line) if part)
        return f"{place}: {self.text}" if place else self.text


@dataclass(frozen=True)
class Imported:
    """The diagram of a model, remarks in the order of the model, and where its parts are.

    ``parameters`` maps the model's own names to the paths of variables, ``inputs`` to those of
    Input blocks and ``outputs`` to the ports that give them.
    """

    diagram: Diagram
    remarks: tuple[Remark, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
