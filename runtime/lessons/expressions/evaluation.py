"""The values of expressions."""

from __future__ import annotations

import ast
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.values import Array
from gradwire.runtime.lessons.amounts import amount
from gradwire.runtime.lessons.expressions.grammar import (
    FACTS,
    FUNCTIONS,
    OPERATORS,
    ORDERS,
    WHAT_IFS,
    ConditionError,
    offset_of,
    whole_number,
)
from gradwire.runtime.lessons.expressions.wording import STOP_WORDS, fact_words, facts_in, trial_of

if TYPE_CHECKING:
    from gradwire.runtime.lessons.expressions.facts import Facts

Value: TypeAlias = Array | str | bool | None
"""What an expression is worth; a number is an array without axes."""
MAX_ELEMENTS = 100_000
"""Elements of an array that an expression makes."""
RELATIVE = 1e-6
"""Numbers that differ by no more than this part of the larger are equal."""
ABSOLUTE = 1e-12


class ExpressionEvaluation:
    """Computes parsed expressions. Every method raises ConditionError."""

    def __init__(self, text: str, facts: Facts) -> None:
        self._text = text
        self._facts = facts

    def of(self, node: ast.expr) -> Value:
        """What a node is worth."""
        match node:
            case ast.Constant(value=bool() | str() as value):
                return value
            case ast.Constant(value=int() | float() as value):
                return np.asarray(float(value))
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Compare():
                return self.truth(node)
            case ast.UnaryOp(operand=operand):
                return np.asarray(-self._array(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self._computed(node, op, left, right)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._called(node, name, args)
            case ast.Subscript(value=value, slice=index):
                return self._element(node, self._array(value), whole_number(index) or 0)
        raise AssertionError(ast.dump(node))  # the grammar has nothing else

    def truth(self, node: ast.expr) -> bool:
        """Whether a node is true."""
        match node:
            case ast.BoolOp(op=op, values=values):
                quantifier = all if isinstance(op, ast.And) else any
                return quantifier(self.truth(each) for each in values)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.truth(operand)
            case ast.Compare():
                sides = [node.left, *node.comparators]
                pairs = zip(node.ops, pairwise(sides), strict=True)
                return all(self._compare(op, *pair) for op, pair in pairs)
        found = self.of(node)
        if isinstance(found, bool):
            return found
        raise self._error(node, "This is neither true nor false.", got=shown(found))

    def reason(self, node: ast.expr) -> str:
        """What the facts of the first comparison that fails are, not what they are to be."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            return next((self.reason(each) for each in node.values if not self.truth(each)), "")
        if not isinstance(node, ast.Compare):
            stops = [call for call in facts_in(node) if isinstance(self.of(call), bool)]
            states = (f"{fact_words(call)} is {STOP_WORDS[self.truth(call)]}." for call in stops)
            return " ".join(states)
        parts = [f"{fact_words(call)} is {shown(self.of(call))}" for call in facts_in(node)]
        text = ", and ".join(parts)
        return f"{text[0].upper()}{text[1:]}." if text else ""

    def _source(self, node: ast.expr) -> str:
        start = offset_of(self._text, node)
        return ast.get_source_segment(self._text.lstrip(), node) or self._text[start:]

    def _compare(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> bool:
        one = self.of(left)
        if isinstance(op, ast.Is | ast.IsNot):
            return (one is None) == isinstance(op, ast.Is)
        other = self.of(right)
        if isinstance(op, ast.Eq | ast.NotEq):
            return self._equal(right, one, other) == isinstance(op, ast.Eq)
        if one is None or other is None:
            return False
        for side, value in ((left, one), (right, other)):
            if not isinstance(value, np.ndarray):
                raise self._error(side, "Only numbers are larger or smaller.", got=shown(value))
        assert isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
        self._require_fitting(right, one, other)
        return bool(np.all(ORDERS[type(op)](one, other)))

    def _equal(self, node: ast.expr, one: Value, other: Value) -> bool:
        if one is None or other is None:
            return False
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
            if one.shape != other.shape and one.shape and other.shape:
                return False
            return bool(np.all(equal(one, other)))
        if type(one) is not type(other):
            what = f"{shown(one)} can't be compared with {shown(other)}."
            raise self._error(node, what)
        return one == other

    def _computed(self, node: ast.expr, op: ast.operator, left: ast.expr, right: ast.expr) -> Array:
        one, other = self._array(left), self._array(right)
        self._require_fitting(node, one, other)
        return np.asarray(OPERATORS[type(op)][1](one, other))

    def _require_fitting(self, node: ast.expr, one: Array, other: Array) -> None:
        try:
            shape = np.broadcast_shapes(one.shape, other.shape)
        except ValueError:
            raise self._error(
                node, f"The shapes {one.shape} and {other.shape} don't fit."
            ) from None
        if np.prod(shape, dtype=np.float64) > MAX_ELEMENTS:
            raise self._error(node, "The array is too large for an expression.")

    def _called(self, node: ast.expr, name: str, args: list[ast.expr]) -> Value:
        if name in FACTS:
            return self._fact(node, name, [str(ast.literal_eval(each)) for each in args])
        if name in WHAT_IFS:
            return self._tried(node, name, args)
        arrays = [self._array(each) for each in args]
        if len(arrays) > 1:
            choose = np.maximum if name == "max" else np.minimum
            found = arrays[0]
            for other in arrays[1:]:
                self._require_fitting(node, found, other)
                found = choose(found, other)
            return np.asarray(found)
        if not arrays[0].size and name in ("max", "min"):
            raise self._error(node, f"There is no {name} of no numbers.")
        return np.asarray(FUNCTIONS[name](arrays[0]))

    def _tried(self, node: ast.expr, name: str, args: list[ast.expr]) -> Value:
        try:
            facts = self._facts.tried(trial_of(name, args))
        except GradwireError as error:
            raise ConditionError.of(error, offset_of(self._text, node)) from error
        return ExpressionEvaluation(self._text, facts).of(args[0])

    def _fact(self, node: ast.expr, name: str, paths: list[str]) -> Value:
        try:
            match name:
                case "grad":
                    found: Array | str | bool | None = self._facts.gradient(*paths)
                case "value":
                    found = self._facts.value(*paths)
                case "state":
                    found = self._facts.state(*paths)
                case _:
                    found = self._facts.is_open(*paths)
        except GradwireError as error:
            raise ConditionError.of(error, offset_of(self._text, node)) from error
        return np.asarray(found, np.float64) if isinstance(found, np.ndarray) else found

    def _element(self, node: ast.expr, array: Array, index: int) -> Array:
        length = array.shape[0] if array.ndim else 0
        if not -length <= index < length:
            what = (
                "A single number has no elements."
                if not array.ndim
                else "There is no such element."
            )
            raise self._error(node, what, expected=f"an index below {length}" if length else None)
        return np.asarray(array[index])

    def _array(self, node: ast.expr) -> Array:
        found = self.of(node)
        if isinstance(found, np.ndarray):
            return found
        if found is None:
            raise self._error(
                node,
                f"{self._source(node)} is None, and nothing can be computed with None.",
                next_step="Compare it by is None first.",
                of_none=True,
            )
        raise self._error(node, "Only numbers can be computed with.", got=shown(found))

    def _error(self, node: ast.expr, what: str, **more: Any) -> ConditionError:
        return ConditionError(what, offset_of(self._text, node), **more)


def equal(one: Array, other: Array) -> Array:
    """Which elements are equal but for rounding."""
    with np.errstate(all="ignore"):
        larger = np.maximum(np.abs(one), np.abs(other))
        near = np.abs(one - other) <= np.maximum(RELATIVE * larger, ABSOLUTE)
    return np.asarray((one == other) | (near & np.isfinite(larger)))


def shown(value: Value, places: int | None = None) -> str:
    """A value as texts write it; its numbers with so many digits behind the point, if given."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else amount(value, places)
