"""Copies of small arrays, which machine code makes among other machine code."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.plan.jobs import Call, Job, Joinable
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.small.copying import COPY, copied_elements, copied_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.engine.plan.tasks import Step

Array = NDArray[Any]

LARGEST = 1 << 11
"""Elements up to which a copy takes less time than calling numpy."""

APART = 1 << 8
"""Elements up to which that is so where they are copied one by one."""

CALLS = 64
"""Matrices of which an array may consist."""


def small_copy(target: Array, source: Array) -> Step:
    """A step that copies an array to another, of its shape or to which it is repeated."""
    step = partial(np.copyto, target, source)
    if source.dtype != target.dtype or source.itemsize not in (4, 8) or source.ndim > target.ndim:
        return step
    if not 0 < target.size <= LARGEST:
        return step
    return Joinable(step, partial(copies, [(target, source)]))


def copies(pairs: Sequence[tuple[Array, Array]]) -> Job | None:
    """The job that copies to each target from its source, one after another; None if too many
    lie in too many pieces.
    """
    calls: list[Call] = []
    kept: list[object] = [pairs]
    for target, source in pairs:
        axes = merged(target.shape, target, np.broadcast_to(source, target.shape))
        if len(axes) > 2 and np.prod([axis[0] for axis in axes[:-2]]) > CALLS:
            return None
        frames = [_frame(place, axes) for place in places(axes[:-2], target, source)]
        rows = axes[-2][0]
        size, (_, *steps) = target.itemsize, axes[-1]
        is_along = steps == [size, size]
        if not is_along and target.size > APART:
            return None
        kernel = (
            copied_rows(size, machine.lanes() * 4 // size) if is_along else copied_elements(size)
        )
        calls += [Call(kernel.call, machine.address(frame), 0, 0, rows) for frame in frames]
        kept.append(frames)
    return Job([calls], sum(target.size for target, _ in pairs), kept=kept)


def _frame(place: Sequence[int], axes: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    (target, source), (_, *rows), (columns, *apart) = place, *axes[-2:]
    return machine.frame(
        COPY,
        source=source,
        target=target,
        source_row=rows[1],
        target_row=rows[0],
        columns=columns,
        source_column=apart[1],
        target_column=apart[0],
    )


def merged(shape: Sequence[int], *arrays: Array) -> list[list[int]]:
    """At least two axes along which arrays of this shape lie: of each the length, and the bytes
    from place to place in every array.
    """
    found: list[list[int]] = []
    for axis, length in enumerate(shape):
        steps = [array.strides[axis] for array in arrays]
        if length == 1:
            continue
        if found and found[-1][1:] == [step * length for step in steps]:
            found[-1] = [found[-1][0] * length, *steps]
        else:
            found.append([length, *steps])
    whole = [1, *(0 for _ in arrays)]
    if not found:
        return [whole, [1, *(array.itemsize for array in arrays)]]
    return [whole, *found] if len(found) == 1 else found


def places(axes: Sequence[Sequence[int]], *arrays: Array) -> list[list[int]]:
    """The addresses of each place along some axes, in every array."""
    found = [[machine.address(array) for array in arrays]]
    for length, *steps in axes:
        found = [
            [at + i * step for at, step in zip(place, steps, strict=True)]
            for place in found
            for i in range(length)
        ]
    return found
