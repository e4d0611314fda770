"""Docstrings of classes, functions and fields; from the source what Python does not keep."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
import textwrap
from collections.abc import Callable


def docstring(of: type | Callable[..., object]) -> str:
    """The docstring of a class or function, also where ``python -OO`` has dropped it."""
    text = inspect.getdoc(of)
    if text is None and sys.flags.optimize > 1:
        node = _definition(of)
        text = ast.get_docstring(node) if isinstance(node, ast.ClassDef | ast.FunctionDef) else None
    return text or ""


def field_docstrings(cls: type) -> dict[str, str]:
    """Docstrings of the fields that the class itself defines, by field; none without a source."""
    body = getattr(_definition(cls), "body", [])
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _definition(of: type | Callable[..., object]) -> ast.stmt | None:
    """The statement that defines it; None without a source."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(of))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
