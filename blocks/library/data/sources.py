"""Where the rows of a data set come from: the generators with their options, and the formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape

Generated: TypeAlias = Literal[
    "blobs", "moons", "spirals", "circles", "xor", "sine", "mixture", "digits"
]
FileKind: TypeAlias = Literal["csv", "npy", "npz", "safetensors"]
SourceKind: TypeAlias = Literal[Generated, FileKind]
FILE_KINDS: tuple[str, ...] = get_args(FileKind)
"""Formats of data files; each is the suffix of its files' names."""

MAX_ROWS = 10_000_000
"""Rows that a generator draws at most."""
MAX_COLUMNS = 10_000
"""Ports of a data set, and columns that one port joins."""
MAX_PATH = 4_000
"""Characters of the path of a data file."""


class Option(NamedTuple):
    """An option of a generator: its default, and the least and largest it may be."""

    default: float
    least: float
    largest: float


COUNT = Option(500, 1, MAX_ROWS)
NOISE = Option(0.1, 0.0, 1000.0)

GENERATORS: Mapping[str, Mapping[str, Option]] = {
    "blobs": {"count": COUNT, "classes": Option(3, 1, 1000), "noise": Option(0.4, 0.0, 1000.0)},
    "moons": {"count": COUNT, "noise": NOISE},
    "spirals": {
        "count": COUNT,
        "classes": Option(2, 1, 100),
        "turns": Option(1.25, 0.01, 100.0),
        "noise": Option(0.03, 0.0, 1000.0),
    },
    "circles": {"count": COUNT, "classes": Option(2, 1, 100), "noise": Option(0.05, 0.0, 1000.0)},
    "xor": {"count": COUNT, "noise": Option(0.0, 0.0, 1000.0)},
    "sine": {"count": COUNT, "turns": Option(1.0, 0.01, 1000.0), "noise": NOISE},
    "mixture": {"count": COUNT, "classes": Option(3, 1, 1000)},
    "digits": {"count": Option(1000, 1, MAX_ROWS), "noise": NOISE},
}
"""The options that each generator has."""

FEATURES, TARGET = "x", "y"
"""The columns of every generator."""

_PLANE: Mapping[str, Shape] = {FEATURES: (2,), TARGET: ()}
SHAPES: Mapping[str, Mapping[str, Shape]] = {
    **dict.fromkeys(GENERATORS, _PLANE),
    "sine": {FEATURES: (1,), TARGET: (1,)},
    "digits": {FEATURES: (8, 8), TARGET: ()},
}
"""The shape of one row of each column of a generator."""
