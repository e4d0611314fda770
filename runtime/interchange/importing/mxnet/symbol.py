"""Reads the JSON of a symbol: nodes in order, their attributes and inputs, and the heads."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.parsing import MAX_CHARACTERS, parse
from gradwire.runtime.diagram.files.regular import read_regular

MAX_NODES = 200_000
"""Nodes of a symbol, at most."""
_TUPLE = re.compile(r"[\[(](.*)[\])]", re.DOTALL)
_MOST_DIGITS = 18
_MOST_NUMBERS = 64
ARGUMENT = "null"
"""What stands for the operator of an argument: of data or of a parameter."""
_ATTRIBUTES = ("param", "attr", "attrs")
"""Where attributes are: up to 0.8 in the first two, up to 0.11 in ``attr``, later in ``attrs``."""


class SymbolEntry(NamedTuple):
    """One output of a node."""

    node: int
    output: int


@dataclass(frozen=True)
class SymbolNode:
    """An operator with its inputs, or an argument.

    Its attributes are text, read as what an operator expects: every method takes the default for
    one that is missing or ``None``, and raises FileError for one that reads otherwise.
    """

    operator: str
    name: str
    texts: Mapping[str, str]
    inputs: tuple[SymbolEntry, ...]

    def text(self, key: str, default: str = "") -> str:
        """The attribute as it is written."""
        text = self.texts.get(key, "None")
        return default if text == "None" else text

    def flag(self, key: str, default: bool = False) -> bool:
        """``True``, ``1`` and their like."""
        text = self.text(key, str(default)).lower()
        if text not in ("true", "false", "1", "0"):
            raise self._wrong(key, "True or False")
        return text in ("true", "1")

    def number(self, key: str, default: float = 0.0) -> float:
        """A finite number."""
        text = self.text(key)
        if not text:
            return default
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self._wrong(key, "a number")
        return number

    def whole(self, key: str, default: int | None = None) -> int:
        """An integer; without a default it must be there."""
        text = self.text(key)
        if not text and default is not None:
            return default
        return self._whole(key, text)

    def wholes(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Integers, ``(2, 2)``; a single one counts as a tuple of one."""
        found = self.bounds(key, default)
        if any(number is None for number in found):
            raise self._wrong(key, "integers")
        return tuple(number for number in found if number is not None)

    def bounds(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int | None, ...]:
        """Integers, some of which may be left open as ``None``."""
        text = self.text(key)
        if not text:
            if default is None:
                raise self._wrong(key, "integers")
            return default
        inside = _TUPLE.fullmatch(text.strip())
        parts = [part.strip() for part in (inside[1] if inside else text).split(",")]
        if parts[-1] == "":
            parts.pop()
        if len(parts) > _MOST_NUMBERS:
            raise self._wrong(key, f"at most {_MOST_NUMBERS} integers")
        return tuple(None if part == "None" else self._whole(key, part) for part in parts)

    def axes(self, key: str = "axis") -> tuple[int, ...] | None:
        """Axes; None for all of them, which ``()`` means too."""
        return self.wholes(key, ()) or None

    def axis(self) -> int | None:
        """A single axis; None for all of them."""
        return (self.axes() or (None,))[0]

    def _whole(self, key: str, text: str) -> int:
        digits = text.removesuffix("L")  # as Python 2 wrote long integers
        if len(digits) > _MOST_DIGITS or not re.fullmatch(r"[+-]?[0-9]+", digits):
            raise self._wrong(key, "an integer")
        return int(digits)

    def _wrong(self, key: str, expected: str) -> FileError:
        return FileError(
            f"The attribute {key!r} of the node {self.name!r} is wrong.",
            expected=expected,
            got=repr(self.texts.get(key, "nothing")[:80]),
        )


@dataclass(frozen=True)
class Symbol:
    """A network: nodes, each after those that it reads, and the outputs that it gives."""

    nodes: tuple[SymbolNode, ...]
    heads: tuple[SymbolEntry, ...]


def read_symbol(path: Path) -> Symbol:
    """The symbol in a file. Raises FileError where it is none, or larger than can be read."""
    data = read_regular(path, MAX_CHARACTERS)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError("The symbol is not UTF-8 text.", path=str(path)) from error
    return symbol_of(parse(text, str(path)))


def symbol_of(document: object) -> Symbol:
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


def _node(record: object, place: int) -> SymbolNode:
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
    return SymbolNode(operator, name, texts, inputs)


def _list(record: dict[str, object], key: str) -> list[object]:
    found = record.get(key, [])
    if not isinstance(found, list):
        raise FileError(f"{key!r} of the symbol is no list.")
    return found


def _entry(entry: object, before: int, where: str) -> SymbolEntry:
    """The output that an entry names; it must be of one of the first ``before`` nodes."""
    if (
        not isinstance(entry, list)
        or len(entry) not in (2, 3)
        or not all(type(number) is int for number in entry[:2])
    ):
        raise FileError(f"An entry among {where} is not [node, output].")
    node, output = entry[:2]
    if not (0 <= node < before and 0 <= output < MAX_NODES):
        raise FileError(
            f"An entry among {where} names no earlier node.",
            expected=f"a node from 0 to {before - 1}",
            got=f"{node}, output {output}",
        )
    return SymbolEntry(node, output)


_PART_ENDS = re.compile(r"(?<=[0-9])_(?=.)")
_FORWARD = "_fwd"
"""What Gluon puts behind the name of a layer's main node."""

_OF_BLOCKS = {
    "gamma": "weight", "beta": "bias", "moving_mean": "mean", "running_mean": "mean",
    "moving_var": "variance", "running_var": "variance",
}  # fmt: skip
"""Names of inputs of blocks for those of parameters."""


class NodePlace(NamedTuple):
    """Where a node is: the path of its module, and its name there."""

    module: tuple[str, ...]
    name: str


class Places:
    """Where the nodes of a symbol are: in modules that their names, ``stage1_unit2_conv1``, tell.

    Symbols have no modules, but their names have the prefixes of those that made them. A part that
    ends in a digit counts as the name of one where several nodes share it and none is called so.
    """

    def __init__(self, symbol: Symbol) -> None:
        operators = [node for node in symbol.nodes if node.operator != ARGUMENT]
        stems = {_stem(node) for node in operators}
        inside: dict[str, set[str]] = defaultdict(set)
        for stem in stems:
            for prefix in _prefixes(stem):
                inside[prefix].add(stem)
        self._modules = {p for p, nodes in inside.items() if len(nodes) > 1 and p not in stems}

    def of(self, node: SymbolNode) -> NodePlace:
        """The place of an operator's node."""
        stem, module, start = _stem(node), [], 0
        for prefix in _prefixes(stem):
            if prefix in self._modules:
                module.append(prefix[start:])
                start = len(prefix) + 1
        return NodePlace(tuple(module), stem[start:])


def own_name(node: SymbolNode, argument: str) -> str:
    """The name of a parameter within its node, ``weight`` for ``fc1_weight`` of ``fc1``, as blocks
    have it.

    Empty where the parameter's name doesn't begin with the node's.
    """
    prefix = _stem(node) + "_"
    own = argument.removeprefix(prefix) if argument.startswith(prefix) else ""
    return _OF_BLOCKS.get(own, own)


def _stem(node: SymbolNode) -> str:
    return node.name.removesuffix(_FORWARD)


def _prefixes(name: str) -> Sequence[str]:
    """The parts of a name that may be modules, shortest first, each with what is before it."""
    return [name[: end.start()] for end in _PART_ENDS.finditer(name)]
