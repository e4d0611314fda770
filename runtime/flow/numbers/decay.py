"""Gradients that vanish step by step along a sequence, measured along it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.flow.structure.neighbours import SHAPES, neighbours_of
from gradwire.runtime.flow.words import value_sentences
from gradwire.runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.flow.numbers.contributions import Contributions

ARRANGING = SHAPES | {"Elements", "Flip", "Pad", "Stacked"}
"""Types of blocks that only arrange numbers, those of single elements as well."""
LEAST = 8
"""Steps of which a decay is told, at least."""
SHARE = 1e-3
"""What is left at the far end of a sequence, at most."""
STEADY = 0.9
"""How well the logarithms of the sizes must follow a straight line, as a correlation."""


class Decay(NamedTuple):
    """What is said of a gradient that decays along a sequence, and what would help."""

    sentence: str
    cure: str


def decay(contributions: Contributions, culprit: InstancePath) -> Decay | None:
    """The decay along a sequence behind a block that only arranges numbers and seems to shrink
    gradients; None where there is none.
    """
    near = neighbours_of(contributions.program)
    if near.kind(culprit) not in ARRANGING:
        return None
    arriving = contributions.arriving(culprit.port("out"))
    for axis in range(0 if arriving is None else arriving.ndim):
        assert arriving is not None
        sizes = _sizes(arriving, axis)
        if (ends := _ends(sizes)) is not None:
            weak, strong = ends
            share = number(float(sizes[weak] / sizes[strong]))
            gated = "Sigmoid" in map(near.kind, near.after(culprit))
            said = value_sentences.DECAYS.format(weak + 1, share, strong + 1, culprit)
            cure = value_sentences.GATED_DECAY if gated else value_sentences.PLAIN_DECAY
            return Decay(said, cure)
    return None


def _sizes(array: NDArray[np.floating], axis: int) -> NDArray[np.float64]:
    """The root mean square at each place along an axis."""
    rows = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1).astype(np.float64)
    peaks = np.max(np.abs(rows), axis=1, initial=0.0, keepdims=True)
    safe = np.where(peaks > 0, peaks, 1.0)
    sizes: NDArray[np.float64] = np.sqrt(np.mean((rows / safe) ** 2, axis=1)) * peaks[:, 0]
    return sizes


def _ends(sizes: NDArray[np.float64]) -> tuple[int, int] | None:
    """The ends of a sequence, the smaller first, if sizes shrink by steady factors to a small
    share of the other.
    """
    places = np.flatnonzero((sizes > 0) & np.isfinite(sizes))
    if len(places) < LEAST:
        return None
    weak, strong = sorted((int(places[0]), int(places[-1])), key=lambda place: float(sizes[place]))
    if sizes[weak] > SHARE * sizes[strong]:
        return None
    steady = abs(np.corrcoef(places, np.log(sizes[places]))[0, 1]) > STEADY
    return (weak, strong) if steady else None
