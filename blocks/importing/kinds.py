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
    from blocks.library.views import Field, ViewBlock

_BASES = {"ViewBlock": "views"}
"""Classes that are types of no block themselves, with their modules."""


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
    return issubclass(cls, imported(name))


def imported(name: str) -> tuple[type[Block], ...]:
    """The type of the library, or none as long as nothing has imported its module."""
    module = sys.modules.get(f"{library.__name__}.{module_of(name)}")
    return () if module is None else (getattr(module, name),)


def is_dataset(block: Block) -> TypeGuard[Dataset]:
    """Whether a block is a Dataset."""
    return is_kind(block, "Dataset")


def is_clip(block: Block) -> TypeGuard[Clip]:
    """Whether a block is a Clip."""
    return is_kind(block, "Clip")


def is_field(block: Block) -> TypeGuard[Field]:
    """Whether a block is a Field."""
    return is_kind(block, "Field")


def is_view(block: Block) -> TypeGuard[ViewBlock]:
    """Whether a block draws its inputs on its face, and gives nothing out."""
    return is_kind(block, "ViewBlock")


def module_of(name: str) -> str | None:
    """The module of the library with a type of block; None for one that MODULES doesn't have."""
    return _modules().get(name)


@cache
def _modules() -> dict[str, str]:
    of = {name: module for module, names in library.MODULES.items() for name in names.split()}
    return of | _BASES
