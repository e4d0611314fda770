"""Where in its text a formula is wrong."""

from __future__ import annotations

import ast


def offset_of(text: str, node: ast.AST) -> int:
    """Index in the text of a node's first character; its own columns count bytes of UTF-8."""
    match node:
        case ast.Attribute(value, name):
            return text.index(name, _index(text, value.end_lineno, value.end_col_offset))
        case ast.BinOp(left, ast.FloorDiv() | ast.LShift() | ast.RShift(), _):
            return _after(text, left)
        case ast.Compare(_, [_, _, *_], [first, *_]):
            return _after(text, first)
        case ast.List(elements):
            wrong = [each for each in elements if not isinstance(each, ast.Constant | ast.List)]
            if wrong:
                return offset_of(text, wrong[0])
    return _index(text, getattr(node, "lineno", 1), getattr(node, "col_offset", 0))


def _after(text: str, node: ast.expr) -> int:
    """Index of the operator behind a node, which may stand in parentheses."""
    behind = _index(text, node.end_lineno, node.end_col_offset)
    return len(text) - len(text[behind:].lstrip(") \t\n\\"))


def _index(text: str, line: int | None, column: int | None) -> int:
    """Index of a line and a column, in bytes, of the text without the spaces around it."""
    start = len(text) - len(text.lstrip())
    lines = text.strip().splitlines(keepends=True)
    before = sum(len(each) for each in lines[: (line or 1) - 1])
    here = lines[(line or 1) - 1].encode()[:column].decode(errors="ignore") if lines else ""
    return start + before + len(here)


def blamed(node: ast.AST, what: str) -> ast.AST:
    """The parameter of a call that an error is about, or else the node itself."""
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return next((each for each in keywords if repr(each.arg) in what), node)
