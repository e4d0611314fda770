"""What-ifs of expressions: what is changed before a part of them is computed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gradwire.runtime.diagram.paths import split_leaf
from gradwire.runtime.lessons.expressions.grammar import WHAT_IFS

if TYPE_CHECKING:
    from gradwire.runtime.flow.tools.interventions import Intervention

Trial: TypeAlias = "tuple[Intervention, ...]"
"""Interventions that are made together, in order."""


def trial_of(name: str, args: Sequence[ast.expr]) -> Trial:
    """What a what-if with checked arguments changes."""
    from gradwire.runtime.flow.tools.interventions import (  # seldom asked
        CloseStop,
        CutWire,
        OpenStop,
    )

    paths = [str(ast.literal_eval(each)) for each in args[1:]]
    if name == "opened":
        return tuple(OpenStop(*split_leaf(path)) for path in paths)
    return tuple(map(CloseStop if name == "closed" else CutWire, paths))


def trials_in(node: ast.AST, before: Trial = ()) -> Iterator[Trial]:
    """Every trial that a checked expression needs, with those that it is inside of."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WHAT_IFS:
        before = (*before, *trial_of(node.func.id, node.args))
        yield before
    for child in ast.iter_child_nodes(node):
        yield from trials_in(child, before)
