"""Blocks that make, unpack and merge trees of arrays on one wire."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from gradwire.blocks.block import Block, TreeUse
from gradwire.blocks.errors import Location, TraceError
from gradwire.blocks.path_lists import PathList
from gradwire.blocks.paths import UNWRITTEN, Path, parse_path, path_text
from gradwire.blocks.trees import Kind, Passive, Tree, joined, passive, shown

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value


def _from_text(data: object) -> object:
    try:
        return json.loads(data) if isinstance(data, str) else data
    except RecursionError:
        raise ValueError("nested too deeply") from None


Extras = Annotated[Mapping[str, JsonValue], BeforeValidator(_from_text)]


class Pack(Block):
    """Packs items into a tree, ``out = {keys[0]: items.0, …}``, or without keys into a sequence.

    Items are arrays of any shape and dtype, or trees. A key is a path: ``encoder/w`` creates a
    mapping ``encoder`` in the tree. Gradient flows back leaf by leaf. Raises TraceError unless
    there is one item for each key.
    """

    symbol: ClassVar[str] = "{·}"
    formula: ClassVar[str] = r"y = \{k_1\colon x_1, \dots, k_n\colon x_n\}"
    trees: ClassVar[TreeUse] = "whole"

    keys: PathList | None = None
    """Path of each item, such as ``a, encoder/w``; null for a sequence."""
    extras: Extras = Field(default_factory=dict)
    """Leaves that are not arrays, by path: null, text, numbers, or lists and mappings of them."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if any(isinstance(x, float) and not math.isfinite(x) for x in self._extra_values()):
            raise ValueError("extras contain a number that is not finite; make it an array")
        taken: dict[Path, str] = {}
        for text in (*(self.keys or ()), *self.extras):
            path = parse_path(text)
            if not path:
                raise ValueError("a key is empty; write % for the key that is an empty text")
            if path in taken:
                raise ValueError(f"the key {text!r} is given twice")
            taken[path] = text
        for below, text in taken.items():
            for depth in range(1, len(below)):
                if below[:depth] in taken:
                    raise ValueError(
                        f"{taken[below[:depth]]!r} is a leaf and can't contain {text!r}"
                    )
        return self

    def _extra_values(self) -> list[object]:
        return [leaf.value for leaf in passive(self.extras).leaves.values()]

    def forward(self, xp: Namespace, *items: Value | Tree) -> Tree:
        if self.keys is None and not self.extras:
            return joined(Kind.SEQUENCE, (((i,), item) for i, item in enumerate(items)))
        keys = self.keys or ()
        if len(items) != len(keys):
            raise TraceError(
                "Every item needs a key, and every key an item.",
                expected=f"{len(keys)}: {shown(keys)}" if keys else "none",
                got=f"{len(items)} items",
                next_step="List the names of the items in keys, in order.",
            )
        named = [(parse_path(key), item) for key, item in zip(keys, items, strict=True)]
        rest = [(parse_path(key), passive(data)) for key, data in self.extras.items()]
        return joined(Kind.MAPPING, [*named, *rest])


class Unpack(Block):
    """Parts of a tree: one output for each path in ``paths``, named like the path.

    A part is a leaf or a subtree. Raises TraceError if a path does not exist or x is not a tree.
    """

    symbol: ClassVar[str] = "}·{"
    formula: ClassVar[str] = r"y_i = x[p_i]"
    outputs: ClassVar[tuple[str, ...]] = ()
    trees: ClassVar[TreeUse] = "whole"

    paths: PathList = ()
    """Paths of the parts, such as ``a, encoder/w``; each is an output."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for text in self.paths:
            if not text:
                raise ValueError("a path is empty")
            if ":" in text:
                raise ValueError(f"in the path {text!r} write %3A for the colon")
            if found := UNWRITTEN.search(text):
                raise ValueError(f"the path {text!r} has the control character {found[0]!r}")
        if len(set(self.paths)) < len(self.paths):
            raise ValueError("a path is given twice")
        return self

    def output_names(self) -> tuple[str, ...]:
        return self.paths

    def forward(self, xp: Namespace, x: Value | Tree) -> tuple[Value | Tree, ...]:
        tree = require_tree(x, "x")
        return tuple(tree.at(path) for path in self.paths)


class Pick(Block):
    """The part of a tree at a path, ``out = x[path]``: a leaf or a subtree.

    Raises TraceError if the path does not exist or x is not a tree.
    """

    symbol: ClassVar[str] = "x[p]"
    formula: ClassVar[str] = r"y = x[p]"
    trees: ClassVar[TreeUse] = "whole"

    path: str = ""
    """Path of the part, such as ``encoder/w``; empty for the whole tree."""

    def forward(self, xp: Namespace, x: Value | Tree) -> Value | Tree:
        part: Value | Tree = require_tree(x, "x").at(self.path)
        return part


class Merge(Block):
    """Merges two mappings, ``out = a ⊔ b``, and recursively the mappings inside them.

    Anything else that both have at the same path is a clash, unless the two are equal and not
    arrays. Raises TraceError for a clash, unless ``clash`` resolves it, and unless a and b are
    mappings.
    """

    symbol: ClassVar[str] = "⊔"
    formula: ClassVar[str] = r"y = a \sqcup b"
    trees: ClassVar[TreeUse] = "whole"

    clash: Literal["error", "first", "second"] = "error"
    """How to resolve a clash: keep the part of a (first) or of b (second), or raise an error."""

    def forward(self, xp: Namespace, a: Value | Tree, b: Value | Tree) -> Tree:
        a, b = require_tree(a, "a"), require_tree(b, "b")
        for port, item in (("a", a), ("b", b)):
            if item.nodes[()] is not Kind.MAPPING:
                raise TraceError(
                    "Only mappings can be merged.",
                    location=Location(port=port),
                    expected="a mapping",
                )
        clashes = _clashes(a, b)
        if clashes and self.clash == "error":
            raise TraceError(
                f"Both trees have {shown(map(path_text, clashes))}.",
                next_step="Set clash to choose which part to keep.",
            )
        loser = b if self.clash == "first" else a
        dropped = _below(loser, clashes)
        return Tree(
            {
                path: node
                for tree in (a, b)
                for path, node in tree.nodes.items()
                if tree is not loser or path not in dropped
            }
        )


def require_tree(x: Value | Tree, port: str) -> Tree:
    """``x``; raises TraceError unless it is a tree."""
    if isinstance(x, Tree):
        return x
    raise TraceError(
        f"Input {port!r} must be a tree, but this is a single array.",
        location=Location(port=port),
        next_step="Put a Pack before it.",
    )


def _clashes(a: Tree, b: Tree) -> list[Path]:
    """The topmost paths at which both have parts, except two mappings or two equal leaves."""
    found: dict[Path, None] = {}
    for path, node in b.nodes.items():
        if path not in a.nodes or any(path[:depth] in found for depth in range(len(path))):
            continue
        other = a.nodes[path]
        mappings = node is Kind.MAPPING and other is Kind.MAPPING
        if not mappings and not (isinstance(node, Passive) and node == other):
            found[path] = None
    return list(found)


def _below(tree: Tree, tops: list[Path]) -> set[Path]:
    """Those paths of the tree that are in ``tops`` or below them."""
    above = set(tops)
    return {p for p in tree.nodes if any(p[:depth] in above for depth in range(len(p) + 1))}
