"""Describes trees of arrays by the paths and shapes of their leaves, or by their branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gradwire.app.canvas.state.formatting import FaceReadout, dimensions
from gradwire.blocks.paths import path_text
from gradwire.blocks.trees import Kind, Passive
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from gradwire.blocks.trees import Tree
    from gradwire.runtime.diagram import PortPath

ROWS = 4
"""Largest number of lines for a tree on a face."""
_MAX_LISTED = 24
_WIDEST = 16


def outline(tree: Tree, known: Mapping[PortPath, Any]) -> FaceReadout:
    """The text of a tree on a face: up to four leaves with their shapes.

    With more leaves, the branches and their numbers of arrays. ``known`` has the shapes by port.
    """
    leaves = [(path_text(path), kind) for path, kind in _kinds(tree, known)]
    if len(leaves) > ROWS:
        counts = Counter(str(path[0]) for path, _ in _kinds(tree, known))
        leaves = [(name, f"{count} array{'s' * (count > 1)}") for name, count in counts.items()]
    if len(leaves) > ROWS:
        rest = len(leaves) - ROWS + 1
        leaves = [*leaves[: ROWS - 1], ("…", f"{rest} more")]
    cells = tuple((_elided(name), kind) for name, kind in leaves) or (("", "empty"),)
    return FaceReadout(cells, prose=True)


def listed(tree: Tree, known: Mapping[PortPath, Any]) -> str:
    """The leaves of a tree, one per line with shape and dtype, for a tooltip."""
    lines = [f"{path_text(path)}: {kind}" for path, kind in _kinds(tree, known, dtypes=True)]
    more = [f"… {len(lines) - _MAX_LISTED} more"] if len(lines) > _MAX_LISTED else []
    return "\n".join([counted(tree), *lines[:_MAX_LISTED], *more])


def counted(tree: Tree) -> str:
    """``mapping of 4 arrays``."""
    kind, count = tree.nodes.get(()), len(tree.arrays)
    shape = kind.value if isinstance(kind, Kind) else "leaf"
    return f"{shape} of {count} array{'' if count == 1 else 's'}"


def _kinds(
    tree: Tree, known: Mapping[PortPath, Any], *, dtypes: bool = False
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every leaf's path with its shape, or with its value if it is not an array."""
    for path, leaf in tree.leaves.items():
        if isinstance(leaf, Passive):
            value = leaf.value
            yield path, number(value) if isinstance(value, int | float) else str(value)
        elif (port := known.get(leaf)) is None:
            yield path, "?"
        else:
            shape = dimensions(tuple(port.shape))
            yield path, f"{shape} {port.dtype}" if dtypes else shape


def _elided(name: str) -> str:
    """The end of a long path, which says more than its beginning."""
    return name if len(name) <= _WIDEST else f"…{name[1 - _WIDEST :]}"
