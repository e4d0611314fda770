"""Trees of arrays on one wire: made, taken apart and merged."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from blocks.block import Block, TreeUse
from blocks.errors import Location, TraceError
from blocks.paths import Path, PathList, parse_path, path_text
from blocks.trees import Kind, Passive, Tree, joined, passive, shown


def _from_text(data: Any) -> Any:
    try:
        return json.loads(data) if isinstance(data, str) else data
    except RecursionError:
        raise ValueError("nested too deeply") from None


Extras = Annotated[Mapping[str, JsonValue], BeforeValidator(_from_text)]


class Pack(Block):
    """A tree of its items, ``out = {keys[0]: items.0, …}``; without keys a sequence of them.

    Items are arrays of any shape and dtype, or trees. A key is a path: ``encoder/w`` makes a
    mapping ``encoder`` in the tree. Gradient goes back leaf by leaf. Raises TraceError unless
    there is one item for each key.
    """

    symbol: ClassVar[str] = "{·}"
    formula: ClassVar[str] = r"y = \{k_1\colon x_1, \dots, k_n\colon x_n\}"
    trees: ClassVar[TreeUse] = "whole"

    keys: PathList | None = None
    """Path of each item, as ``a, encoder/w``; null for a sequence."""
    extras: Extras = Field(default_factory=dict)
    """Leaves that are no arrays, by path: null, text, numbers, or lists and mappings of them."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if any(isinstance(x, float) and not math.isfinite(x) for x in self._extra_values()):
            raise ValueError("extras hold a number that is not finite; those are arrays")
        taken: dict[Path, str] = {}
        for text in (*(self.keys or ()), *self.extras):
            path = parse_path(text)
            if not path:
                raise ValueError("an empty key; the key that is an empty text is written %")
            if path in taken:
                raise ValueError(f"the key {text!r} is given twice")
            taken[path] = text
        for below, text in taken.items():
            for depth in range(1, len(below)):
                if below[:depth] in taken:
                    raise ValueError(f"{taken[below[:depth]]!r} can't be a leaf and hold {text!r}")
        return self

    def _extra_values(self) -> list[Any]:
        return [leaf.value for leaf in passive(self.extras).leaves.values()]

    def forward(self, xp: Any, *items: Any) -> Any:
        if self.keys is None and not self.extras:
            return joined(Kind.SEQUENCE, (((i,), item) for i, item in enumerate(items)))
        keys = self.keys or ()
        if len(items) != len(keys):
            raise TraceError(
                "Every item needs a key, and every key an item.",
                expected=f"{len(keys)}: {shown(keys)}" if keys else "none",
                got=f"{len(items)} items",
                next_step="Name the items in keys, in their order.",
            )
        named = [(parse_path(key), item) for key, item in zip(keys, items, strict=True)]
        rest = [(parse_path(key), passive(data)) for key, data in self.extras.items()]
        return joined(Kind.MAPPING, [*named, *rest])


class Unpack(Block):
    """Parts of a tree, one output for each path in ``paths``, named like it.

    A path leads to a leaf or to a subtree. Raises TraceError where there is none, or x is no tree.
    """

    symbol: ClassVar[str] = "}·{"
    formula: ClassVar[str] = r"y_i = x[p_i]"
    outputs: ClassVar[tuple[str, ...]] = ()
    trees: ClassVar[TreeUse] = "whole"

    paths: PathList = ()
    """Paths of the parts, as ``a, encoder/w``; each is an output."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for text in self.paths:
            if not text:
                raise ValueError("a path is empty")
            if ":" in text:
                raise ValueError(f"in the path {text!r} the sign : is written %3A")
        if len(set(self.paths)) < len(self.paths):
            raise ValueError("a path is given twice")
        return self

    def output_names(self) -> tuple[str, ...]:
        return self.paths

    def forward(self, xp: Any, x: Any) -> Any:
        tree = require_tree(x, "x")
        return tuple(tree.at(path) for path in self.paths)


class Pick(Block):
    """The part of a tree at a path, ``out = x[path]``: a leaf or a subtree.

    Raises TraceError where there is none, or x is no tree.
    """

    symbol: ClassVar[str] = "x[p]"
    formula: ClassVar[str] = r"y = x[p]"
    trees: ClassVar[TreeUse] = "whole"

    path: str = ""
    """Path of the part, as ``encoder/w``; empty for the whole tree."""

    def forward(self, xp: Any, x: Any) -> Any:
        return require_tree(x, "x").at(self.path)


class Merge(Block):
    """One mapping of two, ``out = a ⊔ b``; mappings at one path are merged in turn.

    All else that both have at one path is a clash. Raises TraceError for a clash, unless
    ``clash`` says whose part is taken, and unless a and b are mappings.
    """

    symbol: ClassVar[str] = "⊔"
    formula: ClassVar[str] = r"y = a \sqcup b"
    trees: ClassVar[TreeUse] = "whole"

    clash: Literal["error", "first", "second"] = "error"
    """Whose part stays where both have one: that of a (first) or of b (second)."""

    def forward(self, xp: Any, a: Any, b: Any) -> Any:
        for port, item in (("a", a), ("b", b)):
            if require_tree(item, port).nodes[()] is not Kind.MAPPING:
                raise TraceError(
                    "Only mappings merge.", location=Location(port=port), expected="a mapping"
                )
        clashes = _clashes(a, b)
        if clashes and self.clash == "error":
            raise TraceError(
                f"Both trees have {shown(map(path_text, clashes))}.",
                next_step="Say with clash whose is taken.",
            )
        lost = b if self.clash == "first" else a
        dropped = _below(lost, clashes)
        return Tree(
            {
                path: node
                for tree in (a, b)
                for path, node in tree.nodes.items()
                if tree is not lost or path not in dropped
            }
        )


def require_tree(x: Any, port: str) -> Tree:
    """``x``; raises TraceError unless it is a tree."""
    if isinstance(x, Tree):
        return x
    raise TraceError(
        f"Input {port!r} must be a tree, and this is one array.",
        location=Location(port=port),
        next_step="Put a Pack before it.",
    )


def _clashes(a: Tree, b: Tree) -> list[Path]:
    """The topmost paths at which both have a part, and not two mappings or two equal leaves."""
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
    """Those paths of the tree, and all that lie below them."""
    above = set(tops)
    return {p for p in tree.nodes if any(p[:depth] in above for depth in range(len(p) + 1))}
