"""The grammar of expressions: what may be in one is checked before anything is computed."""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import GradwireError, RunError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram import OLDER_STATES
from gradwire.runtime.diagram.document_types import MAX_EXPRESSION

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

MAX_NODES = 120
"""Operations and constants of an expression."""
MAX_DEPTH = 24
"""Depth of an expression."""
EXAMPLE = 'an expression such as grad("w") > 0'
FACTS: Mapping[str, int] = {"grad": 2, "value": 1, "state": 1, "open": 1}
"""Functions that take paths, and how many at most."""
FUNCTIONS: Mapping[str, Callable[[Array], Any]] = {
    "abs": np.abs,
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "norm": lambda array: np.sqrt(np.sum(np.square(array))),
    "size": lambda array: np.float64(array.size),
}
WHAT_IFS: Mapping[str, str] = {
    "opened": "stop",
    "closed": "stop",
    "cut": "wire",
}
"""Functions of an expression and of what is changed for it, with what their paths name."""
_MOST_WHAT_IFS = 8
OPERATORS: Mapping[type[ast.operator], tuple[str, Callable[[Array, Array], Array]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("−", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", np.divide),
    ast.Pow: ("**", np.power),
}
ORDERS: Mapping[type[ast.cmpop], Callable[[Array, Array], Array]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}


class ConditionError(RunError):
    """An expression that is none, or has no value. ``offset`` is the character that is wrong;
    ``of_none`` says that it computes with a gradient that is None.
    """

    def __init__(self, what: str, offset: int = 0, *, of_none: bool = False, **more: Any) -> None:
        super().__init__(what, **more)
        self.offset = offset
        self.of_none = of_none

    @classmethod
    def of(cls, error: GradwireError, offset: int) -> ConditionError:
        """What went wrong where the expression asked for a fact."""
        if isinstance(error, cls):
            return error
        return cls(
            error.what,
            offset,
            location=error.location,
            expected=error.expected,
            got=error.got,
            next_step=error.next_step,
        )


def parse(text: str) -> ast.expr:
    """The tree of an expression. Raises ConditionError with the character that is wrong."""
    if len(text) > MAX_EXPRESSION:
        raise ConditionError(
            "The expression is too long.",
            MAX_EXPRESSION,
            expected=f"at most {MAX_EXPRESSION} characters",
            got=f"{len(text)}",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.lstrip(), mode="eval").body
    except SyntaxError as error:
        raise ConditionError(
            "This is not an expression.", _syntax_offset(text, error), expected=EXAMPLE
        ) from None
    except (ValueError, RecursionError, MemoryError):
        raise ConditionError("This is not an expression.", expected=EXAMPLE) from None
    _Check(text).visit(tree, 0)
    return tree


def _syntax_offset(text: str, error: SyntaxError) -> int:
    stripped = text.lstrip()
    lines = stripped.split("\n")
    line = min(error.lineno or 1, len(lines))
    before = sum(len(each) + 1 for each in lines[: line - 1])
    found = (
        len(text)
        - len(stripped)
        + before
        + (error.offset - 1 if error.offset else len(lines[line - 1]))
    )
    return min(found, len(text))


def offset_of(text: str, node: ast.AST) -> int:
    """Index of a node's first character in its text; the node counts bytes of UTF-8."""
    stripped = text.lstrip()
    indent = len(text) - len(stripped)
    lines = stripped.split("\n")
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    before = sum(len(each) + 1 for each in lines[: line - 1])
    within = lines[line - 1].encode("utf-8", "replace")[:column]
    return indent + before + len(within.decode("utf-8", "replace"))


class _Check:
    """Refuses everything that is no expression of a lesson, before anything is computed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._nodes = 0

    def visit(self, node: ast.AST, depth: int) -> None:
        """Check a node and all below it."""
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > MAX_DEPTH:
            raise self._error(node, "The expression is too complicated.")
        for child in self._parts(node):
            self.visit(child, depth + 1)

    def _parts(self, node: ast.AST) -> list[ast.expr]:
        match node:
            case ast.BoolOp(values=values):
                return values
            case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
                return [operand]
            case ast.BinOp(op=op) if type(op) in OPERATORS:
                return [node.left, node.right]
            case ast.Compare():
                return self._compared(node)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._arguments(node, name, args)
            case ast.Subscript(value=value, slice=index):
                if whole_number(index) is None:
                    raise self._error(index, "An index is a whole number, as in [0].")
                return [value]
            case ast.Constant(value=bool() | str()):
                return []
            case ast.Constant(value=int() | float() as number):
                self._number(node, number)
                return []
            case ast.Constant(value=None):
                raise self._error(node, "None is only compared.", expected='grad("w") is None')
            case ast.Name(id=name):
                raise self._error(
                    node,
                    f"{name!r} means nothing here.",
                    expected=f'a path in quotes, as in value("{name}")',
                )
        raise self._error(node, "This can't be in an expression.", expected=EXAMPLE)

    def _compared(self, node: ast.Compare) -> list[ast.expr]:
        sides = [node.left, *node.comparators]
        for side in sides:
            if isinstance(side, ast.Constant) and isinstance(side.value, str):
                side.value = OLDER_STATES.get(side.value, side.value)
        for op, right in zip(node.ops, node.comparators, strict=True):
            is_none = isinstance(right, ast.Constant) and right.value is None
            if isinstance(op, ast.Is | ast.IsNot) != is_none:
                raise self._error(right, "None is compared by is, and nothing else is.",
                                  expected='grad("w") is None')  # fmt: skip
            if (
                not isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq)
                and type(op) not in ORDERS
            ):
                raise self._error(right, "This is no comparison.", expected="== != < <= > >=")
        return [side for side in sides if not _is_none(side)]

    def _arguments(self, node: ast.AST, name: str, args: list[ast.expr]) -> list[ast.expr]:
        if name in FACTS:
            if not 1 <= len(args) <= FACTS[name]:
                raise self._error(node, f"{name} takes a path.", expected=f'{name}("…")')
            for each in args:
                if not (isinstance(each, ast.Constant) and isinstance(each.value, str)):
                    raise self._error(each, f"{name} takes a path in quotes.",
                                      expected=f'{name}("…")')  # fmt: skip
            return []
        if name in WHAT_IFS:
            return self._tried(node, name, args)
        if name not in FUNCTIONS:
            known = [*FACTS, *FUNCTIONS, *WHAT_IFS]
            raise self._error(
                node,
                f"There is no function {name!r}.",
                expected="one of " + ", ".join(known),
                next_step=did_you_mean(name, known),
            )
        several = name in ("max", "min") and len(args) > 1
        if len(args) != 1 and not several:
            raise self._error(node, f"{name} takes one argument.")
        return args

    def _tried(self, node: ast.AST, name: str, args: list[ast.expr]) -> list[ast.expr]:
        """The expression that a what-if is about; its paths are checked here."""
        example = f'{name}(grad("w"), "{WHAT_IFS[name]}")'
        paths = [each for each in args[1:] if _is_text(each)]
        if not 1 <= len(paths) == len(args) - 1 <= _MOST_WHAT_IFS:
            what = f"{name} takes an expression, and then paths in quotes."
            raise self._error(node, what, expected=example)
        for inner in ast.walk(args[0]):
            if isinstance(inner, ast.Call) and getattr(inner.func, "id", "") in ("state", "open"):
                what = f"{name} asks what gradients and values would be, and nothing else."
                raise self._error(inner, what, expected=example)
        return args[:1]

    def _number(self, node: ast.AST, number: float) -> None:
        try:
            is_finite = math.isfinite(number)
        except OverflowError:  # of an integer with hundreds of digits
            is_finite = False
        if not is_finite:
            raise self._error(node, "The number is too large.")

    def _error(self, node: ast.AST, what: str, **more: Any) -> ConditionError:
        return ConditionError(what, offset_of(self._text, node), **more)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def whole_number(node: ast.expr) -> int | None:
    """The whole number that a node is, or None."""
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -number
    return None
