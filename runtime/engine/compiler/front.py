"""From primitives to terms: of each, where its inputs are read for an element of its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from gradwire.runtime.engine.compiler.terms import COPY, RUNNING, Axis, Fold, Read, Steps, Store

Array = NDArray[Any]

FOLDS = {"sum": "sum", "max": "max", "min": "min", "cumulative_sum": RUNNING}
"""What primitives fold."""


def store_of(
    name: str, attributes: Mapping[str, Any], source: Array, strides: Sequence[int]
) -> Store:
    """What a primitive of one input computes: array 0 is read; array 1, which has these strides, is
    written.
    """
    axes = [Axis(f"d{i}", n) for i, n in enumerate(source.shape)]
    runs = FOLDS[name] == RUNNING
    places = (attributes["axis"],) if runs else attributes["axes"]
    folded = tuple(axes[i] for i in places if axes[i].extent > 1)
    read, written = Read(0, _steps(axes, source.strides)), _steps(axes, strides)
    if not folded:
        return Store(1, written, Fold(COPY, read, ()))
    kept = tuple(step for step in written if runs or step[0] not in folded)
    return Store(1, kept, Fold(FOLDS[name], read, folded))


def copy_of(source: Array, strides: Sequence[int]) -> Store:
    """A copy of array 0 to array 1, which has these strides."""
    axes = [Axis(f"d{i}", n) for i, n in enumerate(source.shape)]
    return Store(1, _steps(axes, strides), Fold(COPY, Read(0, _steps(axes, source.strides)), ()))


def _steps(axes: Sequence[Axis], strides: Sequence[int]) -> Steps:
    pairs = zip(axes, strides, strict=True)
    return tuple((axis, step) for axis, step in pairs if axis.extent > 1 and step)
