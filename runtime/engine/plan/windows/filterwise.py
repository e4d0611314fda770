"""Steps that correlate images of short rows with weights: vectors go across filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.compiler.computing import gathered
from gradwire.runtime.engine.plan.allocation import allocate
from gradwire.runtime.engine.plan.copies.images import copying
from gradwire.runtime.engine.plan.native import machine

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.compiler.front import Images
    from gradwire.runtime.engine.plan.tasks import Step

Array = NDArray[Any]


def suits(dtype: Any, filters: int, columns: int) -> bool:
    """Whether vectors across so many filters are filled better than along rows of columns."""
    lanes = machine.lanes() * 4 // max(4, int(np.dtype(dtype).itemsize))  # float16 in float32
    return _filled(filters, lanes) > _filled(columns, lanes)


def _filled(count: int, lanes: int) -> float:
    return count / (-(-count // lanes) * lanes)


def correlate(
    value: Value, images: Images, places: Array, weights: Array, out: Array
) -> list[Step]:
    """Steps that compute what ``correlation`` does, from where places are in all images.

    Raises RunError with the block of ``value`` where there is not enough memory.
    """
    groups, filters, _ = weights.shape
    found = allocate(value, (places.size, groups, filters), out.dtype)
    job = gathered(images, places, images.taps, weights, found)
    return [job, copying(out, _across(found, out))]


def _across(x: Array, images: Array) -> Array:
    """What lies as places and filters, as images."""
    n, filters, *places = images.shape
    return x.reshape(n, *places, filters).transpose(0, 3, 1, 2)


def multiply(
    value: Value, images: Images, places: Array, gradients: Array, out: Array
) -> list[Step]:
    """Steps that compute the gradient of weights, ``value``, from those of results."""
    groups: int = value.attributes["groups"]
    filters, terms = len(out) // groups, images.taps.size
    across = allocate(value, (places.size, groups, filters), gradients.dtype)
    found = np.empty((terms, groups, filters), out.dtype)
    job = gathered(images, images.taps, places, across.transpose(1, 2, 0), found)
    target = out.reshape(groups, filters, terms)
    target, source = target[None], found.transpose(1, 2, 0)[None]
    return [copying(_across(across, gradients), gradients), job, copying(target, source)]
