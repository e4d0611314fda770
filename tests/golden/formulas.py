"""Formulas written as text, ``where(x > 0, sqrt(x), 0)``, as expressions of real blocks."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gradwire.blocks.formulas.array_syntax import block_class
from gradwire.runtime.build import block

OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.Mod: partial(block, "Mod"),
}

COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Gt: "Greater",
    ast.GtE: "GreaterEqual",
    ast.Lt: "Less",
    ast.LtE: "LessEqual",
    ast.Eq: "Equal",
    ast.NotEq: "NotEqual",
}


def formula(text: str, names: Mapping[str, Any]) -> Any:
    """The expression that a formula in Python's notation stands for, or its number.

    ``names`` are its variables and functions of its own; every other function is the block of
    that name in snake case, its inputs by position and its parameters by keyword. Raises
    ValueError for what is no formula.
    """
    try:
        return _read(ast.parse(text.strip(), mode="eval").body, names)
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no formula: {error.msg}") from error


def _read(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name) if name in names:
            return names[name]
        case ast.List(elements) | ast.Tuple(elements):
            return [_read(element, names) for element in elements]
        case ast.UnaryOp(ast.USub(), operand):
            return -_read(operand, names)
        case ast.BinOp(left, symbol, right) if type(symbol) in OPERATORS:
            return OPERATORS[type(symbol)](_read(left, names), _read(right, names))
        case ast.Compare(left, [symbol], [right]) if type(symbol) in COMPARISONS:
            return block(COMPARISONS[type(symbol)], _read(left, names), _read(right, names))
        case ast.Call(ast.Name(name), arguments, keywords):
            inputs = [_read(argument, names) for argument in arguments]
            given = {str(k.arg): ast.literal_eval(k.value) for k in keywords}
            return _function(name, names)(*inputs, **given)
    raise ValueError(f"{ast.unparse(node)!r} can't stand in a formula")


def _function(name: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    if name in names:
        function: Callable[..., Any] = names[name]
        return function
    if block_class(name) is None:
        raise ValueError(f"there is no block and no function {name!r}")
    return partial(block, name)
