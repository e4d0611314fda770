"""How one system writes each primitive: a table with a row for every one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import Location, RunError
from gradwire.runtime.interchange.export.code import Array, Code, shape_text

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Writer: TypeAlias = "Callable[[Value, Sequence[Code]], str]"


@dataclass(frozen=True)
class Refused:
    """A row that says why a primitive can't be written."""

    reason: str


@dataclass(frozen=True)
class Row:
    """How a primitive is written.

    With ``infix`` operands stand on both sides of an operator; else ``write`` gives a call, a
    method or an index. ``numbers`` says that an operand may be a plain Python number. ``remark``
    is a comment for the line: the primitive is then written on a line of its own.
    """

    write: Writer
    infix: bool = False
    numbers: bool = False
    remark: str = ""

    def code(self, value: Value, operands: Sequence[Code]) -> Code:
        """The expression for a value."""
        return Code(self.write(value, operands), atomic=not self.infix)


def call(template: str, *, numbers: bool = False, remark: str = "") -> Row:
    """A row from a format string: ``{0}`` is the first operand, ``{0:p}`` the same in brackets."""
    return Row(lambda value, operands: template.format(*operands), False, numbers, remark)


def infix(operator: str, *, numbers: bool = True) -> Row:
    """A row that writes an operator between operands."""
    return Row(
        lambda value, operands: f"{operands[0]:p} {operator} {operands[1]:p}",
        infix=True,
        numbers=numbers,
    )


def prefix(operator: str) -> Row:
    """A row that writes an operator before its operand."""
    return Row(lambda value, operands: f"{operator}{operands[0]:p}", infix=True)


_REDUCTIONS = {"sum", "max", "min", "any", "all", "argmax", "argmin", "logsumexp"}


def reshape(kept: str) -> Row:
    """A row that gives another shape; a reduction that ends with ``kept`` keeps no axes instead."""

    def write(value: Value, operands: Sequence[Code]) -> str:
        source, text = value.inputs[0], operands[0].text
        if source.primitive.name in _REDUCTIONS and text.endswith(kept):
            how = source.attributes
            axes = how["axes"] if "axes" in how else (how["axis"],)
            if value.shape == tuple(n for i, n in enumerate(source.shape) if i not in axes):
                return f"{text.removesuffix(kept)})"
        return f"{operands[0]:p}.reshape({shape_text(value.shape)})"

    return Row(write)


def transpose(method: str) -> Row:
    """A row that permutes axes; a matrix is just transposed."""

    def write(value: Value, operands: Sequence[Code]) -> str:
        axes = value.attributes["axes"]
        return f"{operands[0]:p}.T" if axes == (1, 0) else f"{operands[0]:p}.{method}({axes})"

    return Row(write)


@dataclass(frozen=True)
class Target:
    """A system that source is written for."""

    name: str
    title: str
    rows: Mapping[str, Row | Refused]
    helpers: Mapping[str, str]
    """Functions that rows call, by name: they are written where they are called."""
    number: Callable[[Array], str]
    """A number of a dtype."""
    full: Callable[[tuple[int, ...], Array], str]
    """An array that has one number everywhere."""
    array: Callable[[Array], str]
    """A small array."""
    arange: Callable[[Array], str]
    """An array of 0, 1, 2, ...."""
    storable: Callable[[Array], Array] = lambda array: array
    """An array as it is stored in a file."""
    reserved: frozenset[str] = field(default_factory=frozenset)
    """Names that the source uses itself."""

    def row(self, value: Value) -> Row:
        """The row of a value's primitive. Raises ExportError where there is none."""
        row = self.rows.get(value.primitive.name)
        if isinstance(row, Row):
            return row
        reason = row.reason if row else f"{self.title} has no counterpart that Gradwire knows of"
        place = Location(block=value.owner) if isinstance(value.owner, str) else None
        raise ExportError(
            f"{value.primitive.name} can't be written for {self.title}: {reason}.",
            location=place,
            next_step="Export for another system, or replace the block.",
        )


class ExportError(RunError):
    """A diagram can't be written as source."""
