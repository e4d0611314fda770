"""A mapping that is copied on first write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar, cast

K = TypeVar("K")
V = TypeVar("V")


class CopyOnWrite(Generic[K, V]):
    """A mapping that is read as ``view`` and written as ``own``, a copy made on first use."""

    __slots__ = ("copied", "view")

    def __init__(self, base: Mapping[K, V]) -> None:
        self.view = base
        self.copied = False

    @property
    def own(self) -> dict[K, V]:
        """The writable copy."""
        if not self.copied:
            self.replace(dict(self.view))
        return cast("dict[K, V]", self.view)

    def replace(self, view: dict[K, V]) -> None:
        """Replace the mapping."""
        self.view = view
        self.copied = True

    def rename(self, old: K, new: K) -> None:
        """Change a key, keeping its place in the order."""
        if old in self.view:
            self.replace({(new if key == old else key): v for key, v in self.view.items()})
