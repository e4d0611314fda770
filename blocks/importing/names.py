"""Names of a package that are imported from its modules when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def imported_on_use(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """``__getattr__`` of a package: ``names`` has the names of each module, without the package's.

    No name may be that of a module of the package itself, which would hide it.
    """
    module_of = {name: module for module, each in names.items() for name in each.split()}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return get
