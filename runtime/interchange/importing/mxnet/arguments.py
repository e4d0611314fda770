"""The arguments of a symbol: which are parameters or data, what shapes and numbers they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.mxnet.symbol import (
    ARGUMENT,
    NodePlace,
    Symbol,
    SymbolEntry,
    SymbolNode,
    own_name,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.options import ImportOptions
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


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


_DTYPES = {"0": "float32", "1": "float64", "2": "float16", "3": "uint8", "4": "int32", "6": "int64"}
_DATA = ("data", "label", "_data", "_label")
_STATES = ("moving_mean", "moving_var", "running_mean", "running_var", "moving_inv_var")
_INITIALISERS = {
    "bias": "zeros", "beta": "zeros", "moving_mean": "zeros", "running_mean": "zeros",
    "gamma": "ones", "moving_var": "ones", "running_var": "ones",
}  # fmt: skip
"""How parameters without numbers begin, by the end of their name; weights are Glorot uniform."""


class SymbolArguments:
    """The arguments of a symbol, put up as the first operator reads them.

    ``parameters`` are the arrays of the parameters' file, ``given`` other numbers by name.
    """

    def __init__(
        self,
        stage: Stage,
        symbol: Symbol,
        shapes: EntryShapes,
        options: ImportOptions,
        parameters: Mapping[str, Array],
        given: Mapping[str, Array],
    ) -> None:
        self._stage = stage
        self._shapes = shapes
        self._options = options
        self._inputs = 0
        self._parameters = parameters
        self._numbers = {**parameters, **given}
        self._made: dict[int, Staged] = {}
        self.drawn = False
        """Whether parameters had no numbers and got drawn ones."""
        self._readers = _readers(symbol)
        for place, node in enumerate(symbol.nodes):
            if node.operator == ARGUMENT:
                shape = self._own_shape(node)
                if shape is not None:
                    shapes.know(SymbolEntry(place, 0), shape, node.name)

    def get(
        self,
        place: int,
        node: SymbolNode,
        reader: SymbolNode,
        at: NodePlace,
        wanted: Shape | None = None,
    ) -> Staged:
        """The argument at a place of the symbol, which ``reader``, itself at ``at``, reads.

        ``wanted`` is its shape where nothing else says it. Raises FileError for a shape that is
        not known.
        """
        if place not in self._made:
            own = own_name(reader, node.name) if self._readers[place] == 1 else ""
            module = (*at.module, at.name) if own else ()
            shape = self._shape(place, node, wanted)
            with self._stage.at(module):
                self._made[place] = self._put_up(node, shape, module, own)
        return self._made[place]

    def belongs(self, place: int, node: SymbolNode, reader: SymbolNode) -> bool:
        """Whether an argument is a parameter of the node that reads it, and of no other."""
        alone = self._readers[place] == 1 and self._is_parameter(node)
        return alone and bool(own_name(reader, node.name))

    def _put_up(self, node: SymbolNode, shape: Shape, module: tuple[str, ...], own: str) -> Staged:
        numbers = self._numbers.get(node.name)
        if not self._is_parameter(node):
            return self._stage.input(node.name, self._example(node, shape, numbers))
        trainable = self._is_trainable(node)
        if numbers is not None:
            return self._stage.variable(node.name, numbers, trainable, module, own)
        end = node.name.rpartition("_")[2]
        state = next((s for s in _STATES if node.name.endswith(s)), end)
        initialiser = _INITIALISERS.get(state, "glorot_uniform")
        self.drawn = True
        return self._stage.drawn(node.name, shape, initialiser, module, own, trainable=trainable)

    def _example(self, node: SymbolNode, shape: Shape, numbers: Array | None) -> Array:
        """The numbers of an input; labels are 0, the first class, unless others are given."""
        if numbers is not None:
            return numbers
        dtype = _DTYPES.get(node.text("__dtype__"), "float32")
        self._inputs += 1
        if node.name.rstrip("0123456789").endswith("label"):
            return np.zeros(shape, dtype)
        return self._options.example(self._inputs - 1, shape, dtype)

    def _is_parameter(self, node: SymbolNode) -> bool:
        if self._parameters:
            return node.name in self._parameters
        return not node.name.rstrip("0123456789").endswith(_DATA)

    def _is_trainable(self, node: SymbolNode) -> bool:
        fixed = node.number("__lr_mult__", 1.0) == 0.0
        return not (fixed or node.name.endswith(_STATES))

    def _own_shape(self, node: SymbolNode) -> Shape | None:
        """The shape of its numbers, or that it declares; None where a length is open."""
        if node.name in self._numbers:
            return np.shape(self._numbers[node.name])
        lengths = node.wholes("__shape__", ())
        return lengths if "__shape__" in node.texts and all(n > 0 for n in lengths) else None

    def _shape(self, place: int, node: SymbolNode, wanted: Shape | None) -> Shape:
        entry = SymbolEntry(place, 0)
        shape = self._shapes.get(entry)
        shape = wanted if shape is None else shape
        if shape is None and self._shapes.is_free(entry):
            self._stage.remark(
                "specialised",
                f"The file doesn't say which shape {node.name!r} has; it became a scalar.",
            )
            shape = ()
        if shape is None:
            raise FileError(
                f"The symbol doesn't say which shape {node.name!r} has.",
                next_step=f"Give it with the file, such as {node.name}=1,3,224,224.",
            )
        self._shapes.know(entry, shape, node.name)
        return shape


def _readers(symbol: Symbol) -> dict[int, int]:
    """How many inputs read each node."""
    count = dict.fromkeys(range(len(symbol.nodes)), 0)
    for node in symbol.nodes:
        for entry in node.inputs:
            count[entry.node] += 1
    return count
