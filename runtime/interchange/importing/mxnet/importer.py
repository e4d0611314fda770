"""Imports a symbol: its nodes in order as blocks, its arguments as variables and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.blocks.names import snake_case
from gradwire.runtime.interchange.importing.imported import Imported, UnsupportedError
from gradwire.runtime.interchange.importing.mxnet.arguments import EntryShapes, SymbolArguments
from gradwire.runtime.interchange.importing.mxnet.call import MXNetCall, Operator
from gradwire.runtime.interchange.importing.mxnet.operators import (
    ANY_SHAPE,
    KEEPING,
    OPERATORS,
)
from gradwire.runtime.interchange.importing.mxnet.parameters import (
    parameters_beside,
    read_parameters,
)
from gradwire.runtime.interchange.importing.mxnet.symbol import (
    ARGUMENT,
    NodePlace,
    Places,
    Symbol,
    SymbolEntry,
    SymbolNode,
    read_symbol,
)
from gradwire.runtime.interchange.importing.options import DEFAULTS, ImportOptions, conclude
from gradwire.runtime.interchange.importing.progress import counted
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.staged import name_result

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.mxnet.arguments import Shape
    from gradwire.runtime.interchange.importing.staged import Staged


def import_mxnet(
    path: Path,
    options: ImportOptions = DEFAULTS,
    arrays: Mapping[str, ArrayLike] | None = None,
) -> Imported:
    """The diagram of the symbol in a file, with the parameters beside it.

    ``arrays`` are numbers of arguments in place of those of the parameters' file. Shapes that the
    symbol doesn't say must be in the options. Raises FileError for what can't be read,
    UnsupportedError for an operator that no block can express.
    """
    beside = parameters_beside(path)
    parameters = {} if beside is None else read_parameters(beside)
    symbol = read_symbol(path)
    stage = Stage(path.stem.removesuffix("-symbol"))
    return _Importer(symbol, stage, options, arrays or {}, parameters).imported()


class _Importer:
    def __init__(
        self,
        symbol: Symbol,
        stage: Stage,
        options: ImportOptions,
        arrays: Mapping[str, ArrayLike],
        parameters: Mapping[str, Array],
    ) -> None:
        self._symbol = symbol
        self._options = options
        self._stage = stage
        self._places = Places(symbol)
        self._values: dict[SymbolEntry, Staged] = {}
        known = EntryShapes(symbol, KEEPING, ANY_SHAPE)
        by_name = {
            node.name: SymbolEntry(place, 0)
            for place, node in enumerate(symbol.nodes)
            if node.operator == ARGUMENT
        }
        for name, shape in options.shapes.items():
            known.know(_named(by_name, name), tuple(shape), name)
        given = {name: _floats(array) for name, array in arrays.items() if _named(by_name, name)}
        self._arguments = SymbolArguments(stage, symbol, known, options, parameters, given)
        self._read = {entry for node in symbol.nodes for entry in node.inputs}

    def imported(self) -> Imported:
        """The diagram of all nodes that the heads need."""
        for place, node in counted(list(enumerate(self._symbol.nodes)), "nodes"):
            if node.operator != ARGUMENT:
                self._put_up(place, node)
        if self._arguments.drawn:
            self._stage.remark("note", "No parameters lie beside the symbol: they are drawn anew.")
        return self._concluded()

    def _concluded(self) -> Imported:
        """Show the heads; where none is a loss, one of them becomes one."""
        shown: dict[str, Staged] = {}
        for entry in self._symbol.heads:
            node = self._symbol.nodes[entry.node]
            x = self._value(entry, node, self._places.of(node), None)
            if x.source is None or not x.source.block.head:
                shown[f"{node.name}_output{entry.output or ''}"] = x
        if not self._stage.has_loss or self._options.loss:
            return conclude(self._stage, shown, self._options)
        for name, x in shown.items():
            self._stage.output(x, name)
        return self._stage.finish()

    def _put_up(self, place: int, node: SymbolNode) -> None:
        operator = OPERATORS.get(node.operator)
        if operator is None:
            raise UnsupportedError(f"{node.operator} of the node {node.name!r}")
        at = self._places.of(node)
        owns = any(
            self._symbol.nodes[entry.node].operator == ARGUMENT
            and self._arguments.belongs(entry.node, self._symbol.nodes[entry.node], node)
            for entry in node.inputs
        )
        call = MXNetCall(
            self._stage,
            node,
            at.name,
            lambda number, shape: self._value(node.inputs[number], node, at, shape),
            any(SymbolEntry(place, output) in self._read for output in (0, 1)),
            self._options.training,
        )
        with self._stage.at((*at.module, at.name) if owns else at.module):
            made = _applied(operator, call)
        for output, value in enumerate(made if isinstance(made, tuple) else (made,)):
            self._values[SymbolEntry(place, output)] = value

    def _value(
        self, entry: SymbolEntry, reader: SymbolNode, at: NodePlace, shape: Shape | None
    ) -> Staged:
        node = self._symbol.nodes[entry.node]
        if node.operator == ARGUMENT:
            return self._arguments.get(entry.node, node, reader, at, shape)
        if entry not in self._values:
            raise UnsupportedError(
                f"Output {entry.output} of {node.operator}", f"{reader.name!r} reads it"
            )
        return self._values[entry]


def _applied(operator: Operator, call: MXNetCall) -> Staged | tuple[Staged, ...]:
    """What an operator gives; attributes may name axes and lengths that its inputs don't have."""
    try:
        with call.stage.operation(snake_case(call.node.operator)):
            before = len(call.stage.so_far)
            result = operator(call)
            name_result(call.name, result, call.stage.so_far[before:])
            return result
    except (IndexError, ValueError, ArithmeticError) as error:
        raise FileError(
            f"The attributes of the node {call.node.name!r} don't fit its inputs.",
            got=f"{call.node.operator} with {str(dict(call.node.texts))[:200]}",
        ) from error


def _named(by_name: Mapping[str, SymbolEntry], name: str) -> SymbolEntry:
    if name not in by_name:
        raise FileError(
            f"The symbol has no argument {name!r}.", expected=", ".join(list(by_name)[:20])
        )
    return by_name[name]


def _floats(array: ArrayLike) -> Array:
    """Numbers as MXNet holds them: float32, unless they are an array of another dtype."""
    return array if isinstance(array, np.ndarray) else np.asarray(array, np.float32)
