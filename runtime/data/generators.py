"""Draws the rows of generators: each is a function of options and a seed, and of nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.library.data.sources import FEATURES, TARGET
from gradwire.runtime.data.order import DRAW, bits

if TYPE_CHECKING:
    from gradwire.blocks.library.data import Dataset
    from gradwire.blocks.values import Array


# Digits of 8×8 pixels, drawn with a pen: strokes that are moved, turned, and thick or thin.

SIDE = 8
"""Pixels along each edge."""

_CHUNK = 4096
"""Digits drawn at once."""


def _arc(x: float, y: float, rx: float, ry: float, start: float, end: float) -> list[object]:
    """Points of an ellipse, from one angle to another in degrees; y points down."""
    steps = max(4, round(abs(end - start) / 30))
    angles = [math.radians(start + (end - start) * i / steps) for i in range(steps + 1)]
    return [(x + rx * math.cos(a), y + ry * math.sin(a)) for a in angles]


_STROKES: tuple[tuple[list[object], ...], ...] = (
    (_arc(0.0, 0.0, 0.42, 0.75, 0, 360),),
    ([(-0.3, -0.45), (0.05, -0.75), (0.05, 0.75)],),
    ([*_arc(0.0, -0.35, 0.42, 0.4, -170, 30), (-0.42, 0.75), (0.48, 0.75)],),
    (
        [*_arc(0.0, -0.38, 0.4, 0.37, -150, 80), (-0.05, 0.0)],
        _arc(0.0, 0.37, 0.42, 0.38, -85, 150),
    ),
    ([(0.2, 0.75), (0.2, -0.75), (-0.5, 0.3), (0.5, 0.3)],),
    (
        [(0.4, -0.75), (-0.32, -0.75), (-0.36, -0.1)],
        _arc(-0.02, 0.27, 0.42, 0.46, -140, 140),
    ),
    ([(0.28, -0.75), (-0.2, -0.3), (-0.4, 0.3)], _arc(0.0, 0.33, 0.4, 0.42, 0, 360)),
    ([(-0.42, -0.75), (0.42, -0.75), (-0.12, 0.75)],),
    (_arc(0.0, -0.38, 0.36, 0.36, 0, 360), _arc(0.0, 0.37, 0.42, 0.38, 0, 360)),
    (_arc(0.0, -0.33, 0.4, 0.42, 0, 360), [(0.4, -0.33), (0.22, 0.3), (-0.2, 0.75)]),
)
"""The strokes of each digit, in a square from -1 to 1."""


def _segments(digit: int) -> Floats:
    """The straight pieces of a digit's strokes: begin and end, (pieces, 2, 2)."""
    pieces = [pair for stroke in _STROKES[digit] for pair in pairwise(stroke)]
    return np.array(pieces, dtype=np.float64)


def digits(labels: NDArray[np.int64], random: np.random.Generator) -> Floats:
    """Pictures (count, 8, 8) from 0, paper, to 1, ink, of these digits."""
    count = labels.size
    turn = random.normal(0.0, 0.12, count)
    size = random.uniform(0.85, 1.1, (count, 2))
    shift = random.uniform(-0.16, 0.16, (count, 2))
    slant = random.normal(0.0, 0.12, count)
    thickness = random.uniform(0.09, 0.2, count)
    grid = (np.arange(SIDE) + 0.5) * (2.0 / SIDE) - 1.0
    pixels = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    pictures = np.empty((count, SIDE * SIDE))
    for digit in range(10):
        rows = np.flatnonzero(labels == digit)
        ends = _segments(digit)
        for some in np.array_split(rows, max(1, math.ceil(rows.size / _CHUNK))):
            # Moving the paper under the pen, not the pen: one set of strokes serves all.
            at = (pixels - shift[some, None]) / size[some, None]
            cosine, sine = np.cos(turn[some])[:, None], np.sin(turn[some])[:, None]
            x, y = at[..., 0] * cosine + at[..., 1] * sine, at[..., 1] * cosine - at[..., 0] * sine
            distance = _distance(np.stack([x + slant[some, None] * y, y], axis=-1), ends)
            pictures[some] = _ink(distance, thickness[some, None])
    return pictures.reshape(count, SIDE, SIDE)


def _distance(points: Floats, ends: Floats) -> Floats:
    """Distance (count, pixels) of points (count, pixels, 2) from the nearest piece."""
    nearest: Floats = np.full(points.shape[:-1], np.inf)
    for begin, end in ends:
        along = end - begin
        share = np.clip((points - begin) @ along / (along @ along), 0.0, 1.0)
        offset = points - begin - share[..., None] * along
        nearest = np.minimum(nearest, (offset**2).sum(axis=-1))
    return np.sqrt(nearest)


def _ink(distance: Floats, thickness: Floats) -> Floats:
    """Full ink within half the thickness of a stroke, none a pixel further."""
    return np.clip(1.0 - (distance - thickness / 2) / (2.0 / SIDE), 0.0, 1.0)


Floats: TypeAlias = NDArray[np.floating]
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
