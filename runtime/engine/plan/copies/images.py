"""Steps that copy images with gaps, by machine code where rows are regular."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.engine.compiler.computing import copy
from gradwire.runtime.engine.compiler.regions import MemoryPlace, compiled_region
from gradwire.runtime.engine.plan.jobs import Job, KernelCall, cuts
from gradwire.runtime.engine.plan.native.machine import address
from gradwire.runtime.engine.plan.passes.elementwise.rows import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.plan.tasks import Step


def are_planes(x: Array) -> bool:
    """Whether all planes are equally far apart, whatever the image."""
    return len(x) == 1 or x.strides[0] == x.strides[1] * x.shape[1]


def copying(target: Array, source: Array) -> Step:
    """Copies images to images of any dtype."""
    dtype = target.dtype.name
    are_floats = {dtype, source.dtype.name} <= {"float32", "float64"}
    if are_floats and source.dtype == target.dtype and _is_every_second(target, source):
        planes = Planes(dtype, target.shape)
        planes.write(planes.put("cast", planes.read(source)), target)
        return planes.step()
    found = copy(source, target.strides, dtype) if are_floats else None
    return partial(np.copyto, target, source, "same_kind") if found is None else found.into(target)


def _is_every_second(target: Array, source: Array) -> bool:
    """Whether columns of images, of which every second is read, are written side by side."""
    steps = target.strides[-1], source.strides[-1]
    return target.ndim == 4 and steps == (target.itemsize, 2 * target.itemsize)


def interleaving(target: Array, phases: Array) -> Step:
    """Writes the columns of images, or of two images in turns: (one or two, *images)."""
    planes = Planes(target.dtype.name, phases.shape[1:])
    parts = [planes.read(phase) for phase in phases]
    for i, part in enumerate(parts):
        planes.write(planes.put("without_sign", part), target, len(parts), i)
    return planes.step()


class Planes:
    """Collects what is computed for each place of images of this shape: of all their planes, which
    are the rows and columns of one channel. What is read comes before what is put.
    """

    def __init__(self, dtype: str, shape: Sequence[int]) -> None:
        self._dtype, self._shape = dtype, shape
        self._program = Program()
        self._arrays: list[Array] = []
        self._results: list[tuple[int, MemoryPlace]] = []

    def _place(self, array: Array, step: int, offset: int) -> MemoryPlace:
        row, column = (x // array.itemsize for x in array.strides[2:])
        known = (i for i, x in enumerate(self._arrays) if x is array)
        number = next(known, len(self._arrays))
        self._arrays += [array] if number == len(self._arrays) else []
        return MemoryPlace(number, step * column, offset * column, row)

    def read(self, array: Array, step: int = 1, offset: int = 0) -> int:
        """The number of what is in images whose columns are so many apart, from one on."""
        return self._program.read(self._dtype, self._place(array, step, offset))

    def constant(self, x: float) -> int:
        """The number of a constant."""
        array = np.broadcast_to(np.array(x, self._dtype), (1, 1, 1, 1))
        return self.read(np.broadcast_to(array, self._shape), 0)

    def put(self, name: str, *inputs: int, dtype: str | None = None) -> int:
        """The number of what an operation makes."""
        return self._program.put(name, dtype or self._dtype, *inputs, is_wide=True)

    def write(self, number: int, array: Array, step: int = 1, offset: int = 0) -> None:
        """Write it to images, as they are read."""
        self._results.append((number, self._place(array, step, offset)))

    def step(self) -> Step:
        """The step that computes it; of each image by itself, if planes are not equally far
        apart.
        """
        n, channels, rows, columns = self._shape
        recipe = self._program.recipe(columns, tuple(self._results), (), ())
        kernel = compiled_region(recipe._replace(lines=rows))
        is_one = all(map(are_planes, self._arrays))
        frames = [
            np.array([(address(x[i]), x.strides[1]) for x in self._arrays])
            for i in range(1 if is_one else n)
        ]
        planes, work = n * channels // len(frames), n * channels * rows * columns
        parts = [
            [KernelCall(kernel, address(frame), 0, *cut)]
            for frame in frames
            for cut in cuts(planes, work // len(frames))
        ]
        return Job(parts, work, kept=(self._arrays, frames))
