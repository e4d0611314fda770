"""What each element of a resized axis is made of: places in the axis that was, and their weights.

Sources: Keys 1981 (cubic convolution); ONNX, operator Resize (coordinates and rounding).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Coordinates: TypeAlias = Literal[
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
]
Rounding: TypeAlias = Literal["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


class ResizedAxis(NamedTuple):
    """An axis before and after: its length, the new one, and the factor where that is given."""

    length: int
    size: int
    factor: float | None = None

    @property
    def scale(self) -> float:
        """By how much it gets longer."""
        return self.size / self.length if self.factor is None else self.factor

    def _divided(self, places: Floats) -> Floats:
        """``places / scale``; in one division, so that whole results are whole."""
        return places * self.length / self.size if self.factor is None else places / self.factor

    def places(self, coordinates: Coordinates) -> Floats:
        """Where each new element lies in the axis that was, in elements."""
        i = np.arange(self.size, dtype=np.float64)
        if coordinates == "asymmetric":
            return self._divided(i)
        if coordinates == "align_corners":
            return i * (self.length - 1) / max(self.size - 1, 1)
        if coordinates == "pytorch_half_pixel" and self.size == 1:
            return i
        centres = self._divided(i + 0.5) - 0.5
        if coordinates == "half_pixel_symmetric":
            return centres + self.length / 2 * (1 - self.size / (self.length * self.scale))
        return centres


def nearest(axis: ResizedAxis, places: Floats, rounding: Rounding) -> NDArray[np.int64]:
    """The element that each new one is a copy of."""
    rounded = {
        "round_prefer_floor": lambda: np.ceil(places - 0.5),
        "round_prefer_ceil": lambda: np.floor(places + 0.5),
        "floor": lambda: np.floor(places),
        "ceil": lambda: np.ceil(places),
    }[rounding]()
    return np.clip(rounded, 0, axis.length - 1).astype(np.int64)


def triangle(distance: Floats) -> Floats:
    """Weights of linear interpolation, by the distance in elements."""
    weights: Floats = np.maximum(1 - np.abs(distance), 0)
    return weights


def cubic(distance: Floats, a: float) -> Floats:
    """Weights of cubic convolution with coefficient ``a``, by the distance in elements."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def interpolation(
    axis: ResizedAxis,
    places: Floats,
    kernel: Callable[[Floats], Floats],
    support: int,
    antialias: bool = False,
    exclude_outside: bool = False,
) -> Floats:
    """The matrix (size, length) that the axis is multiplied by.

    ``kernel`` is 0 from the distance ``support`` on; with ``antialias`` it is stretched where the
    axis gets shorter. Elements beyond an end are copies of that at the end, or left out.
    """
    squeeze = min(axis.scale, 1.0) if antialias else 1.0
    reach = int(np.ceil(support / squeeze))
    seen = np.floor(places).astype(np.int64)[:, None] + np.arange(1 - reach, reach + 1)
    weights = kernel((seen - places[:, None]) * squeeze)
    if exclude_outside:
        weights[(seen < 0) | (seen >= axis.length)] = 0
    if exclude_outside or squeeze < 1:
        weights /= weights.sum(1, keepdims=True)
    matrix = np.zeros((axis.size, axis.length))
    inside = np.clip(seen, 0, axis.length - 1)
    np.add.at(matrix, (np.arange(axis.size)[:, None], inside), weights)
    return matrix


def areas(axis: ResizedAxis) -> Floats:
    """The matrix of means over equal parts, in which elements that a part touches count whole."""
    i = np.arange(axis.size)
    first, last = i * axis.length // axis.size, -(-(i + 1) * axis.length // axis.size)
    place = np.arange(axis.length)
    touched = (place >= first[:, None]) & (place < last[:, None])
    weights: Floats = touched / touched.sum(1, keepdims=True)
    return weights
