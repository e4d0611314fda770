"""Reads the docstrings below the fields of a class from its source."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap


def field_docstrings(cls: type) -> dict[str, str]:
    """Docstrings of the fields that the class itself defines, by field; none without a source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return {}
    body = getattr(tree.body[0], "body", [])
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
