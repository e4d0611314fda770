"""The gradient of images whose pooled windows overlap, or reach into padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.plan.allocation import allocate
from gradwire.runtime.engine.plan.copies.images import are_planes, copying, on_planes
from gradwire.runtime.engine.plan.native.machine import frame, vector
from gradwire.runtime.engine.plan.native.windows.overlaps import (
    AROUND,
    WINNERS,
    Around,
    around,
    winners,
)
from gradwire.runtime.engine.plan.native.windows.pooling import Window, planes
from gradwire.runtime.engine.plan.tasks import Arrays, Step, Task
from gradwire.runtime.engine.plan.windows.rows import Axis, Phase, transposed

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.calculus.primitives.convolution import Geometry

Array = NDArray[Any]


def padded(
    value: Value, images: Array, geometry: Geometry, fill: float, spare: int = 0
) -> tuple[list[Step], Array]:
    """Images as planes with padding, and so many ``spare`` columns behind; and the steps that fill
    them.

    Raises RunError with the block of ``value`` where there is not enough memory.
    """
    (above, below), (left, right) = geometry.padding
    if not any((above, below, left, right, spare)) and are_planes(images):
        return [], images
    n, channels, rows, columns = images.shape
    shape = n, channels, above + rows + below, left + columns + right + spare
    found = allocate(value, shape, images.dtype)
    found.fill(fill)
    inside = found[:, :, above : above + rows, left : left + columns]
    return [copying(inside, images)], found


class OverlapTask(Task):
    """The image that adds up what windows give to its elements.

    With ``images`` that is the gradient of the largest element of each, shared by all that are so
    large; else each element gets ``g``.
    """

    def __init__(
        self,
        value: Value,
        images: Value | None,
        g: Value,
        geometry: Geometry,
        clipped: bool = False,
    ) -> None:
        self.values = (value,)
        self.inputs = (g,) if images is None else (g, images)
        self._geometry, self._clipped = geometry, clipped

    def bind(self, arrays: Arrays) -> list[Step]:
        """Find what wins in each window, and add it up; some steps copy."""
        (value,), geometry = self.values, self._geometry
        g, *given = (arrays[x] for x in self.inputs)
        g, out = g[0, 0], arrays[value]
        width = out.shape[3]
        spare = width % geometry.stride[1]
        (down, rows), (along, columns) = (
            transposed(axis, (out.shape[2], width), geometry) for axis in (0, 1)
        )
        won = _planes_for(value, down, along, 0)
        (inside, seen), (within, beside) = down.copies[0], along.copies[0]
        g, gains = g[:, :, seen, beside], won[:, :, inside, within]
        target = out if not spare else allocate(value, (*out.shape[:3], width + spare), out.dtype)
        image, most = target, won
        if given:
            most = _planes_for(value, down, along, np.nan)
            steps, framed = padded(value, given[0], geometry, -np.inf, spare)
            steps += _winning(framed, most[:, :, inside, within], gains, g, geometry)
            image = framed[..., geometry.padding[0][0] :, geometry.padding[1][0] :]
        else:
            steps = [copying(gains, g)]
        how = _around(out, rows, columns)
        numbers = frame(
            AROUND,
            **planes(image=image, out=target, most=most),
            won=won,
            rows=out.shape[2],
            columns=columns[0].positions,
        )
        kernel = around(how, bool(given), self._clipped)
        steps.append(on_planes(kernel, numbers, target, [image, target, most, won]))
        return [*steps, copying(out, target[..., :width])] if spare else steps


def _planes_for(value: Value, rows: Axis, columns: Axis, fill: float) -> Array:
    """A number for each window, with those that would lie beyond the image."""
    shape = *value.shape[:2], rows.length, columns.length
    found = allocate(value, shape, np.dtype(value.dtype))
    found.fill(fill)
    return found


def _winning(images: Array, most: Array, won: Array, g: Array, geometry: Geometry) -> list[Step]:
    """Steps that find the largest elements of windows and what each of these gets."""
    steps: list[Step] = []
    if not are_planes(g):
        g, source = np.empty(g.shape, g.dtype), g
        steps.append(copying(g, source))
    dtype = g.dtype.name
    how = Window(dtype, vector(dtype, g.shape[3]), geometry.window, geometry.stride,
                 geometry.dilation)  # fmt: skip
    numbers = frame(
        WINNERS,
        **planes(image=images, most=most, g=g),
        won=won,
        rows=g.shape[2],
        columns=g.shape[3],
    )
    return [*steps, on_planes(winners(how), numbers, g, [images, most, won, g])]


def _around(out: Array, rows: list[Phase], columns: list[Phase]) -> Around:
    dtype, groups = out.dtype.name, columns[0].positions
    down, across = (
        tuple(tuple(place for _, place in phase.taps) for phase in phases)
        for phases in (rows, columns)
    )
    return Around(dtype, vector(dtype, groups), down, across)
