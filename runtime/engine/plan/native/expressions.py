"""LLVM instructions for expressions of one element, as rows of primitives spell them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cache

from gradwire.runtime.engine.plan.native.writer import TYPES, Writer, number

INTRINSICS = {"abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil"}
"""Functions that LLVM has for all floats."""
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv",
    ast.Eq: "oeq", ast.NotEq: "une", ast.Lt: "olt", ast.LtE: "ole", ast.Gt: "ogt", ast.GtE: "oge",
}  # fmt: skip
_KNOWN = (ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.USub, ast.IfExp,
          ast.Compare, ast.Call, *_OPERATORS)  # fmt: skip


@cache
def functions(text: str) -> frozenset[str] | None:
    """The functions that an expression calls; None where it has more than there are instructions
    for.
    """
    nodes = list(ast.walk(ast.parse(text, mode="eval").body))
    tests = {node.test for node in nodes if isinstance(node, ast.IfExp)}
    compared = {node for node in nodes if isinstance(node, ast.Compare)}
    is_known = tests == compared and all(len(node.ops) == 1 for node in compared)
    if not is_known or not all(isinstance(node, _KNOWN) for node in nodes):
        return None
    return frozenset(ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call))


def emit_expression(
    w: Writer, text: str, dtype: str, operands: Sequence[str], call: Callable[..., str]
) -> str:
    """The instructions for an expression of floats that ``functions`` knows; those that are no
    intrinsics are called by ``call(w, name, *operands)``.
    """
    known, kind = dict(zip("abc", operands, strict=False)), TYPES[dtype]

    def value(node: ast.expr) -> str:
        match node:
            case ast.Name():
                return known[node.id]
            case ast.Constant():
                return number(ast.literal_eval(node), dtype)
            case ast.UnaryOp():
                return w.put(f"fneg {kind} {value(node.operand)}")
            case ast.BinOp():
                left, right = value(node.left), value(node.right)
                return w.put(f"{_OPERATORS[type(node.op)]} {kind} {left}, {right}")
            case ast.Compare():
                left, right = value(node.left), value(node.comparators[0])
                return w.compare(_OPERATORS[type(node.ops[0])], dtype, left, right)
            case ast.IfExp():
                return w.choose(value(node.test), dtype, value(node.body), value(node.orelse))
            case ast.Call():
                name, given = ast.unparse(node.func), list(map(value, node.args))
                if name in INTRINSICS:
                    return w.call(INTRINSICS[name], dtype, *given)
                return call(w, name, *given)
        raise AssertionError(f"{ast.dump(node)} is unknown")

    return value(ast.parse(text, mode="eval").body)
