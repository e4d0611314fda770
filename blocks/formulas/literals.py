"""Reads the numbers in formulas, and says where something is none."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from gradwire.blocks.formulas.places import FormulaError, offset_of

if TYPE_CHECKING:
    from types import EllipsisType

MAX_NUMBERS = 10_000
"""Numbers in the lists of a formula."""


class Literals:
    """Reads numbers, lists of them, and indices of one formula."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._numbers = 0

    def index(self, node: ast.expr) -> int | slice | EllipsisType | None:
        """The index or slice in ``x[1]`` or ``x[..., 1:-1]``; raises FormulaError."""
        if isinstance(node, ast.Constant) and node.value in (None, ...):
            return node.value
        if isinstance(node, ast.Slice):
            ends = (node.lower, node.upper, node.step)
            first, last, step = (None if end is None else self._whole(end) for end in ends)
            return slice(first, last, step)
        return self._whole(node)

    def _whole(self, node: ast.expr) -> int:
        number = self.number(node)
        if not isinstance(number, int) or isinstance(number, bool):
            raise self.error(
                "An index is a whole number.", node, next_step="Write gather(x, indices)."
            )
        return number

    def number(self, node: ast.expr) -> Any:
        """The number of ``2``, ``-1.5``, ``1 / 2`` or ``[1, 2]``; None for other syntax."""
        match node:
            case ast.Constant(bool() | int() | float() as value):
                self._count(node)
                if isinstance(value, int) and abs(value) >= 2**63:
                    raise self.error("The number is too large.", node, expected="an int64")
                return value
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
                return None if isinstance(value, bool) else -self.number(node.operand)
            case ast.BinOp(ast.Constant(), ast.Div(), ast.Constant(int() | float() as divisor)):
                numerator = self.number(node.left)
                if divisor and isinstance(numerator, int | float):
                    return numerator / divisor
                return None
            case ast.List():
                return self.try_literal(node)
        return None

    def try_literal(self, node: ast.expr) -> object:
        """A number or nested lists or tuples of them; None for other syntax."""
        if not isinstance(node, ast.List | ast.Tuple):
            return self.number(node)
        found = [self.try_literal(element) for element in node.elts]
        return None if any(element is None for element in found) else found

    def literal(self, node: ast.expr) -> Any:
        """A number or nested lists of numbers; raises FormulaError."""
        found = self.try_literal(node)
        if found is None:
            raise self.error("Expected numbers here.", node, expected="a number or lists of them")
        return found

    def _count(self, node: ast.expr) -> None:
        self._numbers += 1
        if self._numbers > MAX_NUMBERS:
            raise self.error(
                "There are too many numbers.", node, expected=f"at most {MAX_NUMBERS:,}"
            )

    def texts(self, node: ast.expr) -> list[str] | None:
        """The texts of ``["a", "b"]`` or a tuple of texts; None for other syntax."""
        if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
            return None
        found = [each.value for each in node.elts if isinstance(each, ast.Constant)]
        texts = [value for value in found if isinstance(value, str)]
        return texts if len(texts) == len(node.elts) else None

    def record(self, node: ast.Dict) -> dict[str, object]:
        """The record ``{"x": {"dtype": "int64"}, "y": [1, 2]}``; raises FormulaError."""
        found: dict[str, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise self.error("The keys of a record are texts.", key or value)
            if isinstance(value, ast.Dict):
                found[key.value] = self.record(value)
            elif isinstance(value, ast.Constant):
                found[key.value] = value.value
            else:
                texts = self.texts(value)
                found[key.value] = self.literal(value) if texts is None else texts
        return found

    def error(self, what: str, node: ast.AST, **details: str | None) -> FormulaError:
        """An error at a place in the formula."""
        return FormulaError(what, offset_of(self.text, node), **details)
