"""Where in its text a formula is wrong."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from gradwire.blocks.errors import BuildError


class FormulaError(BuildError):
    """A text that is no formula. ``offset`` is the index of the character that is wrong."""

    def __init__(
        self,
        what: str,
        offset: int,
        *,
        expected: str | None = None,
        got: str | None = None,
        next_step: str | None = None,
    ) -> None:
        super().__init__(what, expected=expected, got=got, next_step=next_step)
        self.offset = offset


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


def span_of(text: str, node: ast.AST) -> tuple[int, int]:
    """Index in the text of a node's first character, and of the one after its last."""
    start = _index(text, getattr(node, "lineno", 1), getattr(node, "col_offset", 0))
    return start, _index(text, getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0))


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


def with_keywords(text: str, place: tuple[int, int], values: Mapping[str, object]) -> str:
    """The text with keyword parameters of the call at a place set, the rest left as it is.

    Raises ValueError if there is no call.
    """
    start, end = place
    inner = text[start:end]
    call = ast.parse(inner, mode="eval").body
    if not isinstance(call, ast.Call):
        raise ValueError(f"{inner} has no parameters")
    written = {keyword.arg: span_of(inner, keyword.value) for keyword in call.keywords}
    new = [f"{name}={value!r}" for name, value in values.items() if name not in written]
    inner = ", ".join([inner[:-1].rstrip(" ,"), *new]) + ")"
    for name, (first, last) in sorted(written.items(), key=lambda item: item[1], reverse=True):
        if name is not None and name in values:
            inner = f"{inner[:first]}{values[name]!r}{inner[last:]}"
    return text[:start] + inner + text[end:]
