"""What an import results in: the diagram, and what the user should know about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from html import escape
from typing import TYPE_CHECKING, Literal, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import BuildError
from gradwire.runtime.briefly import counted, lines

if TYPE_CHECKING:
    from gradwire.blocks.errors import Location
    from gradwire.runtime.diagram.model import Diagram

_LONGEST = 160
"""Characters of a remark at a prompt, at most."""
_MOST = 40
"""Remarks in a notebook, at most."""
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

    def __repr__(self) -> str:
        checked = [str(remark) for remark in self.remarks if remark.kind == "checked"]
        others = [str(remark) for remark in self.remarks if remark.kind != "checked"]
        head = f"<Imported: {counted(len(self.parameters), 'parameter')}, {self.diagram!r}"
        return lines(head, [text[:_LONGEST] for text in (*checked, *others)]) + ">"

    def _repr_html_(self) -> str:
        """The diagram, as it shows itself in a notebook, and what is to be known about it."""
        remarks = "".join(f"<li>{escape(str(remark))}</li>" for remark in self.remarks[:_MOST])
        return f"{self.diagram._repr_html_()}<ul>{remarks}</ul>"
