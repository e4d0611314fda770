"""Shows the expression of a Formula block as mathematics: in one line, and in LaTeX."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_POWER = re.compile(r"\s*\*\*\s*(-?\d+)(?![\w.])")
_SIGNS = (
    (re.compile(r"\s*(?<!\*)\*(?!\*)\s*"), "·"),
    (re.compile(r">="), "≥"),
    (re.compile(r"<="), "≤"),
    (re.compile(r"!="), "≠"),
    (re.compile(r"(?<=\s)-(?=\s)"), "−"),
)
_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi "
    "psi omega".split()
)
_OPERATORS: dict[type[ast.AST], tuple[str, int]] = {
    ast.Add: ("+", 11),
    ast.Sub: ("-", 11),
    ast.Mult: (r"\cdot", 12),
    ast.MatMult: ("", 12),
    ast.Mod: (r"\bmod", 12),
    ast.Gt: (">", 9),
    ast.GtE: (r"\ge", 9),
    ast.Lt: ("<", 9),
    ast.LtE: (r"\le", 9),
    ast.Eq: ("=", 9),
    ast.NotEq: (r"\ne", 9),
}
"""LaTeX and precedence of operators between two operands."""
_UNARY, _POWERS, _CALL = 13, 14, 20


def one_line(expression: str) -> str:
    """The same expression in one line, its statements separated by semicolons."""
    return "; ".join(filter(None, map(str.strip, expression.splitlines())))


def plain(expression: str) -> str:
    """The expression in one line: ``(w * x + b)**2`` is ``(w·x + b)²``."""
    text = _POWER.sub(lambda power: power[1].translate(_SUPERSCRIPTS), one_line(expression))
    for sign, shown in _SIGNS:
        text = sign.sub(shown, text)
    return text


@lru_cache(maxsize=256)
def latex(expression: str) -> str:
    """The expression in LaTeX, without dollar signs; a line for each statement."""
    lines = [_statement(statement) for statement in ast.parse(expression.strip()).body]
    if len(lines) == 1:
        return lines[0]
    rows = r" \\ ".join(lines)
    return rf"\begin{{array}}{{l}} {rows} \end{{array}}"


def _statement(node: ast.stmt) -> str:
    match node:
        case ast.Assign([ast.Name(name)], value):
            return f"{_name(name)} = {_written(value, 0)}"
        case ast.Expr(value):
            return _written(value, 0)
    return _verbatim(node)


def _written(node: ast.expr, within: int) -> str:
    """A part of the expression, in parentheses if it binds less than what it is ``within``."""
    text, binds = _part(node)
    return rf"\left({text}\right)" if binds < within else text


def _part(node: ast.expr) -> tuple[str, int]:
    """LaTeX, and how tightly its outermost operator binds."""
    match node:
        case ast.Name(name):
            return _name(name), _CALL
        case ast.Constant(bool() | int() | float() as value):
            return f"{value}", _CALL
        case ast.BinOp(left, ast.Div(), right):
            return rf"\frac{{{_written(left, 0)}}}{{{_written(right, 0)}}}", 12
        case ast.BinOp(left, ast.Pow(), right):
            return f"{{{_written(left, _POWERS + 1)}}}^{{{_written(right, 0)}}}", _POWERS
        case ast.BinOp(left, operator, right) | ast.Compare(left, [operator], [right]):
            sign, binds = _OPERATORS.get(type(operator), ("", 0))
            if binds:
                return f"{_written(left, binds)} {sign} {_written(right, binds + 1)}", binds
        case ast.UnaryOp(ast.USub(), operand):
            return f"-{_written(operand, _UNARY)}", 11
        case ast.Attribute(value, "T"):
            return f"{{{_written(value, _CALL)}}}^{{T}}", _POWERS
        case ast.Call(ast.Name(name), arguments, keywords):
            given = [_written(argument, 0) for argument in arguments]
            given += [f"{_upright(k.arg or '')}={_written(k.value, 0)}" for k in keywords]
            return rf"{_upright(name)}\left({', '.join(given)}\right)", _CALL
    return _verbatim(node), _CALL


def _name(name: str) -> str:
    """A name in italics; ``sigma_2`` with an index, longer words upright."""
    stem, _, index = name.partition("_")
    match = re.fullmatch(r"([A-Za-z]+)(\d+)", stem)
    if match and not index:
        stem, index = match[1], match[2]
    shown = f"\\{stem}" if stem in _GREEK else stem if len(stem) == 1 else _upright(stem)
    return f"{shown}_{{{_upright(index)}}}" if index else shown


def _upright(text: str) -> str:
    escaped = text.replace("_", r"\_")
    return rf"\mathrm{{{escaped}}}"


def _verbatim(node: ast.AST) -> str:
    """What has no notation here, as it is written."""
    return _upright(re.sub(r"[\\{}$^%&#~]", "", ast.unparse(node)))
