"""Draws the rows of generators: each is a function of options and a seed, and of nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.library.data.sources import FEATURES, TARGET
from gradwire.runtime.data.digits import digits
from gradwire.runtime.data.order import DRAW, bits

if TYPE_CHECKING:
    from gradwire.blocks.library.data import Dataset
    from gradwire.blocks.values import Array

Floats: TypeAlias = NDArray[np.floating[Any]]
Labels: TypeAlias = NDArray[np.int64]
Random: TypeAlias = np.random.Generator

_RING = 2.0
"""Radius of the ring on which the centres of blobs lie."""


def generate(block: Dataset) -> Mapping[str, Array]:
    """The columns of a generator, x (count, …) and y (count, …): float64, or int64 classes."""
    features, target = _GENERATORS[block.source](block, np.random.Generator(bits(block.seed, DRAW)))
    return {FEATURES: features, TARGET: target}


def _classes(block: Dataset, random: Random, classes: int | None = None) -> Labels:
    """As many rows of each class as of any other, in a random order."""
    count = int(block.option("count"))
    number = int(block.option("classes")) if classes is None else classes
    return random.permutation(np.arange(count, dtype=np.int64) % number)


def _blurred(x: Floats, block: Dataset, random: Random) -> Floats:
    return x + block.option("noise") * random.standard_normal(x.shape)


def _polar(radius: Floats | float, angle: Floats) -> Floats:
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


def _blobs(block: Dataset, random: Random) -> tuple[Floats, Labels]:
    """Equal round Gaussians, their centres on a ring of radius 2; one alone is at the origin."""
    labels, number = _classes(block, random), block.option("classes")
    radius = _RING if number > 1 else 0.0
    return _blurred(_polar(radius, labels * (2 * math.pi / number)), block, random), labels


def _moons(block: Dataset, random: Random) -> tuple[Floats, Labels]:
    """Two half circles of radius 1 that reach into each other."""
    labels = _classes(block, random, 2)
    arc = _polar(1.0, math.pi * random.random(labels.size))
    x = np.where(labels[:, None] == 0, arc, np.array([1.0, 0.5]) - arc)
    return _blurred(x - np.array([0.5, 0.25]), block, random), labels


def _spirals(block: Dataset, random: Random) -> tuple[Floats, Labels]:
    """Spirals from the origin to radius 1, one for each class."""
    labels = _classes(block, random)
    radius = np.sqrt(random.random(labels.size))
    start = labels * (2 * math.pi / block.option("classes"))
    x = _polar(radius, start + 2 * math.pi * block.option("turns") * radius)
    return _blurred(x, block, random), labels


def _circles(block: Dataset, random: Random) -> tuple[Floats, Labels]:
    """Circles around the origin, the largest of radius 1, equally far apart."""
    labels = _classes(block, random)
    radius = (labels + 1) / block.option("classes")
    return _blurred(_polar(radius, 2 * math.pi * random.random(labels.size)), block, random), labels


def _xor(block: Dataset, random: Random) -> tuple[Floats, Labels]:
    """The square [-1, 1]², 1 where the coordinates have different signs; then the noise."""
    x = random.uniform(-1.0, 1.0, (int(block.option("count")), 2))
    return _blurred(x, block, random), (x[:, 0] * x[:, 1] < 0).astype(np.int64)


def _sine(block: Dataset, random: Random) -> tuple[Floats, Floats]:
    """Targets sin(π · turns · x) plus noise, x uniform in [-1, 1)."""
    x = random.uniform(-1.0, 1.0, (int(block.option("count")), 1))
    return x, _blurred(np.sin(math.pi * block.option("turns") * x), block, random)


def _mixture(block: Dataset, random: Random) -> tuple[Floats, Labels]:
    """Gaussians of random weights, means and covariances; y is the component."""
    count, number = int(block.option("count")), int(block.option("classes"))
    weights = random.dirichlet(np.full(number, 4.0))
    centres = random.uniform(-3.0, 3.0, (number, 2))
    angle = math.pi * random.random(number)
    axes = np.stack([_polar(1.0, angle), _polar(1.0, angle + math.pi / 2)], axis=1)
    axes *= random.uniform(0.2, 0.8, (number, 2))[..., None]
    labels = random.choice(number, size=count, p=weights)
    drawn = random.standard_normal((count, 1, 2)) @ axes[labels]
    return centres[labels] + drawn[:, 0], labels.astype(np.int64)


def _digits(block: Dataset, random: Random) -> tuple[Floats, Labels]:
    """Drawn digits 0 … 9, 8×8 pixels of 0 to 1 in hundredths, shifted, turned, thick or thin."""
    labels = _classes(block, random, 10)
    return np.clip(_blurred(digits(labels, random), block, random), 0.0, 1.0).round(2), labels


_GENERATORS: Mapping[str, Callable[[Dataset, Random], tuple[Array, Array]]] = {
    "blobs": _blobs,
    "moons": _moons,
    "spirals": _spirals,
    "circles": _circles,
    "xor": _xor,
    "sine": _sine,
    "mixture": _mixture,
    "digits": _digits,
}
