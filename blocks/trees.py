"""Trees: mappings and sequences of arrays, nested to any depth, that flow along one wire."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cached_property
from typing import Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import LimitError, TraceError
from gradwire.blocks.limits import MAX_LEAF_PATH, MAX_NODES
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.paths import Path, parse_path, path_text

_SHOWN = 6


class Kind(Enum):
    """The kind of an inner node of a tree."""

    MAPPING = "mapping"
    SEQUENCE = "sequence"


@dataclass(frozen=True, slots=True)
class Passive:
    """A leaf that is not an array: None, text, a number or a boolean. Blocks pass it through."""

    value: str | bool | int | float | None


@dataclass(frozen=True, eq=False)
class Tree:
    """Inner nodes (a Kind) and leaves by path, parents before children; the root is at ``()``.

    Keys of a mapping are text, those of a sequence 0, 1, …. A leaf is a Passive or an array: a
    traced value, numbers, or whatever represents the array. Raises TraceError for more than
    ``MAX_NODES`` nodes.
    """

    nodes: Mapping[Path, Any]

    def __post_init__(self) -> None:
        _require_nodes(len(self.nodes))

    @cached_property
    def leaves(self) -> dict[Path, Any]:
        """All leaves by path, in order."""
        return {path: node for path, node in self.nodes.items() if not isinstance(node, Kind)}

    @cached_property
    def arrays(self) -> dict[Path, Any]:
        """The leaves that are not passive."""
        return {path: leaf for path, leaf in self.leaves.items() if not isinstance(leaf, Passive)}

    @cached_property
    def longest(self) -> int:
        """Characters in the longest path."""
        return max(map(_length, self.nodes), default=0)

    def map(self, function: Callable[[Path, Any], object]) -> Tree:
        """The same structure with each array leaf replaced by ``function(path, leaf)``."""
        return Tree(
            {
                path: node if isinstance(node, Kind | Passive) else function(path, node)
                for path, node in self.nodes.items()
            }
        )

    def at(self, text: str) -> Any:
        """The array or subtree at a path given as text; raises TraceError with the nearest paths.

        A passive leaf is returned as a tree that has only a root.
        """
        wanted = parse_path(text)
        depth = len(wanted)
        found = {
            path[depth:]: node
            for path, node in self.nodes.items()
            if tuple(map(str, path[:depth])) == wanted
        }
        if () not in found:
            known = [path_text(path) for path in self.nodes if path]
            raise TraceError(
                f"The tree has nothing at {text!r}.",
                expected=f"one of {shown(known)}" if known else "a tree that is not empty",
                next_step=did_you_mean(text, known),
            )
        return Tree(found) if isinstance(found[()], Kind | Passive) else found[()]

    def selected(self, keep: Callable[[Path], bool]) -> Tree:
        """The tree with only the leaves to keep; containers that lose all their leaves are removed.

        The remaining items of a sequence are numbered from 0 again.
        """
        kept = [path for path in self.leaves if keep(path)]
        full = {path[:n] for path in kept for n in range(len(path))}
        emptied = {path[:n] for path in self.leaves for n in range(1, len(path))} - full
        nodes: dict[Path, object] = {}
        moved: dict[Path, Path] = {(): ()}
        counts: dict[Path, int] = {}
        chosen = set(kept)
        for path, node in self.nodes.items():
            if path:
                parent, key = path[:-1], path[-1]
                stays = path not in emptied if isinstance(node, Kind) else path in chosen
                if parent not in moved or not stays:
                    continue
                if self.nodes[parent] is Kind.SEQUENCE:
                    key = counts.get(parent, 0)
                    counts[parent] = key + 1
                moved[path] = (*moved[parent], key)
            nodes[moved[path]] = node
        return Tree(nodes)

    def plain(self, leaf: Callable[[Any], object] = lambda leaf: leaf) -> Any:
        """Nested dicts and lists, with the values of passive leaves and ``leaf(x)`` for arrays."""
        made: dict[Path, Any] = {}
        for path, node in self.nodes.items():
            if isinstance(node, Kind):
                made[path] = {} if node is Kind.MAPPING else []
            else:
                made[path] = node.value if isinstance(node, Passive) else leaf(node)
            if path:
                parent = made[path[:-1]]
                if isinstance(parent, list):
                    parent.append(made[path])
                else:
                    parent[path[-1]] = made[path]
        return made[()]

    def difference(self, other: Tree) -> str | None:
        """How the structure of another tree differs, in words; None if it is the same."""
        ours, theirs = _structure(self), _structure(other)
        differences = [
            f"{name} has no {shown(missing)}"
            for name, here, there in (("the first", ours, theirs), ("the second", theirs, ours))
            if (missing := [text for text in there if text not in here])
        ]
        differences += [
            f"{text or 'the root'} is {ours[text]} in the first and {theirs[text]} in the second"
            for text in ours
            if text in theirs and ours[text] != theirs[text]
        ]
        return "; ".join(differences[:_SHOWN]) or None


def joined(kind: Kind, items: Iterable[tuple[Path, object]]) -> Tree:
    """A tree of leaves and subtrees at the given paths; missing parents become mappings.

    Raises LimitError for too many nodes, and for a path that is too long.
    """
    nodes: dict[Path, object] = {(): kind}
    for path, item in items:
        for depth in range(1, len(path)):
            nodes.setdefault(path[:depth], Kind.MAPPING)
        _require_short(path, item)
        if isinstance(item, Tree):
            _require_nodes(len(nodes) + len(item.nodes))
            nodes.update((path + below, node) for below, node in item.nodes.items())
        else:
            nodes[path] = item
    return Tree(nodes)


def _require_nodes(count: int) -> None:
    if count > MAX_NODES:
        raise LimitError(
            "The tree has too many nodes: leaves, mappings and sequences.",
            expected=f"at most {MAX_NODES:,}",
            got=f"{count:,} or more",
            next_step="Pack fewer trees into one another.",
        )


def _require_short(path: Path, item: object) -> None:
    length = _length(path) + (item.longest if isinstance(item, Tree) else 0)
    if length > MAX_LEAF_PATH:
        raise LimitError(
            "A path in the tree is too long.",
            expected=f"at most {MAX_LEAF_PATH:,} characters",
            got=f"{length:,}",
            next_step="Use shorter keys, or pack fewer trees into one another.",
        )


def _length(path: Path) -> int:
    """Characters in a path, with a separator for each key."""
    return sum(map(len, map(str, path))) + len(path)


def stacked(
    tree: Tree, chosen: Callable[[Path], bool], stack: Callable[[list[Any]], object]
) -> Tree:
    """The tree with each chosen sequence of arrays stacked to one array, inner sequences first.

    Empty sequences, and those with a mapping or a passive leaf, stay as they are; ``chosen`` is
    called for outermost sequences only. ``stack`` raises ShapeError if items differ in shape.
    """
    nodes = dict(tree.nodes)
    items: dict[Path, list[Path]] = {}
    for path in nodes:
        if path:
            items.setdefault(path[:-1], []).append(path)
    arrays = {path for path, node in nodes.items() if not isinstance(node, Kind | Passive)}
    whole: set[Path] = set()
    for path in reversed(nodes):
        below = items.get(path, [])
        if nodes[path] is Kind.SEQUENCE and below and all(p in arrays | whole for p in below):
            whole.add(path)
    outermost = {path for path in whole if path[:-1] not in whole or not path}
    taken = {path for path in outermost if chosen(path)}
    for path in [p for p in reversed(list(tree.nodes)) if p in whole]:
        if any(path[:depth] in taken for depth in range(len(path) + 1)):
            nodes[path] = stack([nodes.pop(item) for item in items[path]])
    return Tree(nodes)


def passive(data: object) -> Any:
    """Plain data as a tree: mappings and lists become trees, anything else a Passive.

    Raises TypeError for data that is not made of None, text, numbers and booleans.
    """
    if isinstance(data, Mapping):
        return joined(Kind.MAPPING, (((str(key),), passive(item)) for key, item in data.items()))
    if isinstance(data, list | tuple):
        return joined(Kind.SEQUENCE, (((i,), passive(item)) for i, item in enumerate(data)))
    if data is None or isinstance(data, str | bool | int | float):
        return Passive(data)
    raise TypeError(f"a {type(data).__name__} can't be a leaf")


def shown(texts: Iterable[str]) -> str:
    """The first few texts, and how many more there are."""
    listed = list(texts)
    more = len(listed) - _SHOWN
    return ", ".join(listed[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _structure(tree: Tree) -> dict[str, str]:
    return {path_text(path): _kind_text(node) for path, node in tree.nodes.items()}


def _kind_text(node: object) -> str:
    if isinstance(node, Kind):
        return f"a {node.value}"
    return repr(node.value) if isinstance(node, Passive) else "an array"
