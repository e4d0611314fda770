"""Comparing what a run gives with what is expected, number by number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.values import Tensor

FLOAT64 = 1e-9
"""Relative error that float64 results may have, relative to max(1, |expected|)."""
FLOAT32 = 1e-6
"""The same for float32."""

SHOWN = 6
"""Arrays of more elements are shown by their worst one."""


@dataclass(frozen=True)
class Difference:
    """One thing that is not as expected: ``what`` it is, and both sides in words."""

    what: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, got {self.got}"


@dataclass
class Comparison:
    """The comparisons made for one case, and the differences they found.

    ``tolerance`` is relative to max(1, |expected|), element by element. Non-finite numbers must
    be the same ones. ``made`` counts the comparisons: a case that makes none tests nothing.
    """

    tolerance: float = FLOAT64
    made: int = 0
    differences: list[Difference] = field(default_factory=list)

    def same(self, what: str, expected: object, got: object) -> None:
        """Both must be equal."""
        self.made += 1
        if expected != got:
            self.differences.append(Difference(what, str(expected), str(got)))

    def close(self, what: str, expected: Any, got: NDArray[Any] | None) -> None:
        """The array must have the shape and the numbers expected; None stands for no gradient.

        ``expected`` is JSON: nested lists, numbers, booleans, the strings nan, inf and -inf.
        """
        self.made += 1
        if expected is None or got is None:
            if not (expected is None and got is None):
                self.differences.append(Difference(what, _shown(expected), _shown(got)))
            return
        wanted = Tensor(expected).array
        difference = _difference(wanted, np.asarray(got), self.tolerance)
        if difference is not None:
            self.differences.append(Difference(what, *difference))

    def missing(self, what: str, expected: object) -> None:
        """What is expected is not there at all."""
        self.made += 1
        self.differences.append(Difference(what, str(expected), "nothing"))


def _difference(
    expected: NDArray[Any], got: NDArray[Any], tolerance: float
) -> tuple[str, str] | None:
    """Both sides in words where they differ, else None."""
    if expected.size == got.size == 0:
        return None  # nested lists can't tell the shapes of empty arrays
    if expected.shape != got.shape:
        return f"{_shown(expected)}, shape {expected.shape}", f"{_shown(got)}, shape {got.shape}"
    if (expected.dtype.kind == "b") != (got.dtype.kind == "b"):
        return f"{_shown(expected)}, {expected.dtype}", f"{_shown(got)}, {got.dtype}"
    error = _errors(expected.astype(np.float64), got.astype(np.float64))
    if np.all(error <= tolerance):
        return None
    if expected.size <= SHOWN:
        return _shown(expected), _shown(got)
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    place = f" at {[int(i) for i in worst]}"
    return f"{expected[worst]}{place}", f"{got[worst]}"


def _errors(expected: NDArray[np.float64], got: NDArray[np.float64]) -> NDArray[np.float64]:
    """|got − expected| / max(1, |expected|); 0 for equal non-finite numbers, else inf."""
    with np.errstate(all="ignore"):
        error = np.abs(got - expected) / np.maximum(1.0, np.abs(expected))
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    unlike = ~(np.isfinite(got) & np.isfinite(expected))
    return np.where(same, 0.0, np.where(unlike, np.inf, error))


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    array = np.asarray(value)
    if array.size <= SHOWN:
        return str(array.tolist())
    return f"an array of shape {array.shape}"
