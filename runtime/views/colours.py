"""Colour maps that stay in order for everyone: even in lightness, and safe for colour blindness."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.uint8]
"""Red, green and blue of each of the levels 0 … 255 (256, 3); level 0 is for what is not finite."""
Colour = tuple[int, int, int]

NOT_FINITE = 0
"""The level of what is not finite."""
FIRST, LAST = 1, 255
"""The levels of the least and the greatest value."""

CLASSES: tuple[Colour, ...] = (
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (204, 121, 167),
    (230, 159, 0),
    (86, 180, 233),
    (240, 228, 66),
    (128, 128, 128),
)
"""Colours of classes, in order. Source: Okabe & Ito, Color Universal Design, 2008."""

_VIRIDIS = np.array(
    [
        [0.2777273272234177, 0.005407344544966578, 0.3340998053353061],
        [0.1050930431085774, 1.404613529898575, 1.384590162594685],
        [-0.3308618287255563, 0.214847559468213, 0.09509516302823659],
        [-4.634230498983486, -5.799100973351585, -19.33244095627987],
        [6.228269936347081, 14.17993336680509, 56.69055260068105],
        [4.776384997670288, -13.74514537774601, -65.35303263337234],
        [-5.435455855934631, 4.645852612178535, 26.3124352495832],
    ]
)
"""Coefficients of a polynomial in 0 … 1 for red, green and blue."""

_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


@lru_cache(maxsize=8)
def sequential(not_finite: Colour) -> Table:
    """From dark violet over green to yellow, ever lighter.

    Source: viridis, S. van der Walt and N. Smith, 2015; its polynomial fit is M. Zucker's.
    """
    share = np.linspace(0.0, 1.0, LAST - FIRST + 1)[:, None]
    powers = share ** np.arange(len(_VIRIDIS))
    return _table(powers @ _VIRIDIS, not_finite)


@lru_cache(maxsize=16)
def diverging(low: Colour, middle: Colour, high: Colour, not_finite: Colour) -> Table:
    """From ``low`` to ``middle`` and on to ``high``, each half even in OKLab.

    Source: Björn Ottosson, A perceptual color space for image processing, 2020.
    """
    ends = _lab(np.array([low, middle, high], np.float64) / 255.0)
    share = np.linspace(-1.0, 1.0, LAST - FIRST + 1)[:, None]
    mixed = np.where(
        share < 0, ends[1] + (ends[0] - ends[1]) * -share, ends[1] + (ends[2] - ends[1]) * share
    )
    return _table(_from_lab(mixed), not_finite)


@lru_cache(maxsize=8)
def grey(not_finite: Colour) -> Table:
    """From black to white."""
    share = np.linspace(0.0, 1.0, LAST - FIRST + 1)[:, None]
    return _table(np.repeat(share, 3, axis=1), not_finite)


@lru_cache(maxsize=16)
def classes(ground: Colour, strength: float, not_finite: Colour) -> Table:
    """Of level 1 the colour of class 0, and so on, mixed with the ``ground`` to ``strength``."""
    numbers = np.arange(LAST - FIRST + 1) % len(CLASSES)
    chosen = _lab(np.array(CLASSES, np.float64)[numbers] / 255.0)
    below = _lab(np.array([ground], np.float64) / 255.0)
    return _table(_from_lab(below + strength * (chosen - below)), not_finite)


def _table(colours: NDArray[np.float64], not_finite: Colour) -> Table:
    made = np.empty((256, 3), np.uint8)
    made[NOT_FINITE] = not_finite
    made[FIRST:] = np.round(255.0 * np.clip(colours, 0.0, 1.0))
    made.setflags(write=False)
    return made


def _lab(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ _TO_CONES.T) @ _TO_LAB.T)


def _from_lab(lab: NDArray[np.float64]) -> NDArray[np.float64]:
    cones = (lab @ np.linalg.inv(_TO_LAB).T) ** 3
    linear = np.clip(cones @ np.linalg.inv(_TO_CONES).T, 0.0, 1.0)
    curve = 1.055 * linear ** (1 / 2.4) - 0.055
    return np.asarray(np.where(linear <= 0.0031308, 12.92 * linear, curve))
