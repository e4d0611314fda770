"""Which entries of a symbol have one shape, whichever it is: what a symbol says about shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.mxnet.symbol import Symbol, SymbolEntry

Shape: TypeAlias = tuple[int, ...]


class EntryShapes:
    """The shapes of entries, as far as given ones and operators that keep shapes make them known.

    ``keeping`` are the operators whose inputs and output have one shape, ``any_shape`` those that
    take any.
    """

    def __init__(self, symbol: Symbol, keeping: Iterable[str], any_shape: Iterable[str]) -> None:
        self._first: dict[SymbolEntry, SymbolEntry] = {}
        self._known: dict[SymbolEntry, Shape] = {}
        self._demanding: set[SymbolEntry] = set()
        same, loose = frozenset(keeping), frozenset(any_shape)
        for place, node in enumerate(symbol.nodes):
            if node.operator in same:
                for entry in node.inputs:
                    self._join(entry, SymbolEntry(place, 0))
        for node in symbol.nodes:
            if node.operator not in same | loose:
                self._demanding |= {self._root(entry) for entry in node.inputs}

    def know(self, entry: SymbolEntry, shape: Shape, name: str) -> None:
        """Note the shape of an entry; raises FileError where another is known."""
        known = self._known.setdefault(self._root(entry), shape)
        if known != shape:
            raise FileError(
                f"The shape of {name!r} doesn't fit the symbol.",
                expected=str(known),
                got=str(shape),
            )

    def get(self, entry: SymbolEntry) -> Shape | None:
        """The shape of an entry, if it is known."""
        return self._known.get(self._root(entry))

    def is_free(self, entry: SymbolEntry) -> bool:
        """Whether nothing in the symbol demands a rank of the entry, so that a scalar would do."""
        return self._root(entry) not in self._demanding

    def _root(self, entry: SymbolEntry) -> SymbolEntry:
        while (before := self._first.get(entry, entry)) != entry:
            self._first[entry] = self._first.get(before, before)
            entry = before
        return entry

    def _join(self, one: SymbolEntry, other: SymbolEntry) -> None:
        roots = self._root(one), self._root(other)
        if roots[0] != roots[1]:
            self._first[roots[0]] = roots[1]


def declared_shape(texts: Mapping[str, str], wholes: Shape) -> Shape | None:
    """The shape that an argument declares of itself; None where a length is open."""
    return wholes if "__shape__" in texts and all(length > 0 for length in wholes) else None
