"""Numbers and sizes as sentences write them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.engine.norms import rms

Array = NDArray[Any]


def number(x: float) -> str:
    """Three digits: ``3.00``, ``−0.520``, ``57.7``, ``5.5e-6``, ``0``."""
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "inf" if x > 0 else "−inf"
    if x == 0:
        return "0"
    size = abs(x)
    if 1e-2 <= size < 999.5:
        text = f"{size:#.3g}".removesuffix(".")
    else:
        digits, _, exponent = f"{size:.1e}".partition("e")
        text = f"{digits}e{int(exponent)}"
    return f"−{text}" if x < 0 else text


def size(array: Array | None) -> str:
    """``None``, the number itself where there is one, else ``rms 0.52``."""
    if array is None:
        return "None"
    if array.size == 1:
        return number(float(array.reshape(())))
    return f"rms {number(rms(array))}"


def percent(before: Array | None, after: Array | None) -> float | None:
    """How much larger (in root mean square) ``after`` is, in percent; None from or to None or 0."""
    if before is None or after is None or not rms(before) > 0:
        return None
    return 100.0 * (rms(after) / rms(before) - 1.0)


def cosine(a: Array | None, b: Array | None) -> float | None:
    """The cosine of the angle between two arrays, in float64; None where one is None or 0."""
    if a is None or b is None:
        return None
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
        lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
        if not lengths > 0:
            return None
        return float(np.clip(float(x @ y) / lengths, -1.0, 1.0))
