"""The error function in numpy, which has none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_CHUNK = 1 << 16


def erf_kernel(x: Any, *, out: Any) -> None:
    """erf(x) into ``out``: the C library's value, element by element.

    ``math.erf`` is accurate to below one unit in the last place of float64 and costs about 60 ns
    an element, which is more accurate than any short rational formula and needs no dependency.
    """
    source = np.ascontiguousarray(x, dtype=np.float64).reshape(-1)
    target = np.empty(source.shape)
    erf = math.erf
    for start in range(0, source.size, _CHUNK):
        part = source[start : start + _CHUNK].tolist()
        target[start : start + _CHUNK] = [erf(item) for item in part]
    np.copyto(out, target.reshape(out.shape), casting="unsafe")
