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
    is_nothing,
    nested,
    number_text,
    shape_text,
    slices_text,
    string,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.interchange.export.code import WriteLoop

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


Choice: TypeAlias = "Callable[[Value], str]"
"""Chooses a spelling by the value."""
Row: TypeAlias = "str | Choice | SpelledRow"
"""What a table has for a primitive: a spelling, with a remark as its comment, or what gives one."""
STOP = "  # a stop: no gradient goes back from here"
SURROGATE = "  # the first one's value, the second one's gradient"
CLIP = "  # the gradient is limited on its way back"
LOSS = "  # a loss: the backward pass begins here"
_KNOWN = ("shape", "dtype", "window", "slices", "equation")
"""What a spelling may say of any value; ``inputs`` are all of its operands."""
_INPUTS = {"a": 0, "b": 1, "c": 2}
_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp)


@cache
def spelled(text: str, target: ExportTarget, elementwise: bool) -> SpelledRow:
    """The row of a primitive that is spelled as a Python expression; see ``Spelling``.

    Operands are put in brackets unless they stand alone, as arguments do.
    """
    text, _, remark = text.partition("  # ")
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

    numbers = elementwise and _takes_numbers(top)
    return SpelledRow(write, isinstance(top, _OPERATIONS), numbers, remark)


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


def transposed(text: str) -> Choice:
    """Axes that are permuted; a matrix is just transposed."""
    return lambda value: "a.T" if value.attributes["axes"] == (1, 0) else text


def loss_head(text: str) -> Choice:
    """A loss: nothing where its gradient is 1 anyway, since nothing reads it."""

    def choose(value: Value) -> str:
        how, later = value.attributes, value.trace.values[value.index + 1 :]
        is_read = any(x is value for other in later for x in other.inputs)
        plain = (how["scale"], how["normalization"]) == (1.0, "none") and not is_read
        return f"{'a' if plain else text}{LOSS}"

    return choose


@dataclass(frozen=True, eq=False)
class ExportTarget:
    """A system that source is written for."""

    name: str
    title: str
    xp: str
    """The module of arrays: np, torch or jnp."""
    rows: Mapping[str, Row]
    """What takes more than the expression that a primitive's row could have."""
    helpers: Mapping[str, str]
    """Functions that rows call, by name: they are written where they are called."""
    dtype: Callable[[str], str]
    """The name of a dtype."""
    loop: WriteLoop
    """A loop."""
    storable: Callable[[Array], Array] = lambda array: array
    """An array as it is stored in a file."""
    wrapped: Callable[[Value, str], str] = lambda value, text: text
    """An expression whose numbers may not fit into the dtype, cut to it."""
    reserved: frozenset[str] = field(default_factory=frozenset)
    """Names that the source uses itself."""

    def array(self, array: Array) -> str:
        """A small array."""
        made = "tensor" if self.xp == "torch" else "array"
        return self._made(made, nested(array), array)

    def number(self, number: Array) -> str:
        """A number of a dtype."""
        if self.xp == "torch":
            return self.array(number)
        return f"{self.dtype(str(number.dtype))}({number_text(number)})"

    def full(self, shape: tuple[int, ...], number: Array) -> str:
        """An array that has one number everywhere."""
        made = "zeros" if is_nothing(number) else "ones" if number == 1 else "full"
        given = f", {number_text(number)}" if made == "full" else ""
        return self._made(made, shape_text(shape) + given, number)

    def arange(self, array: Array) -> str:
        """An array of 0, 1, 2, ...."""
        return f"{self.xp}.arange({array.size}, dtype={self.dtype(str(array.dtype))})"

    def _made(self, function: str, given: str, like: Array) -> str:
        keyword = "dtype=" if self.xp == "torch" else ""
        return f"{self.xp}.{function}({given}, {keyword}{self.dtype(str(like.dtype))})"

    def row(self, value: Value) -> SpelledRow:
        """The row of a value's primitive. Raises ExportError where there is none."""
        primitive = value.primitive
        if primitive.name in self.rows and is_own(primitive.kernel):
            row = self.rows[primitive.name]
            row = row(value) if callable(row) else row
            return spelled(row, self, False) if isinstance(row, str) else row
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
            case "slices":
                return slices_text(how["index"])
            case "fill" | "threshold":
                return number_text(np.asarray(how[name]))
            case "equation":
                return string(f"{','.join(how['terms'])}->{how['output']}")
            case "window":
                return repr(how["geometry"].window)
            case "geometry":
                return ", ".join(map(repr, how["geometry"][1:4]))
        return string(how[name]) if isinstance(how[name], str) else repr(how[name])


class ExportError(RunError):
    """A diagram can't be written as source."""
