"""Where staged blocks stand: the modules of a model, which become the pages of its diagram, and the
files of its program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import PurePosixPath, PureWindowsPath
from typing import NamedTuple, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass


class ModuleCall(NamedTuple):
    """One call of a module; ``number`` counts the calls of that module from 1."""

    name: str
    number: int = 1


Part: TypeAlias = str | ModuleCall
"""A step from a scope to one inside it."""


def part_name(part: Part) -> str:
    """The name of the module that a step leads to."""
    return part if isinstance(part, str) else part.name


@dataclass(eq=False)
class ModuleScope:
    """One call of a module, inside that of the module around it. The root is the model itself."""

    name: str = ""
    number: int = 1
    parent: ModuleScope | None = None
    is_loop: bool = False
    """Whether it is the body of a loop, which a Scan runs."""
    inside: dict[ModuleCall, ModuleScope] = field(default_factory=dict)

    def at(self, path: Iterable[Part]) -> ModuleScope:
        """The scope at a path below this one; new ones are made as needed."""
        scope = self
        for part in path:
            call = ModuleCall(part) if isinstance(part, str) else part
            if call not in scope.inside:
                scope.inside[call] = ModuleScope(call.name, call.number, scope)
            scope = scope.inside[call]
        return scope

    def loop(self, name: str) -> ModuleScope:
        """A new scope for the body of a loop."""
        number = 1 + sum(call.name == name for call in self.inside)
        body = self.at([ModuleCall(name, number)])
        body.is_loop = True
        return body

    @property
    def line(self) -> list[ModuleScope]:
        """The scopes from the root to this one."""
        found: list[ModuleScope] = []
        scope: ModuleScope | None = self
        while scope is not None:
            found.append(scope)
            scope = scope.parent
        return found[::-1]

    @property
    def path(self) -> tuple[ModuleCall, ...]:
        """Where it is below the root."""
        return tuple(ModuleCall(scope.name, scope.number) for scope in self.line[1:])

    @property
    def names(self) -> list[str]:
        """The names of the modules around it and its own, outermost first."""
        return [scope.name for scope in self.line[1:]]

    def is_inside(self, other: ModuleScope) -> bool:
        """Whether it is ``other`` or anywhere below it."""
        return other in self.line


def common(scopes: Iterable[ModuleScope]) -> ModuleScope:
    """The innermost scope that all of these are in."""
    lines = [scope.line for scope in scopes]
    found = lines[0][0]
    for level in zip(*lines, strict=False):
        if any(scope is not level[0] for scope in level):
            break
        found = level[0]
    return found


def own_name(name: str, module: Sequence[str]) -> str:
    """A parameter's name in its module, where the module's name is a part of it."""
    prefix = ".".join(module) + "."
    return name[len(prefix) :] if module and name.startswith(prefix) else name


def file_name(file: str) -> str:
    """The last part of a file's name; ``In[5]`` for a cell of a notebook, whose file nobody knows.

    Source of the names of cells: ``IPython.core.compilerop.CachingCompiler``.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    named = getattr(getattr(shell, "compile", None), "format_code_name", None)
    if named is not None and (cell := named(file)):
        return str(cell[-1])
    return PureWindowsPath(file).name if "\\" in file else PurePosixPath(file).name
