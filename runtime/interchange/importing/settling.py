"""Moves variables to the modules that read them, for programs that don't say where they belong."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.scopes import ModuleCall, ModuleScope

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import StagedBlock

_PARTS = re.compile(r"[./]")


def settle(root: ModuleScope, blocks: Iterable[StagedBlock]) -> None:
    """Move each variable to the innermost module around all its readers, and name it there.

    All calls of a module count as the first one, where the variables of a shared module are. One
    of several modules with the same name gets that which all its variables have in common.
    """
    readers: dict[StagedBlock, list[ModuleScope]] = defaultdict(list)
    for block in blocks:
        for x in block.inputs.values():
            if x.source is not None and x.source.block.type_name() == "Variable":
                readers[x.source].append(block.scope)
    homes: dict[ModuleScope, dict[StagedBlock, list[str]]] = defaultdict(dict)
    for variable, scopes in readers.items():
        variable.scope = home = _home(root, scopes)
        homes[home][variable] = _below(_PARTS.split(variable.parameter), home.names)
    for home, variables in homes.items():
        shared = _shared_names(home, list(variables.values()))
        if shared:
            level = len(home.line) - 1
            for scope in {scope.line[level] for v in variables for scope in readers[v]}:
                scope.name = "_".join(shared)
        for variable, names in variables.items():
            variable.name = "_".join(names[len(shared) :])


def _home(root: ModuleScope, readers: Sequence[ModuleScope]) -> ModuleScope:
    """The innermost module around all readers, at its first call among those around them."""
    path: list[ModuleCall] = []
    for level in zip(*(scope.line[1:] for scope in readers), strict=False):
        one_module = len({scope.name for scope in level}) == 1
        one_call = all(scope is level[0] for scope in level)
        if not one_call and (not one_module or level[0].is_loop):
            break
        path.append(ModuleCall(level[0].name, min(scope.number for scope in level)))
    return root.at(path)


def _below(path: Sequence[str], modules: Iterable[str]) -> list[str]:
    """What follows the names of modules in the path of a parameter."""
    own = list(path)
    for module in modules:
        if len(own) > 1 and own[0] == module:
            del own[0]
    return own


def _shared_names(home: ModuleScope, paths: Sequence[Sequence[str]]) -> Sequence[str]:
    """The start of all paths, as a better name for one of several modules of that name."""
    around = home.parent
    if around is None or home.is_loop or ModuleCall(home.name, 2) not in around.inside:
        return ()
    first = paths[0][:-1]
    return first if all(path[:-1] == first for path in paths) else ()
