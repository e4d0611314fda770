"""Blocks: forward arithmetic on a namespace ``xp``, and the registry that finds them."""

import ast
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path


def attach_stub(package: str, file: str) -> tuple[Callable[[str], object], list[str]]:
    """``__getattr__`` and ``__all__`` of a package or module, from the stub beside its file.

    The stub is what type checkers read: a name is exported as ``from … import Name as Name``, and
    imported when it is first used. All packages export by this, and import none of their own
    modules. Python locks a module before its package, so that of two threads that began at either
    end each would wait for the other, and one gets half a module. No name may be that of a module
    of the package itself: whichever thread finishes last decides which of the two it is.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_bytes())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    module_of = {alias.asname: str(each.module) for each in imports for alias in each.names}
    module_of.pop(None, None)  # what the stub itself needs
    return _importing(package, module_of), sorted(module_of)


def _importing(package: str, module_of: Mapping[object, str]) -> Callable[[str], object]:
    def get(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(module_of[name]), name)
        return vars(sys.modules[package]).setdefault(name, found)  # looked up once

    return get


__getattr__, __all__ = attach_stub(__name__, __file__)
