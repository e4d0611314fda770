"""Reads the JSON of a symbol: nodes in order, their attributes and inputs, and the heads."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.parsing import MAX_CHARACTERS, parse
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.interchange.importing.mxnet.attributes import MXNetAttributes

MAX_NODES = 200_000
"""Nodes of a symbol, at most."""
ARGUMENT = "null"
"""What stands for the operator of an argument: of data or of a parameter."""
_ATTRIBUTES = ("param", "attr", "attrs")
"""Where attributes are: up to 0.8 in the first two, up to 0.11 in ``attr``, later in ``attrs``."""

Json: TypeAlias = Any


class SymbolEntry(NamedTuple):
    """One output of a node."""

    node: int
    output: int


@dataclass(frozen=True)
class SymbolNode:
    """An operator with its inputs, or an argument."""

    operator: str
    name: str
    attributes: MXNetAttributes
    inputs: tuple[SymbolEntry, ...]


@dataclass(frozen=True)
class Symbol:
    """A network: nodes, each after those that it reads, and the outputs that it gives."""

    nodes: tuple[SymbolNode, ...]
    heads: tuple[SymbolEntry, ...]

    @property
    def arguments(self) -> list[SymbolNode]:
        """Data, parameters and auxiliary states, in order."""
        return [node for node in self.nodes if node.operator == ARGUMENT]


def read_symbol(path: Path) -> Symbol:
    """The symbol in a file. Raises FileError where it is none, or larger than can be read."""
    data = read_regular(path, MAX_CHARACTERS)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError("The symbol is not UTF-8 text.", path=str(path)) from error
    return symbol_of(parse(text, str(path)))


def symbol_of(document: Json) -> Symbol:
    """The symbol of a JSON document. Raises FileError where it is none."""
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        raise FileError("The file is no MXNet symbol.", expected="an object with nodes")
    records = document["nodes"]
    if len(records) > MAX_NODES:
        raise FileError(
            "The symbol has too many nodes.",
            expected=f"at most {MAX_NODES:,}",
            got=f"{len(records):,}",
        )
    nodes = tuple(_node(record, place) for place, record in enumerate(records))
    names = [node.name for node in nodes if node.operator == ARGUMENT]
    twice, times = next(iter(Counter(names).most_common(1)), ("", 0))
    if times > 1:
        raise FileError(f"Two arguments of the symbol have the name {twice!r}.")
    heads = tuple(_entry(head, len(nodes), "the heads") for head in _list(document, "heads"))
    if not heads:
        raise FileError("The symbol has no heads, so it gives nothing.")
    return Symbol(nodes, heads)


def _node(record: Json, place: int) -> SymbolNode:
    if not isinstance(record, dict):
        raise FileError(f"Node {place} of the symbol is no object.")
    operator, name = record.get("op"), record.get("name")
    if not isinstance(operator, str) or not isinstance(name, str):
        raise FileError(f"Node {place} of the symbol has no operator or no name.")
    if record.get("subgraphs"):
        raise FileError(
            f"The node {name!r} has symbols inside it, which can't be imported.",
            next_step="Write the loop or branch out before the symbol is saved.",
        )
    texts: dict[str, str] = {}
    for key in _ATTRIBUTES:
        given = record.get(key) or {}
        if not isinstance(given, dict) or not all(isinstance(x, str) for x in given.values()):
            raise FileError(f"The attributes of the node {name!r} are not all text.")
        texts |= given
    where = f"the inputs of {name!r}"
    inputs = tuple(_entry(entry, place, where) for entry in _list(record, "inputs"))
    return SymbolNode(operator, name, MXNetAttributes(name, texts), inputs)


def _list(record: dict[str, Json], key: str) -> list[Json]:
    found = record.get(key, [])
    if not isinstance(found, list):
        raise FileError(f"{key!r} of the symbol is no list.")
    return found


def _entry(entry: Json, before: int, where: str) -> SymbolEntry:
    """The output that an entry names; it must be of one of the first ``before`` nodes."""
    fits = isinstance(entry, list) and len(entry) in (2, 3)
    if not fits or not all(type(number) is int for number in entry[:2]):
        raise FileError(f"An entry among {where} is not [node, output].")
    node, output = entry[:2]
    if not (0 <= node < before and 0 <= output < MAX_NODES):
        raise FileError(
            f"An entry among {where} names no earlier node.",
            expected=f"a node from 0 to {before - 1}",
            got=f"{node}, output {output}",
        )
    return SymbolEntry(node, output)
