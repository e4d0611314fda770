"""Root mean squares of gradients: what tells their size without keeping them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runtime.calculus.value import Primitive

if TYPE_CHECKING:
    from blocks.block import Shape
    from runtime.calculus import Value
    from runtime.engine.program import Program

Array = NDArray[Any]

_TILE = 8192
"""Elements that are added up in their own precision; their sums are added in float64."""


def rms(array: Array) -> float:
    """√(Σ x² / n), to five digits or better; 0 for an empty array."""
    if not array.size:
        return 0.0
    once = array[tuple(0 if step == 0 else slice(None) for step in array.strides)]
    flat = once.ravel(order="K")
    if flat.dtype == np.float16:
        flat = flat.astype(np.float32)
    with np.errstate(all="ignore"):
        total = 0.0
        for start in range(0, flat.size, _TILE):
            tile = flat[start : start + _TILE]
            total += float(np.dot(tile, tile))
        # Squares leave the range of a dtype long before their numbers do.
        low = 1e-290 if flat.dtype == np.float64 else 1e-30
        if low < total < math.inf:
            return math.sqrt(total / flat.size)
        return _scaled(flat.astype(np.float64))


def _scaled(x: NDArray[np.float64]) -> float:
    top = float(np.max(np.abs(x)))
    if not 0.0 < top < math.inf:
        return top
    x = x / top
    return top * math.sqrt(float(np.dot(x, x)) / x.size)


def together(parts: Iterable[tuple[float | None, int]]) -> float | None:
    """The root mean square over several arrays, from that of each and its number of elements; None
    where none of them has one.
    """
    known = [(size, count) for size, count in parts if size is not None]
    if not known:
        return None
    top = max(size for size, _ in known)
    if not 0.0 < top < math.inf or any(math.isnan(size) for size, _ in known):
        return math.nan if any(math.isnan(size) for size, _ in known) else top
    total = sum(count * (size / top) ** 2 for size, count in known)
    return top * math.sqrt(total / max(1, sum(count for _, count in known)))


def with_trees(program: Program, norms: Mapping[str, Array | None]) -> dict[str, float | None]:
    """Norms by wire as numbers, and those of the wires with trees whose leaves are among them."""
    found = {wire: None if norm is None else float(norm) for wire, norm in norms.items()}
    for wire, tree in program.wire_trees.items():
        leaves = [leaf for leaf in tree.arrays.values() if leaf in found]
        if leaves:
            found[wire] = together((found[leaf], program.wires[leaf].size) for leaf in leaves)
    return found


def norm_of(value: Value) -> Value:
    """The root mean square as a value of the trace: a float64 of rank 0."""
    xp = value.trace.xp
    if not value.shape:
        return xp.astype(xp.abs(value), "float64")
    return value.trace.apply(RMS, value)


def _infer(x: Value) -> tuple[Shape, str]:
    return (), "float64"


def _kernel(x: Array, *, out: Array) -> None:
    out[...] = rms(x)


RMS = Primitive("rms", _infer, _kernel, (None,))
