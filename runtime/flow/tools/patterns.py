"""Patterns that name variables and ports in contracts and in recipes for training.

A pattern is compared part by part (``/`` separates parts) with the wildcards ``*``, ``?`` and
``[…]``; a last part of ``*`` stands for any depth. A variable that uses of a page share is named by
its path in any of them, one that a Pack puts into a tree also by its leaf, ``params:encoder/w``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gradwire.blocks.globs import captures, glob
from gradwire.runtime.diagram.paths import PortPath, path_parts

if TYPE_CHECKING:
    from gradwire.runtime.diagram.training import OptimiserRule
    from gradwire.runtime.engine.program import Program


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern names a path; see the module."""
    wanted, parts = path_parts(pattern), path_parts(path)
    if wanted[-1] == "*" and len(parts) > len(wanted):
        parts = parts[: len(wanted)]
    return len(wanted) == len(parts) and all(
        glob(part).matches(text) for part, text in zip(wanted, parts, strict=True)
    )


def names_variable(pattern: str, variable: str, program: Program) -> bool:
    """Whether a pattern names a variable, by any of its paths."""
    known = program.flat.canonical(pattern)
    return any(matches(known, path) for path in variable_names(program, variable))


def owns(rule: OptimiserRule, variable: str, program: Program) -> bool:
    """Whether the patterns of an optimiser name a variable."""
    return any(names_variable(pattern, variable, program) for pattern in rule.variables)


def names_loss(pattern: str, loss: str) -> bool:
    """Whether a pattern names a loss, by its block or by its port."""
    return matches(pattern, PortPath(loss).block) or matches(pattern, loss)


def heads_named(pattern: str, program: Program) -> list[PortPath]:
    """The losses of a program that a pattern names."""
    known = program.flat.canonical(pattern)
    return [head for head in program.heads() if names_loss(known, head)]


def variable_names(program: Program, variable: str) -> list[str]:
    """The paths of a variable: its own, those in other uses that share it, leaves of trees."""
    leaves = program.derived("leaves that are variables", lambda: _tree_leaves(program))
    return [*program.flat.names(variable), *leaves.get(variable, ())]


def stand_ins(pattern: str, variable: str, program: Program) -> tuple[str, ...] | None:
    """What the wildcards of a pattern stand for in a variable's path; None if it isn't named.

    A last part of ``*`` stands for all parts from there on.
    """
    wanted = path_parts(program.flat.canonical(pattern))
    for path in variable_names(program, variable):
        if not matches(program.flat.canonical(pattern), path):
            continue
        parts = path_parts(path)
        deep = len(parts) > len(wanted)
        found = [captures(part, text) for part, text in zip(wanted, parts, strict=False)]
        last = tuple(parts[len(wanted) - 1 :]) if deep else found[-1]
        return (*(text for texts in found[:-1] for text in texts or ()), *(last or ()))
    return None


def no_match(pattern: str, what: str, known: Iterable[str]) -> str:
    """The sentence about a pattern that names nothing, with some of what it could name."""
    names = list(known)
    listed = f" There {'is' if len(names) == 1 else 'are'} {', '.join(names[:8])}." if names else ""
    return f"{pattern} matches no {what}.{listed}"


def _tree_leaves(program: Program) -> dict[str, list[str]]:
    """The leaves of trees that are variables, as they are, by the variable."""
    variables = {leaf.value: name for name, leaf in program.leaves.items()}
    markers = set(program.wires.values())
    found: dict[str, list[str]] = {}
    for tree in program.trees.values():
        for port in tree.arrays.values():
            value = program.ports.get(PortPath(port))
            while value is not None and value in markers:
                value = value.inputs[0]
            if value in variables:
                name = PortPath(port)
                found.setdefault(variables[value], []).append(name.block.with_leaf(name.leaf))
    return found
