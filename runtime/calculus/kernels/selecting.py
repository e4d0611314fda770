"""Selection by bits: copying where a condition holds branches at each element, masks don't."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

FEW = 1 << 11
"""Elements below which two calls that branch take no longer than several that don't."""

_CHUNK = 1 << 15
"""Elements that are selected at a time: small enough to stay in a processor's cache."""

_BITS = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}
"""Integers whose bits are taken, by bytes of an element."""


def select(condition: Array, a: Array, b: Array, out: Array) -> None:
    """``out = a`` where the condition holds, ``b`` elsewhere, bit for bit; all are broadcast.

    ``out`` shares no memory with the others.
    """
    alike = out.flags.c_contiguous and a.dtype == b.dtype == out.dtype
    flat = [_flat(x, out) for x in (condition, a, b)] if out.size >= FEW and alike else []
    operands = [x for x in flat if x is not None]
    if len(operands) < 3:
        np.copyto(out, b)
        np.copyto(out, a, where=condition)
        return
    bits = _BITS[out.itemsize]
    whole = out.reshape(-1).view(bits)
    holds, yes, no = operands[0], operands[1].view(bits), operands[2].view(bits)
    for start in range(0, whole.size, _CHUNK):
        chunk = slice(start, start + _CHUNK)
        condition, a, b = [x if x.ndim == 0 else x[chunk] for x in (holds, yes, no)]
        _by_bits(condition, a, b, whole[chunk])


def _flat(x: Array, out: Array) -> Array | None:
    """The elements of an operand in order, or its only one; None if they are not in order."""
    if x.shape == out.shape and x.flags.c_contiguous:
        return x.reshape(-1)
    if x.size == 1 or not any(x.strides):
        return x[(0,) * x.ndim] if x.ndim else x
    return None


def _by_bits(condition: Array, a: Array, b: Array, out: Array) -> None:
    np.copyto(out, condition)
    if b.ndim == 0 and not b:
        np.negative(out, out=out)  # all bits where the condition holds
        np.bitwise_and(out, a, out=out)
    elif a.ndim == 0 and not a:
        np.subtract(out, 1, out=out)  # all bits where it does not
        np.bitwise_and(out, b, out=out)
    else:
        np.negative(out, out=out)
        np.bitwise_and(out, a ^ b, out=out)
        np.bitwise_xor(out, b, out=out)
