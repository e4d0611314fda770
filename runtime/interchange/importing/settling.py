"""Moves variables to the modules that read them, for programs that don't say where they belong."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from runtime.interchange.importing.scopes import Call, Scope, common

if TYPE_CHECKING:
    from runtime.interchange.importing.staged import StagedBlock

_PARTS = re.compile(r"[./]")


def settle(root: Scope, blocks: Iterable[StagedBlock]) -> None:
    """Move each variable to the innermost module around all its readers, and name it there.

    All calls of a module count as its first one, where the variables of a shared module are.
    """
    readers: dict[StagedBlock, list[Scope]] = defaultdict(list)
    for block in blocks:
        for x in block.inputs.values():
            if x.source is not None and x.source.block.type_name() == "Variable":
                readers[x.source].append(_first_call(root, block.scope))
    for variable, scopes in readers.items():
        variable.scope = common(scopes)
        variable.name = _own_name(_PARTS.split(variable.parameter), variable.scope.names)


def _first_call(root: Scope, scope: Scope) -> Scope:
    calls = [Call(s.name, s.number if s.is_loop else 1) for s in scope.line[1:]]
    return root.at(calls)


def _own_name(path: Sequence[str], modules: Iterable[str]) -> str:
    """What follows the names of modules in the path of a parameter."""
    own = list(path)
    for module in modules:
        if len(own) > 1 and own[0] == module:
            del own[0]
    return "_".join(own)
