"""Steps that correlate images with weights by machine code: vectors go along rows of results, or
else across filters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.engine.compiler.computing import correlation, gathered, taps
from gradwire.runtime.engine.plan.allocation import allocate
from gradwire.runtime.engine.plan.copies.images import copying
from gradwire.runtime.engine.plan.native import machine

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.compiler.computing import Images
    from gradwire.runtime.engine.plan.tasks import Step
    from gradwire.runtime.engine.plan.windows.rows import Phase, Rows


def wide(dtype: Any) -> Any:
    """The dtype to compute in: float32 for float16."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def goes_across(dtype: Any, filters: int, columns: int) -> bool:
    """Whether vectors across so many filters are filled better than along rows of columns."""
    lanes = machine.lanes() * 4 // max(4, int(np.dtype(dtype).itemsize))  # float16 in float32
    return _filled(filters, lanes) > _filled(columns, lanes)


def _filled(count: int, lanes: int) -> float:
    return count / (-(-count // lanes) * lanes)


class Correlation:
    """What one phase of images under windows, laid out as ``rows``, is multiplied by and adds up
    to. ``value`` is the one that is computed; where there is not enough memory, RunError names its
    block.
    """

    def __init__(self, value: Value, images: Array, rows: Rows, down: Phase, along: Phase) -> None:
        self._value, self._images, self._rows = value, images, rows
        self._phases = down, along

    def by_weights(self, weights: Array, out: Array) -> list[Step]:
        """Steps that compute results: images times weights (groups, filters, channels, rows,
        columns); ``out`` is contiguous and of the dtype of the images.
        """
        groups, filters, channels = weights.shape[:3]
        steps, weights = self._plain(weights)
        windows = self._rows.windows(self._images, channels, *self._phases)
        packed = weights.reshape(groups, filters, -1)
        if not self._goes_across(groups, filters, windows):
            return [*steps, correlation(windows, packed, out)]
        places = self._rows.places(self._images, *self._phases)
        found = allocate(self._value, (places.size, groups, filters), out.dtype)
        job = gathered(windows, places, windows.taps, packed, found)
        return [*steps, job, copying(out, _across(found, out))]

    def by_gradients(self, gradients: Array, out: Array, groups: int) -> list[Step]:
        """Steps that compute the gradient of weights from those of results."""
        steps, gradients = self._plain(gradients)
        found, dtype = out, gradients.dtype
        if out.dtype != dtype or not out.flags.c_contiguous:
            found = np.empty(out.shape, dtype)
        windows = self._rows.windows(self._images, out.shape[1], *self._phases)
        filters, terms = len(out) // groups, windows.taps.size
        if self._goes_across(groups, filters, windows):
            places = self._rows.places(self._images, *self._phases)
            across = allocate(self._value, (places.size, groups, filters), dtype)
            sums = np.empty((terms, groups, filters), dtype)
            steps += [
                copying(_across(across, gradients), gradients),
                gathered(windows, windows.taps, places, across.transpose(1, 2, 0), sums),
                copying(found.reshape(groups, filters, terms), sums.transpose(1, 2, 0)),
            ]
        else:
            steps.append(taps(windows, gradients, found, groups))
        return steps if found is out else [*steps, copying(out, found)]

    def _goes_across(self, groups: int, filters: int, windows: Images) -> bool:
        """Whether vectors go across filters; those of groups not where all rows are one."""
        columns = windows.row if groups > 1 else self._phases[1].positions
        return goes_across(self._images.dtype, filters, columns)

    def _plain(self, x: Array) -> tuple[list[Step], Array]:
        """An array, contiguous and of the dtype of the images, and the steps that copy it."""
        if x.dtype == self._images.dtype and x.flags.c_contiguous:
            return [], x
        found = np.empty(x.shape, self._images.dtype)
        return [copying(found, x)], found


def _across(x: Array, images: Array) -> Array:
    """What lies as places and filters, as images."""
    n, filters, *places = images.shape
    return x.reshape(n, *places, filters).transpose(0, 3, 1, 2)
