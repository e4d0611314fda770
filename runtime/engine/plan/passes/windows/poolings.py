"""Compiles pooling of large images and its derivative to machine code: the ``fast`` extra.

Neither writes windows out: what is computed from windows that are only reduced is computed from the
images. Largest elements and their gradients are equal bit for bit to those of the kernels, sums
but for the order of addition. Left to the kernels are steps of more than two columns and very short
rows.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.convolution import FOLD, WINDOWS, Geometry
from gradwire.runtime.calculus.primitives.reduce import MAX, SUM
from gradwire.runtime.engine.compiler.computing import pooling
from gradwire.runtime.engine.plan.copies.images import are_planes, on_planes
from gradwire.runtime.engine.plan.graph import Graph
from gradwire.runtime.engine.plan.native.machine import frame, vector
from gradwire.runtime.engine.plan.native.windows.pooling import (
    SHARES,
    SPREAD,
    Window,
    planes,
    shares,
    spread,
)
from gradwire.runtime.engine.plan.passes.windows.overlaps import OverlapTask, padded
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.calculus.value import Primitive

Array = NDArray[Any]

LARGE = 1 << 15
"""Elements of the images from which compiling their pooling is worthwhile."""

SHORTEST = 4
"""Windows in a row below which numpy is as fast."""

MOST = 25
"""Elements of a window, all of which are in registers at once."""


def poolings(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace large poolings and their derivatives by machine code."""
    if not any(map(_is_of_windows, tasks)):
        return tasks
    graph = Graph(tasks, kept)
    replaced: dict[Task, Task | None] = {}
    pattern = _Pattern(graph)
    for task in graph.makers.values():
        replaced |= pattern.pooling(task) or pattern.gradient(task)
    left = (replaced.get(task, task) for task in tasks)
    return _needed([task for task in left if task is not None], kept) if replaced else tasks


def _is_of_windows(task: Task) -> bool:
    return isinstance(task, PlainTask) and task.value.primitive in (WINDOWS, FOLD)


def _needed(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """The tasks without those whose value nobody reads any more."""
    read, found = set(kept), []
    for task in reversed(tasks):
        if not isinstance(task, PlainTask) or task.value in read:
            read |= set(task.inputs)
            found.append(task)
    return found[::-1]


class _Pattern:
    """Finds what is computed from windows alone."""

    def __init__(self, graph: Graph) -> None:
        self.makers = graph.makers
        self._graph = graph

    def pooling(self, task: PlainTask) -> dict[Task, Task | None]:
        """What replaces a reduction of windows to one element each."""
        windows = self._reduced(task, MAX) or self._reduced(task, SUM)
        if windows is None or not _fits(windows.inputs[0], windows.value, windows.value):
            return {}
        return {task: PoolTask(task, windows)}

    def gradient(self, task: PlainTask) -> dict[Task, Task | None]:
        """What replaces adding up windows that lie side by side."""
        value = task.value
        if value.primitive is not FOLD or not _fits(value, task.inputs[0], value):
            return {}
        geometry: Geometry = value.attributes["geometry"]
        beside = geometry.window == geometry.stride and geometry.apart and not _pads(geometry)
        shared = self._shared(task.inputs[0], geometry)
        if shared is None:
            if beside:
                return {task: SpreadTask(task)}
            g = self._repeated(task.inputs[0])
            return {} if g is None else {task: OverlapTask(value, None, g, geometry)}
        make = SharesTask if beside else OverlapTask
        last = self._graph.clipping(value)
        if last is None or last[1] is not shared[0]:
            return {task: make(value, *shared, geometry, clipped=False)}
        return {task: None, last[0]: make(last[0].value, *shared, geometry, clipped=True)}

    def _repeated(self, value: Value) -> Value | None:
        """The number of each window that is repeated for all of its elements."""
        for x in self._graph.inputs(value, "broadcast_to"):
            if x.shape == (1, 1, *value.shape[2:]):
                return x
        return None

    def _reduced(self, task: PlainTask | None, primitive: Primitive) -> PlainTask | None:
        """The windows that a task reduces in this way."""
        if task is None or task.value.primitive is not primitive:
            return None
        windows = self.makers.get(task.inputs[0])
        if windows is None or windows.value.primitive is not WINDOWS:
            return None
        return windows if task.value.attributes["axes"] == (0, 1) else None

    def _shared(self, value: Value, geometry: Geometry) -> tuple[Value, Value] | None:
        """``images, g`` if a value is ``g · ties / Σ ties`` of the largest elements of windows."""
        if not (quotient := self._graph.inputs(value, "divide")):
            return None
        product, count = quotient
        for g, ties in permutations(self._graph.inputs(product, "multiply")):
            images = self._tied(ties, geometry)
            total = self.makers.get(count)
            if images is None or total is None or g.shape != count.shape:
                continue
            if total.value.primitive is SUM and total.inputs[0] is ties:
                return images, g
        return None

    def _tied(self, ties: Value, geometry: Geometry) -> Value | None:
        """The images, if ``ties`` are 1 for the largest elements of each window and else 0."""
        for equal in self._graph.inputs(ties, "cast"):
            for windows, most in permutations(self._graph.inputs(equal, "equal")):
                found = self._reduced(self.makers.get(most), MAX)
                same = found is not None and found.value is windows and ties.dtype == most.dtype
                if found is not None and same and found.value.attributes["geometry"] == geometry:
                    return found.inputs[0]
        return None


def _fits(images: Value, windows: Value, moved: Value) -> bool:
    """Whether images are large enough, and ``moved`` is by a geometry that compiles."""
    geometry: Geometry = moved.attributes["geometry"]
    return (
        images.dtype in ("float32", "float64")
        and images.size >= LARGE
        and windows.shape[-1] >= SHORTEST
        and geometry.stride[1] in (1, 2)
        and geometry.window[0] * geometry.window[1] <= MOST
    )


def _pads(geometry: Geometry) -> bool:
    return geometry.padding != ((0, 0), (0, 0))


class PoolTask(Task):
    """The largest element of each window, or the sum, from the images."""

    def __init__(self, task: PlainTask, windows: PlainTask) -> None:
        self.values, self.inputs = task.values, windows.inputs
        self._geometry: Geometry = windows.value.attributes["geometry"]
        self._fill: float = windows.value.attributes["fill"]

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step, after a copy of images that need padding."""
        (value,) = self.values
        out, images = arrays[value][0, 0], arrays[self.inputs[0]]
        steps, images = padded(value, images, self._geometry, self._fill)
        return [*steps, pooling(value.primitive.name, self._geometry, images, out)]


class SharesTask(Task):
    """The gradient of images whose windows' largest elements have gradients ``g``."""

    def __init__(
        self, value: Value, images: Value, g: Value, geometry: Geometry, clipped: bool
    ) -> None:
        self.values, self.inputs = (value,), (images, g)
        self._geometry, self._clipped = geometry, clipped

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step, after copies of what does not lie as planes, and zeros around the windows."""
        steps, images = _planes(arrays[self.inputs[0]])
        more, g = _planes(arrays[self.inputs[1]][0, 0])
        out = arrays[self.values[0]]
        numbers = frame(
            SHARES,
            **planes(image=images, out=out, g=g),
            rows=g.shape[2],
            columns=g.shape[3],
        )
        kernel = shares(_window(self._geometry, g), self._clipped)
        zeros = _zeros_around(out, g, self._geometry)
        return [*steps, *more, *zeros, on_planes(kernel, numbers, out, [images, g, out])]


class SpreadTask(Task):
    """Images of windows that lie side by side."""

    def __init__(self, task: PlainTask) -> None:
        self.values, self.inputs = task.values, task.inputs
        self._geometry: Geometry = task.value.attributes["geometry"]

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step, after a copy of windows that don't lie as planes, and zeros around them."""
        out, windows = arrays[self.values[0]], arrays[self.inputs[0]]
        steps: list[Step] = []
        if not are_planes(windows[0, 0]):
            steps, windows = _copied(windows)
        numbers = frame(
            SPREAD,
            **planes(g=windows, out=out),
            tap_row=windows.strides[0],
            tap_column=windows.strides[1],
            rows=windows.shape[4],
            columns=windows.shape[5],
            image=out,
        )
        kernel = spread(_window(self._geometry, windows[0, 0]), False)
        zeros = _zeros_around(out, windows[0, 0], self._geometry)
        return [*steps, *zeros, on_planes(kernel, numbers, out, [windows, out])]


def _window(geometry: Geometry, places: Array) -> Window:
    lanes = vector(places.dtype.name, places.shape[3])
    return Window(places.dtype.name, lanes, geometry.window, geometry.stride, geometry.dilation)


def _planes(x: Array) -> tuple[list[Step], Array]:
    """An array that lies as planes, and the step that copies x to it where x does not."""
    return ([], x) if are_planes(x) else _copied(x)


def _copied(x: Array) -> tuple[list[Step], Array]:
    copy = np.empty(x.shape, x.dtype)
    return [partial(np.copyto, copy, x)], copy


def _zeros_around(out: Array, places: Array, geometry: Geometry) -> list[Step]:
    """Steps that write 0 to the elements in no window."""
    rows, columns = (n * step for n, step in zip(places.shape[2:], geometry.window, strict=True))
    rests = out[:, :, rows:], out[:, :, :rows, columns:]
    return [partial(rest.fill, 0) for rest in rests if rest.size]
