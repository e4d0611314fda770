"""Whether a block is of a type of the library, without importing the module of that type."""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeGuard

from blocks import library

if TYPE_CHECKING:
    from blocks.block import Block
    from blocks.library.data import Dataset
    from blocks.library.functions import Clip


def is_kind(block: Block, name: str) -> bool:
    """Whether a block is of a type of the library, or of one derived from it.

    There is no such block as long as nothing has imported the type's module.
    """
    return _is_kind(type(block), name)


@lru_cache(maxsize=4096)
def _is_kind(cls: type[Block], name: str) -> bool:
    """Whether a class is that type of the library, or derived from it: that never changes, since
    what a class is derived from has been imported before it.
    """
    module = sys.modules.get(f"{library.__name__}.{module_of(name)}")
    return module is not None and issubclass(cls, getattr(module, name))


def is_dataset(block: Block) -> TypeGuard[Dataset]:
    """Whether a block is a Dataset."""
    return is_kind(block, "Dataset")


def is_clip(block: Block) -> TypeGuard[Clip]:
    """Whether a block is a Clip."""
    return is_kind(block, "Clip")


def module_of(name: str) -> str | None:
    """The module of the library with a type of block; None for one that MODULES doesn't have."""
    return _modules().get(name)


@cache
def _modules() -> dict[str, str]:
    return {name: module for module, names in library.MODULES.items() for name in names.split()}
