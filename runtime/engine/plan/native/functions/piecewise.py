"""Odd functions of float32 as polynomials on 32 intervals, of which a machine looks up one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.identity import by_identity

_INTERVALS = 32
_IN_OCTAVE = 4
"""Intervals from a power of two to the next: two bits of the mantissa tell them apart."""

SHIFT = 21
"""By which the exponent and these bits are the lowest ones."""

_DEGREE = 5
"""Of the polynomials with the factor t."""

_NODES = 16
"""Places in an interval at which a polynomial is fitted; near those of Chebyshev's polynomials the
largest error is nearly the least.
"""

_CANDIDATES = 128
"""Numbers near the middle of an interval among which a centre is chosen."""

Array = NDArray[Any]


@by_identity
class Pieces(NamedTuple):
    """``values + t·p(t)`` with ``t = |x| − centres``, where ``coefficients`` are those of p, the
    constant one first. Below ``own`` the value is |x| itself. All are float32, in the order of the
    low bits of ``max(bits of |x|, first_bits) >> SHIFT``. |x| is at most ``limit``, from where on
    the function is constant.
    """

    centres: Array
    values: Array
    coefficients: Array
    own: float
    first_bits: int
    limit: float


def pieces(
    function: Callable[[Array], Array], octave: int, limit: float, adds_own: bool = False
) -> Pieces:
    """The pieces of an odd function; the first ends a quarter above ``2**octave``.

    In the first one the centre is 0, so that the relative error stays small. With ``adds_own`` its
    value is the argument: then the rounding of a slope near 1 is small too. Each other centre is a
    number at which the function is nearly a float32.
    """
    steps = np.arange(1, _INTERVALS + 1)
    ends = 2.0 ** (octave + steps // _IN_OCTAVE) * (1 + steps % _IN_OCTAVE / _IN_OCTAVE)
    starts = np.concatenate([[0.0], ends[:-1]])
    centres = _centres(function, starts, ends)
    values = function(centres)
    widths = np.maximum(ends - centres, centres - starts)[:, None]
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    away = nodes * widths
    wanted = (function(centres[:, None] + away) - values[:, None]) / away
    wanted[0] -= adds_own
    weights = np.abs(nodes)
    powers = weights[:, None] * np.vander(nodes, _DEGREE, increasing=True)
    fitted = (weights * wanted) @ np.linalg.pinv(powers).T / widths ** np.arange(_DEGREE)
    first_bits = int(np.float32(2.0**octave).view(np.int32))
    first = (first_bits >> SHIFT) % _INTERVALS
    rows = [np.roll(x, first).astype(np.float32) for x in (centres, values, *fitted.T)]
    return Pieces(
        rows[0], rows[1], np.array(rows[2:]), float(ends[0]) * adds_own, first_bits, limit
    )


def _centres(function: Callable[[Array], Array], starts: Array, ends: Array) -> Array:
    """A float32 near the middle of each interval, as float64; in the first one 0."""
    share = np.linspace(0.45, 0.55, _CANDIDATES)
    near = (starts[:, None] + share * (ends - starts)[:, None]).astype(np.float32)
    exact = function(near.astype(np.float64))
    singles = exact.astype(np.float32)
    off = np.abs(exact - singles) / np.spacing(singles)
    found = np.take_along_axis(near, off.argmin(1)[:, None], axis=1)[:, 0].astype(np.float64)
    found[0] = 0
    return found
