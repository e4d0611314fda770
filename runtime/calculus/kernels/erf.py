"""The error function in numpy, which has none: polynomials and an exponential, of whole arrays.

Of float32 it is computed in float32, and within two units in the last place of the exact number;
of float64 within four, that is 4e-16 of it. It stays within −1 and 1, and reaches them where the
dtype does.

Sources: the polynomials of float64 are Moshier's (Cephes); those of float32 were fitted for the
least relative error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

_CHUNK = 1 << 15
"""Elements that are computed at a time: small enough to stay in a processor's cache."""

ROOMS = 4
"""Arrays of so many elements for what is between."""

NEAR_ERF = 0.65, (4.399864934384823e-3, -2.6569461449980736e-2, 0.11279349029064178,
                  -0.3761240243911743, 0.12837915122509003)  # fmt: skip
"""The number up to which erf of float32 is ``x + x·p(x²)``, and the coefficients of p; here and
below the highest power first."""

FAR_ERF = (2.1178499446250498e-4, -3.2032830640673637e-3, 2.2870153188705444e-2,
           -0.10525397211313248, -0.6357098817825317, -0.12852029502391815)  # fmt: skip
"""Coefficients of p in ``erf x = 1 − exp(x·p(x) − x)`` beyond."""

_LIMITS = {np.dtype(d): np.full(_CHUNK, x, d) for d, x in (("float32", 4), ("float64", 6))}
"""Where erf rounds to 1; the minimum with an array is faster than that with a number."""

_NEAR = (
    (9.60497373987051638749, 9.00260197203842689217e1, 2.23200534594684319226e3,
     7.00332514112805075473e3, 5.55923013010394962768e4),
    (1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3,
     2.26290000613890934246e4, 4.92673942608635921086e4),
)  # fmt: skip
"""Numerator and denominator of ``erf(x) / x`` in x² for |x| ≤ 1."""

_FAR = (
    (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687,
     4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
     9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2),
    (1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2,
     9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3,
     1.65666309194161350182e3, 5.57535340817727675546e2),
)  # fmt: skip
"""Numerator and denominator of ``(1 − erf x)·exp(x²)`` in x for 1 ≤ x ≤ 8."""


def erf_kernel(x: Array, *, out: Array) -> None:
    """erf(x) into ``out``; see the module for how near it is."""
    dtype = x.dtype if x.dtype == np.float64 else np.dtype(np.float32)
    compute = _of_float64 if dtype == np.float64 else _of_float32
    source = np.ascontiguousarray(x).reshape(-1)
    in_order = out.flags.c_contiguous and out.dtype == dtype
    target = out.reshape(-1) if in_order else np.empty(source.shape, dtype)
    room = np.empty((ROOMS, min(_CHUNK, source.size)), dtype)
    for start in range(0, source.size, _CHUNK):
        part = source[start : start + _CHUNK].astype(dtype, copy=False)
        compute(part, target[start : start + _CHUNK], *room[:, : part.size])
    if not in_order:
        np.copyto(out, target.reshape(out.shape), casting="same_kind")


def erf_of_scalars(x: Array, *, out: Array) -> None:
    """erf(x) as the C library computes it, one number after the other."""
    values = np.fromiter(map(math.erf, x.ravel().tolist()), float, x.size)
    np.copyto(out, values.reshape(x.shape), casting="same_kind")


def _of_float32(x: Array, out: Array, near: Array, far: Array, size: Array, room: Array) -> None:
    border, coefficients = NEAR_ERF
    np.multiply(x, x, room)
    _polynomial(room, coefficients, near)
    np.multiply(near, x, near)
    np.add(near, x, near)
    _size(x, size)
    _polynomial(size, FAR_ERF, far)
    np.multiply(far, size, far)
    np.subtract(far, size, far)
    np.exp(far, far)
    _join(x, size <= border, near, far, out, room)


def _of_float64(x: Array, out: Array, near: Array, far: Array, size: Array, room: Array) -> None:
    _size(x, size)
    is_near = size <= 1
    np.clip(x, -1, 1, out=far)
    np.multiply(far, far, out)
    _polynomial(out, _NEAR[0], near)
    np.multiply(near, far, near)
    _polynomial(out, _NEAR[1], far)
    if is_near.all():
        np.divide(near, far, out)
        return
    np.divide(near, far, near)
    _polynomial(size, _FAR[0], far)
    _polynomial(size, _FAR[1], room)
    np.divide(far, room, far)
    np.multiply(size, size, size)
    np.negative(size, size)
    np.exp(size, size)
    np.multiply(far, size, far)
    _join(x, is_near, near, far, out, room)


def _size(x: Array, out: Array) -> None:
    np.abs(x, out)
    np.minimum(out, _LIMITS[x.dtype][: x.size], out=out)


def _join(x: Array, is_near: Array, near: Array, rest: Array, out: Array, room: Array) -> None:
    """``near`` where that holds, and what is left of 1, with the sign of x, elsewhere: by bits,
    which is faster than copies.
    """
    np.subtract(1, rest, rest)
    bits = np.dtype(f"i{x.itemsize}")
    x, near, far, found, mask = (array.view(bits) for array in (x, near, rest, out, room))
    np.bitwise_and(x, np.iinfo(bits).min, mask)
    np.bitwise_or(far, mask, far)
    np.copyto(mask, is_near)
    np.negative(mask, mask)
    np.bitwise_xor(near, far, near)
    np.bitwise_and(near, mask, near)
    np.bitwise_xor(near, far, found)


def _polynomial(x: Array, coefficients: Sequence[float], out: Array) -> None:
    first, second, *others = coefficients
    np.multiply(x, first, out)
    np.add(out, second, out)
    for coefficient in others:
        np.multiply(out, x, out)
        np.add(out, coefficient, out)
