"""Blocks: forward arithmetic on a namespace ``xp``, and the registry that finds them."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradwire.blocks.block import REQUIRED, Block, InputPort, Opaque, Source
    from gradwire.blocks.elementwise import Elementwise
    from gradwire.blocks.values import DTYPES, PortLiteral, Tensor

__all__ = [
    "DTYPES",
    "REQUIRED",
    "Block",
    "Elementwise",
    "InputPort",
    "Opaque",
    "PortLiteral",
    "Source",
    "Tensor",
    "imported_on_use",
]


def imported_on_use(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """``__getattr__`` of a package: ``names`` has the names of each module, without the package's.

    All packages export by this, and import none of their own modules. Python locks a module before
    its package, so that of two threads that began at either end each would wait for the other, and
    one gets half a module. No name may be that of a module of the package itself: whichever thread
    finishes last decides which of the two it is.
    """
    module_of = {name: module for module, each in names.items() for name in each.split()}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{module_of[name]}"), name)
        return vars(sys.modules[package]).setdefault(name, found)  # looked up once

    return get


__getattr__ = imported_on_use(
    __name__,
    {
        "block": "REQUIRED Block InputPort Opaque Source",
        "elementwise": "Elementwise",
        "values": "DTYPES PortLiteral Tensor",
    },
)
