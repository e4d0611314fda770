"""Powers of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

_MANY = 32
"""Elements from which a power is worth several calls."""


def power_kernel(a: Array, b: Array, *, out: Array) -> None:
    """aᵇ; for one whole b from |a|, since numpy takes 80 times as long for negative numbers."""
    n = b.item() if b.size == 1 and a.size >= _MANY and a.dtype.char in "fd" else 0.0
    if not n.is_integer() or -1 <= n <= 2:
        np.power(a, b, out=out)
    elif n == 3:
        np.multiply(np.square(a, out=out), a, out=out)
    else:
        np.power(np.abs(a, out=out), b, out=out)
        if n % 2:
            np.copysign(out, a, out=out)
