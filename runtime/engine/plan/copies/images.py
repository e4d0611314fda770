"""Steps that copy images with gaps, by machine code where rows are regular."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.compiler.computing import copy
from gradwire.runtime.engine.plan.jobs import divided
from gradwire.runtime.engine.plan.native.machine import frame, vector
from gradwire.runtime.engine.plan.native.windows.pooling import TURNS, in_turns, planes

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.native import Kernel
    from gradwire.runtime.engine.plan.tasks import Step

Array = NDArray[Any]


def are_planes(x: Array) -> bool:
    """Whether all planes are equally far apart, whatever the image, and elements of rows lie side
    by side.
    """
    apart = len(x) == 1 or x.strides[0] == x.strides[1] * x.shape[1]
    return apart and x.strides[3] == x.itemsize


def copying(target: Array, source: Array) -> Step:
    """Copies images to images of any dtype."""
    are_floats = {target.dtype.name, source.dtype.name} <= {"float32", "float64"}
    found = copy(source, target.strides, target.dtype.name) if are_floats else None
    return partial(np.copyto, target, source, "same_kind") if found is None else found.into(target)


def interleaving(target: Array, phases: Array) -> Step:
    """Writes the columns of images, or of two images in turns: (one or two, *images)."""
    name, (rows, columns) = target.dtype.name, phases.shape[3:]
    numbers = frame(
        TURNS,
        **planes(g=phases, out=target),
        phase=phases.strides[0],
        rows=rows,
        columns=columns,
    )
    kernel = in_turns(name, vector(name, columns), len(phases))
    return on_planes(kernel, numbers, target, [phases, target])


def on_planes(kernel: Kernel, numbers: NDArray[np.int64], images: Array, kept: list[Array]) -> Step:
    """A step that calls a kernel for all planes of images; ``kept`` is what its frame points to."""
    return divided(kernel, numbers, images.shape[0] * images.shape[1], images.size, kept)
