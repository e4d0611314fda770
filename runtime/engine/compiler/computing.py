"""Machine code for values, in given arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from gradwire.runtime.engine.compiler.emit import text_of
from gradwire.runtime.engine.compiler.front import FOLDS, copy_of, store_of, windows_of
from gradwire.runtime.engine.compiler.schedule import Nest, Schedule, scheduled
from gradwire.runtime.engine.plan.jobs import Job, divided
from gradwire.runtime.engine.plan.native import Kernel, machine

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.calculus.primitives.convolution import Geometry

Array = NDArray[Any]

LARGE = 1 << 9
"""Elements from which machine code is faster even by itself."""

APART = 1 << 8
"""Elements up to which it is where they are copied one by one."""

EACH = 2
"""What ``jobs`` counts as the work on an element that is read and written."""


@lru_cache(maxsize=256)
def _compiled(nest: Nest) -> Kernel:
    return Kernel(*machine.function(text_of(nest), "nest", is_vector=True))


def compiles(value: Value) -> bool:
    """Whether there may be code for a value."""
    if value.primitive.name not in FOLDS:
        return False
    source = value.inputs[0]
    return source.dtype == value.dtype and value.dtype in ("float32", "float64") and source.size > 0


def computation(value: Value, source: Array, strides: Sequence[int]) -> Computation | None:
    """What computes a value that ``compiles`` of an array, in arrays with these strides; None if
    NumPy is faster.
    """
    store = store_of(value.primitive.name, value.attributes, source, strides)
    found = scheduled(store)
    if not found.is_fast and source.size >= LARGE:
        return None
    work = source.size * (EACH if store.term.runs else 1)
    return Computation(found, source, work)


def copy(source: Array, strides: Sequence[int], dtype: str | None = None) -> Computation | None:
    """What copies an array to arrays with these strides, of another dtype of floats or, of any
    elements of four or eight bytes, its own; None if NumPy is faster.
    """
    if dtype in (None, source.dtype.name):
        source = source.view(dtype := f"float{8 * source.itemsize}")
    found = scheduled(copy_of(source, strides, dtype))
    if not found.is_fast and source.size > APART:
        return None
    return Computation(found, source, source.size)


def pooling(how: str, geometry: Geometry, images: Array, places: Array) -> Job:
    """The job that folds windows of images without padding to ``places``."""
    found = scheduled(windows_of(how, geometry, images, places))
    return Computation(found, images, images.size).into(places)


class Computation:
    """Computes the same of an array in any other."""

    def __init__(self, schedule: Schedule, source: Array, work: int) -> None:
        nest, self._kept = schedule.nest, [source]
        self._frame = machine.frame(nest.frame, array0=source, array1=0, **schedule.numbers)
        self._target = nest.frame.index("array1")
        self._job = divided(_compiled(nest), self._frame, schedule.turns, work, self._kept)

    def into(self, out: Array) -> Job:
        """The job that computes it in this array, until another is given."""
        self._frame[self._target] = machine.address(out)
        self._kept[1:] = [out]
        return self._job

    def __call__(self, out: Array) -> None:
        """Compute it in this array."""
        self.into(out)()
