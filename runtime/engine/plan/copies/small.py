"""Copies of small arrays, which machine code makes among other machine code."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.engine.compiler.computing import copy
from gradwire.runtime.engine.plan.jobs import Job, Joinable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.plan.tasks import Step


LARGEST = 1 << 11
"""Elements up to which a copy takes less time than calling numpy."""


def small_copy(target: Array, source: Array) -> Step:
    """A step that copies an array to another, of its shape or to which it is repeated."""
    step = partial(np.copyto, target, source)
    if source.dtype != target.dtype or source.itemsize not in (4, 8) or source.ndim > target.ndim:
        return step
    if not 0 < target.size <= LARGEST:
        return step
    return Joinable(step, partial(copies, [(target, source)]))


def placed(target: Array, source: Array) -> list[Step]:
    """The step that copies an array to where it should be, if it is not there."""
    there = [(x.__array_interface__["data"][0], x.strides) for x in (target, source)]
    return [] if there[0] == there[1] else [small_copy(target, source)]


def copies(pairs: Sequence[tuple[Array, Array]]) -> Job | None:
    """The job that copies to each target from its source, one after another, also to other dtypes
    of floats; None if elements of too many lie apart.
    """
    jobs: list[Job] = []
    for target, source in pairs:
        whole = np.broadcast_to(source, target.shape)
        found = copy(whole, target.strides, target.dtype.name)
        if found is None:
            return None
        jobs.append(found.into(target))
    calls = [call for job in jobs for call in job.calls]
    return Job([calls], sum(target.size for target, _ in pairs), kept=(pairs, jobs))
