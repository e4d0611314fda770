"""How one system writes each primitive: as its row spells it, or by a row of a table."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import Location, RunError
from gradwire.blocks.plugins import is_own
from gradwire.runtime.interchange.export.code import (
    Code,
    axes_text,
    index_text,
    number_text,
    shape_text,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.interchange.export.loops import WriteLoop

Writer: TypeAlias = "Callable[[Value, Sequence[Code]], str]"


@dataclass(frozen=True)
class SpelledRow:
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


def call(template: str, *, remark: str = "") -> SpelledRow:
    """A row from a format string: ``{0}`` is the first operand, ``{0:p}`` the same in brackets."""
    return SpelledRow(lambda value, operands: template.format(*operands), remark=remark)


_KNOWN = ("shape", "dtype", "window")
"""What a spelling may say of any value; ``inputs`` are all of its operands."""
_INPUTS = {"a": 0, "b": 1, "c": 2}
_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp)


@cache
def spelled(text: str, target: ExportTarget, elementwise: bool) -> SpelledRow:
    """The row of a primitive that is spelled as a Python expression; see ``Spelling``.

    Operands are put in brackets unless they stand alone, as arguments do.
    """
    top = ast.parse(text, mode="eval").body
    nodes = list(ast.walk(top))
    alone = {top, *(child for node in nodes for child in _enclosed(node))}
    found = [node for node in nodes if isinstance(node, ast.Name)]
    names = [
        (node.id, node.col_offset, node.end_col_offset, node in alone)
        for node in sorted(found, key=lambda node: node.col_offset)
    ]

    def write(value: Value, operands: Sequence[Code]) -> str:
        parts: list[str] = []
        end: int | None = 0
        for name, start, stop, is_alone in names:
            if name in _INPUTS:
                code = operands[_INPUTS[name]]
                parts += text[end:start], code.text if is_alone else f"{code:p}"
            elif name == "inputs":
                parts += text[end:start], ", ".join(code.text for code in operands)
            elif name in value.attributes or name in _KNOWN:
                parts += text[end:start], target.attribute(value, name)
            else:
                continue
            end = stop
        return target.wrapped(value, "".join(parts) + text[end:])

    return SpelledRow(write, isinstance(top, _OPERATIONS), elementwise and _takes_numbers(top))


def _enclosed(node: ast.AST) -> Sequence[ast.expr]:
    """What stands alone between brackets or commas."""
    if isinstance(node, ast.Call):
        return [*node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(node, ast.Tuple | ast.List):
        return node.elts
    return [node.slice] if isinstance(node, ast.Subscript) else []


def _takes_numbers(top: ast.expr) -> bool:
    """Whether all operands are those of one operator or function that takes numbers as well."""
    if isinstance(top, ast.Compare):
        return isinstance(top.left, ast.Name)
    if isinstance(top, ast.BinOp):
        return isinstance(top.left, ast.Name) and isinstance(top.right, ast.Name)
    function = top.func if isinstance(top, ast.Call) else None
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    return function.value.id in ("np", "jnp") or function.attr == "where"


_REDUCTIONS = {"sum", "max", "min", "any", "all", "argmax", "argmin", "logsumexp"}


def reshape(kept: str) -> SpelledRow:
    """A row that gives another shape; a reduction that ends with ``kept`` keeps no axes instead."""

    def write(value: Value, operands: Sequence[Code]) -> str:
        source, text = value.inputs[0], operands[0].text
        if source.primitive.name in _REDUCTIONS and text.endswith(kept):
            how = source.attributes
            axes = how["axes"] if "axes" in how else (how["axis"],)
            if value.shape == tuple(n for i, n in enumerate(source.shape) if i not in axes):
                return f"{text.removesuffix(kept)})"
        return f"{operands[0]:p}.reshape({shape_text(value.shape)})"

    return SpelledRow(write)


def transpose(method: str) -> SpelledRow:
    """A row that permutes axes; a matrix is just transposed."""

    def write(value: Value, operands: Sequence[Code]) -> str:
        axes = value.attributes["axes"]
        return f"{operands[0]:p}.T" if axes == (1, 0) else f"{operands[0]:p}.{method}({axes})"

    return SpelledRow(write)


@dataclass(frozen=True, eq=False)
class ExportTarget:
    """A system that source is written for."""

    name: str
    title: str
    rows: Mapping[str, SpelledRow]
    """What takes more than the expression that a primitive's row could have."""
    helpers: Mapping[str, str]
    """Functions that rows call, by name: they are written where they are called."""
    dtype: Callable[[str], str]
    """The name of a dtype."""
    number: Callable[[Array], str]
    """A number of a dtype."""
    full: Callable[[tuple[int, ...], Array], str]
    """An array that has one number everywhere."""
    array: Callable[[Array], str]
    """A small array."""
    arange: Callable[[Array], str]
    """An array of 0, 1, 2, ...."""
    loop: WriteLoop
    """A loop."""
    storable: Callable[[Array], Array] = lambda array: array
    """An array as it is stored in a file."""
    wrapped: Callable[[Value, str], str] = lambda value, text: text
    """An expression whose numbers may not fit into the dtype, cut to it."""
    reserved: frozenset[str] = field(default_factory=frozenset)
    """Names that the source uses itself."""

    def row(self, value: Value) -> SpelledRow:
        """The row of a value's primitive. Raises ExportError where there is none."""
        primitive = value.primitive
        if primitive.name in self.rows and is_own(primitive.kernel):
            return self.rows[primitive.name]
        text = getattr(primitive.spelling, self.name)
        if isinstance(text, str):
            return spelled(text, self, primitive.elementwise)
        reason = text.reason if text else f"{self.title} has no counterpart that Gradwire knows of"
        place = Location(block=value.owner) if isinstance(value.owner, str) else None
        raise ExportError(
            f"{value.primitive.name} can't be written for {self.title}: {reason}.",
            location=place,
            next_step="Export for another system, or replace the block.",
        )

    def attribute(self, value: Value, name: str) -> str:
        """An attribute of a value."""
        how = value.attributes
        match name:
            case "shape":
                return shape_text(value.shape)
            case "dtype":
                return self.dtype(value.dtype)
            case "axes":
                return axes_text(how["axes"])
            case "index":
                return index_text(how["index"])
            case "fill":
                return number_text(np.asarray(how["fill"]))
            case "window":
                return repr(how["geometry"].window)
            case "geometry":
                return ", ".join(map(repr, how["geometry"][1:4]))
        return repr(how[name])


class ExportError(RunError):
    """A diagram can't be written as source."""
