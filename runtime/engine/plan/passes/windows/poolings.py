"""Compiles pooling of large images and its derivative to machine code: the ``fast`` extra.

Neither writes windows out: what is computed from windows that are only reduced is computed from the
images. Largest elements and their gradients are equal bit for bit to those of the kernels, sums
but for the order of addition. Left to the kernels are steps of more than two columns and very short
rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial, reduce
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.primitives.convolution import FOLD, WINDOWS, Geometry
from gradwire.runtime.calculus.primitives.reduce import MAX, SUM
from gradwire.runtime.engine.plan.memory import allocate
from gradwire.runtime.engine.plan.passes.windows.native_convolutions import (
    Phase,
    Planes,
    copying,
    transposed,
)
from gradwire.runtime.engine.plan.simplify import is_zero
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task, still_read

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.calculus.value import Primitive


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
    replaced: dict[Task, Task | None] = {}
    pattern = _Pattern(tasks, kept)
    for task in pattern.makers.values():
        replaced |= pattern.pooling(task) or pattern.gradient(task)
    left = (replaced.get(task, task) for task in tasks)
    return still_read([task for task in left if task is not None], kept) if replaced else tasks


def _is_of_windows(task: Task) -> bool:
    return isinstance(task, PlainTask) and task.value.primitive in (WINDOWS, FOLD)


class _Pattern:
    """Finds what is computed from windows alone, by who makes and who reads which value."""

    def __init__(self, tasks: Sequence[Task], kept: Collection[Value]) -> None:
        self.makers = {task.value: task for task in tasks if isinstance(task, PlainTask)}
        self._kept = kept
        self._readers: dict[Value, list[Task]] = defaultdict(list)
        for task in tasks:
            for value in task.inputs:
                self._readers[value].append(task)

    def _inputs(self, value: Value, name: str) -> Sequence[Value]:
        """What a value is computed from, if by a primitive of this name."""
        task = self.makers.get(value)
        return task.inputs if task is not None and task.value.primitive.name == name else ()

    def _clipping(self, value: Value) -> tuple[PlainTask, Value] | None:
        """The task that alone reads a gradient, if it is 0 there where some images are not above 0;
        and them. That is the derivative of a ReLU whose results the images are.
        """
        found = [] if value in self._kept else self._readers[value]
        (reader, *others) = dict.fromkeys(found) or (None,)
        if others or not isinstance(reader, PlainTask):
            return None
        chosen = self._inputs(reader.value, "where")
        above = self._inputs(chosen[0], "greater") if chosen else ()
        clips = above and is_zero(above[1]) and is_zero(chosen[2])
        fits = clips and above[0].shape == value.shape and above[0].dtype == value.dtype
        return (reader, above[0]) if fits else None

    def pooling(self, task: PlainTask) -> dict[Task, Task | None]:
        """What replaces a reduction of windows to one element each."""
        windows = self._reduced(task, MAX) or self._reduced(task, SUM)
        if windows is None or not _fits(windows.inputs[0], windows.value, windows.value):
            return {}
        return {task: PoolTask(task, windows)}

    def gradient(self, task: PlainTask) -> dict[Task, Task | None]:
        """What replaces adding up windows."""
        value = task.value
        if value.primitive is not FOLD or not _fits(value, task.inputs[0], value):
            return {}
        geometry: Geometry = value.attributes["geometry"]
        shared = self._shared(task.inputs[0], geometry)
        if shared is None:
            g = self._repeated(task.inputs[0])
            return {} if g is None else {task: GradientTask(value, None, g, geometry)}
        last = self._clipping(value)
        if last is None or last[1] is not shared[0]:
            return {task: GradientTask(value, *shared, geometry)}
        return {task: None, last[0]: GradientTask(last[0].value, *shared, geometry, True)}

    def _repeated(self, value: Value) -> Value | None:
        """The number of each window that is repeated for all of its elements."""
        for x in self._inputs(value, "broadcast_to"):
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
        if not (quotient := self._inputs(value, "divide")):
            return None
        product, count = quotient
        for g, ties in permutations(self._inputs(product, "multiply")):
            images = self._tied(ties, geometry)
            total = self.makers.get(count)
            if images is None or total is None or g.shape != count.shape:
                continue
            if total.value.primitive is SUM and total.inputs[0] is ties:
                return images, g
        return None

    def _tied(self, ties: Value, geometry: Geometry) -> Value | None:
        """The images, if ``ties`` are 1 for the largest elements of each window and else 0."""
        for equal in self._inputs(ties, "cast"):
            for windows, most in permutations(self._inputs(equal, "equal")):
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
        steps, images = _padded(value, images, self._geometry, self._fill)
        planes = Planes(value.dtype, out.shape)
        how = "maximum" if value.primitive is MAX else "add"
        elements = _elements(planes, images, self._geometry)
        planes.write(_folded(planes, how, elements), out)
        return [*steps, planes.step()]


class GradientTask(Task):
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
        is_clipped: bool = False,
    ) -> None:
        self.values = (value,)
        self.inputs = (g,) if images is None else (g, images)
        self._geometry, self._is_clipped = geometry, is_clipped

    def bind(self, arrays: Arrays) -> list[Step]:
        """Some steps; those of windows beside each other need no other memory."""
        g, *given = (arrays[x] for x in self.inputs)
        geometry, out = self._geometry, arrays[self.values[0]]
        are_beside = geometry.window == geometry.stride and geometry.apart and not _pads(geometry)
        if given and are_beside:
            return self._beside(given[0], g[0, 0], out)
        return self._around(given[0] if given else None, g[0, 0], out)

    def _beside(self, images: Array, g: Array, out: Array) -> list[Step]:
        """One step, and zeros around the windows."""
        geometry, planes = self._geometry, Planes(out.dtype.name, g.shape)
        elements = _elements(planes, images, geometry)
        given, zero = planes.read(g), planes.constant(0)
        most, ties, share = _shared(planes, elements, given)
        # 0 · g, or NaN where that is largest.
        nothing = planes.put("subtract", given, given)
        is_number = planes.put("equal", most, most, dtype="bool")
        lost = planes.put("where", is_number, nothing, most)
        won = planes.put("without_sign", share)
        rows, columns = geometry.stride
        targets = [out[:, :, i::rows] for i in range(rows)]
        for number, (x, tie) in enumerate(zip(elements, ties, strict=True)):
            part = planes.put("where", tie, won, lost)
            part = _clipped(planes, part, x, zero) if self._is_clipped else part
            planes.write(part, targets[number // columns], columns, number % columns)
        high, wide = (n * step for n, step in zip(g.shape[2:], geometry.stride, strict=True))
        rests = out[:, :, high:], out[:, :, :high, wide:]
        return [planes.step(), *(partial(rest.fill, 0) for rest in rests if rest.size)]

    def _around(self, given: Array | None, g: Array, out: Array) -> list[Step]:
        """Find what wins in each window, and add it up; some steps copy."""
        (value,), geometry = self.values, self._geometry
        spare = out.shape[3] % geometry.stride[1]
        (down, rows), (along, columns) = (
            transposed(axis, out.shape[2:], geometry) for axis in (0, 1)
        )
        shape = *out.shape[:2], down.length, along.length
        (inside, seen), (within, beside) = down.copies[0], along.copies[0]
        target = out
        if spare:
            target = allocate(value, (*out.shape[:3], out.shape[3] + spare), out.dtype)
        image, most, won = target, g, g
        steps: list[Step] = []
        if given is not None or g.shape != shape:
            won, g = _filled(value, shape, 0), g[:, :, seen, beside]
            gains = won[:, :, inside, within]
        if given is not None:
            most = _filled(value, shape, np.nan)
            steps, framed = _padded(value, given, geometry, -np.inf, spare)
            planes = Planes(value.dtype, g.shape)
            elements = _elements(planes, framed, geometry)
            largest, _, share = _shared(planes, elements, planes.read(g))
            planes.write(largest, most[:, :, inside, within])
            planes.write(share, gains)
            steps.append(planes.step())
            image = framed[..., geometry.padding[0][0] :, geometry.padding[1][0] :]
        elif won is not g:
            steps = [copying(gains, g)]
        for phase in rows:
            planes = Planes(value.dtype, (*out.shape[:2], phase.positions, columns[0].positions))
            above = [(won[:, :, i:], most[:, :, i:]) for _, i in phase.taps]
            sources = None if given is None else image[:, :, phase.places]
            self._add_up(planes, above, columns, sources, target[:, :, phase.places])
            steps.append(planes.step())
        return [*steps, copying(out, target[..., : out.shape[3]])] if spare else steps

    def _add_up(
        self,
        planes: Planes,
        above: list[tuple[Array, Array]],
        columns: list[Phase],
        images: Array | None,
        out: Array,
    ) -> None:
        """What the windows around some rows of images give to each element: what they have won,
        or of windows whose largest element it isn't, 0 times that.
        """
        zero, step = planes.constant(0), len(columns)
        places = {j for phase in columns for _, j in phase.taps}
        won, most = (
            {(i, j): planes.read(x[which], 1, j) for i, x in enumerate(above) for j in places}
            for which in (0, 1 if images is not None else 0)
        )
        elements = [zero if images is None else planes.read(images, step, i) for i in range(step)]
        for number, (x, phase) in enumerate(zip(elements, columns, strict=True)):
            total = planes.put("without_sign", zero)
            for at in [(i, j) for i in range(len(above)) for _, j in phase.taps]:
                share = won[at]
                if images is not None:
                    wins = planes.put("equal", x, most[at], dtype="bool")
                    nothing = planes.put("subtract", share, share)
                    share = planes.put("where", wins, share, nothing)
                total = planes.put("add", total, share)
            total = _clipped(planes, total, x, zero) if self._is_clipped else total
            planes.write(total, out, step, number)


def _elements(planes: Planes, images: Array, geometry: Geometry) -> list[int]:
    """The elements of windows."""
    (high, wide), (down, along) = geometry.window, geometry.dilation
    rows = [images[:, :, i * down :: geometry.stride[0]] for i in range(high)]
    return [planes.read(row, geometry.stride[1], j * along) for row in rows for j in range(wide)]


def _shared(planes: Planes, elements: list[int], g: int) -> tuple[int, list[int], int]:
    """The largest element, which elements are so large, and what each of them gets of ``g``."""
    most = _folded(planes, "maximum", elements)
    ties = [planes.put("equal", x, most, dtype="bool") for x in elements]
    count = _folded(planes, "add", [planes.put("cast", tie) for tie in ties])
    return most, ties, planes.put("divide", g, count)


def _folded(planes: Planes, how: str, elements: list[int]) -> int:
    """The fold of elements, in order."""
    return reduce(
        lambda fold, x: planes.put(how, x, fold), elements[1:], planes.put("cast", elements[0])
    )


def _clipped(planes: Planes, part: int, x: int, zero: int) -> int:
    """A part, 0 where x is not above 0."""
    return planes.put("where", planes.put("greater", x, zero, dtype="bool"), part, zero)


def _padded(
    value: Value, images: Array, geometry: Geometry, fill: float, spare: int = 0
) -> tuple[list[Step], Array]:
    """Images as planes with padding, and so many ``spare`` columns behind; and the steps that fill
    them.

    Raises RunError with the block of ``value`` where there is not enough memory.
    """
    (above, below), (left, right) = geometry.padding
    if not any((above, below, left, right, spare)):
        return [], images
    n, channels, rows, columns = images.shape
    shape = n, channels, above + rows + below, left + columns + right + spare
    found = _filled(value, shape, fill)
    inside = found[:, :, above : above + rows, left : left + columns]
    return [copying(inside, images)], found


def _filled(value: Value, shape: tuple[int, ...], fill: float) -> Array:
    found = allocate(value, shape, np.dtype(value.dtype))
    found.fill(fill)
    return found
