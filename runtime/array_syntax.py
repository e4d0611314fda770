"""Maps the syntax of numpy arrays to blocks: method names, numpy functions and indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from blocks.errors import BuildError
from blocks.nearest import did_you_mean
from blocks.registry import registry
from runtime.diagram.names import snake_case

if TYPE_CHECKING:
    from blocks.block import Block

Index: TypeAlias = int | slice | tuple[int | slice, ...]
"""The indices that ``x[...]`` accepts."""

_NUMPY_NAMES = {
    "absolute": "Abs",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "power": "Pow",
    "negative": "Neg",
    "remainder": "Mod",
    "amax": "Max",
    "amin": "Min",
    "rint": "Round",
    "logical_and": "And",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "logical_not": "Not",
    "var": "Variance",
}
"""Block types for the numpy functions whose name differs."""
_ARRAY_ATTRIBUTES = ("shape", "dtype", "ndim", "size")


class Part(NamedTuple):
    """Parameters of the blocks for ``x[...]``: a Slice, then a Squeeze of each single axis."""

    begin: list[int]
    size: list[int]
    single: list[int]


def block_class(kind: str) -> type[Block] | None:
    """The class of a block type in any spelling: ``MatMul``, ``mat_mul`` or ``matmul``."""
    classes = registry().classes
    if kind in classes:
        return classes[kind]
    return {_normalised(name): cls for name, cls in classes.items()}.get(_normalised(kind))


def nearest_functions(name: str, *others: str) -> str | None:
    """A suggestion of functions of blocks, in snake case, and of the ``others``; None without."""
    return did_you_mean(name, [*others, *map(snake_case, registry().classes)])


def numpy_block(name: str) -> type[Block]:
    """The block for the numpy function ``name``; raises BuildError if there is none."""
    cls = block_class(_NUMPY_NAMES.get(name, name))
    if cls is None:
        raise BuildError(
            f"There is no block for np.{name}.",
            next_step=nearest_functions(name) or "`gradwire blocks` lists all blocks.",
        )
    return cls


def parse_index(index: Index, operand: str) -> Part:
    """The part of an array that ``x[0, 1:3]`` selects.

    ``operand`` is the array's name in messages. Raises BuildError for steps and for negative or
    computed indices.
    """
    part = Part([], [], [])
    for axis, entry in enumerate(index if isinstance(index, tuple) else (index,)):
        first, end = _bounds(entry, operand)
        if not isinstance(entry, slice):
            part.single.append(axis)
        part.begin.append(first)
        part.size.append(-1 if end is None else max(0, end - first))
    return part


_WRITE = {
    "detach": "Write stop_gradient(x).",
    "backward": "Write Session(build(loss(x))).backward().",
    "grad": "Session(build(loss(x))).backward().gradients has those of all variables.",
    "item": "Session(build(x)).run() computes it.",
    "numpy": "Session(build(x)).run() computes it.",
}
"""What to write for what tensors of other systems have."""


def missing_attribute(name: str) -> str:
    """The message for an attribute that expressions don't have."""
    if name in _ARRAY_ATTRIBUTES:
        return f"An expression has no {name} yet: Session(build(x)).run() shows the array."
    near = _WRITE.get(name) or nearest_functions(name, "named", "T") or ""
    return f"An expression has no attribute {name!r}. {near}".strip()


def _bounds(entry: Any, operand: str) -> tuple[int, int | None]:
    """The first index, and the index after the last one; None for the end of the axis."""
    if isinstance(entry, slice):
        given = [number for number in (entry.start, entry.stop) if number is not None]
        step = entry.step
    else:
        given, step = [entry], None
    if step not in (None, 1) or not all(
        isinstance(number, int | np.integer) and number >= 0 for number in given
    ):
        raise BuildError(
            f"{operand} can't be indexed like this.",
            expected="the name of an output, or indices from 0 on, such as x[0] or x[1:3, 2]",
            got=repr(entry),
            next_step="Write gather(x, indices) for other indices, flip(x) to count from the end.",
        )
    if isinstance(entry, slice):
        return int(entry.start or 0), None if entry.stop is None else int(entry.stop)
    return int(entry), int(entry) + 1


def _normalised(name: str) -> str:
    return name.replace("_", "").lower()
