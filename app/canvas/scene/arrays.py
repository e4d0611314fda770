"""The array types of the canvas, below everything that uses them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Indices: TypeAlias = NDArray[np.intp]
Flags: TypeAlias = NDArray[np.bool_]

NO_INDICES: Indices = np.zeros(0, np.intp)
NO_POINTS: Floats = np.zeros((0, 2))
