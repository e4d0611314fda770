"""Arithmetic that numpy does in place on flat arrays, recorded and run as one compiled loop.

Each element is read once and written once, however many operations there are between. Operations
are those of IEEE 754, so that results are equal bit for bit to numpy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from runtime.engine.plan import threads
from runtime.engine.plan.native.loops import Operand, Operation, Recipe, compiled

Array = NDArray[Any]

LARGE = 1 << 17
"""Elements from which one loop is faster, recording included."""

FEWEST = 6
"""Operations from which one loop is faster."""

_COLUMNS = 1 << 14
"""Elements of a row, of which threads take some each."""

_NAMES = {
    "absolute": "abs",
    **{name: name for name in ("add", "divide", "multiply", "negative", "sqrt", "subtract")},
}
"""Primitives by the name of the ufunc, of those that are exact for all numbers."""


class NotRecorded(Exception):
    """Something was done to an array that can't be compiled."""


class Recorded(NDArrayOperatorsMixin):
    """Stands for a flat array: remembers which operation wrote it last."""

    def __init__(self, recorder: _Recorder, number: int | None) -> None:
        self._recorder = recorder
        self.number = number
        """The operand or operation whose result it has; None if nothing was written yet."""

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] = (), **how: Any
    ) -> Any:
        """Record one operation; raises NotRecorded for any that has no instruction."""
        if method != "__call__" or how or ufunc.__name__ not in _NAMES:
            raise NotRecorded(ufunc.__name__)
        number = self._recorder.record(_NAMES[ufunc.__name__], inputs)
        if not out:
            return Recorded(self._recorder, number)
        (target,) = out
        target.number = number
        return target

    def __array_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...], how: dict[str, Any]
    ) -> None:
        """Note a copy, which needs no operation; raises NotRecorded for anything else."""
        if function is not np.copyto or how:
            raise NotRecorded(function.__name__)
        target, source = arguments
        target.number = source.number


class _Recorder:
    """Operations on arrays, numbered in order, and on scalars, which are numbered from −1 down."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.scalars: list[float] = []
        self.operations: list[tuple[str, tuple[int, ...]]] = []
        self.first = 0
        """The number of the first operation."""

    def record(self, name: str, inputs: Sequence[Any]) -> int:
        self.operations.append((name, tuple(map(self._number, inputs))))
        return self.first + len(self.operations) - 1

    def _number(self, x: Any) -> int:
        if isinstance(x, Recorded):
            if x.number is None:
                raise NotRecorded("memory that was never written")
            return x.number
        if not isinstance(x, int | float):
            raise NotRecorded(type(x).__name__)
        self.scalars.append(x)
        return -len(self.scalars)


def run_in_place(
    work: Callable[[Sequence[Any], Sequence[Any]], None], arrays: Sequence[Array], rooms: int
) -> bool:
    """Do ``work(arrays, rooms)`` as one loop; False, with nothing done, if it can't be compiled
    or is not worth it.

    ``arrays`` have one dimension and one length, and all their elements side by side; ``rooms`` is
    a number of arrays to work in, which hold nothing before. Work calls ufuncs with ``out`` on
    them, on numbers, and on nothing else, and does the same whatever the elements are.
    """
    dtype = arrays[0].dtype.name
    if dtype not in ("float32", "float64") or not all(
        x.dtype.name == dtype and x.flags.c_contiguous for x in arrays
    ):
        return False
    recorder = _Recorder(dtype)
    recorder.first = len(arrays)
    given = [Recorded(recorder, i) for i in range(len(arrays))]
    try:
        work(given, [Recorded(recorder, None) for _ in range(rooms)])
    except NotRecorded:
        return False
    if len(recorder.operations) < FEWEST:
        return False
    written = [i for i, x in enumerate(given) if x.number != i]
    shift = len(recorder.scalars)

    def placed(number: int) -> int:
        """Scalars come after arrays, and operations after scalars."""
        if number < 0:
            return len(arrays) - 1 - number
        return number if number < len(arrays) else number + shift

    recipe = Recipe(
        (Operand(dtype, True),) * len(arrays) + (Operand(dtype, False),) * shift,
        tuple(
            Operation(name, dtype, tuple(map(placed, operands)))
            for name, operands in recorder.operations
        ),
        tuple(placed(given[i].number or 0) for i in written),
    )
    with np.errstate(all="ignore"):
        scalars = np.array(recorder.scalars, np.float64).astype(dtype)
    row = _COLUMNS * arrays[0].itemsize
    frame = [(x.ctypes.data, row) for x in arrays]
    frame += [(scalars.ctypes.data + i * scalars.itemsize, 0) for i in range(shift)]
    frame += [frame[i] for i in written]
    _run(recipe, np.array(frame), arrays[0].size)
    return True


def _run(recipe: Recipe, frame: NDArray[np.int64], size: int) -> None:
    call, address = compiled(recipe).call, frame.ctypes.data
    rows, last = divmod(size, _COLUMNS)
    if rows:
        threads.divided(lambda start, stop: call(address, _COLUMNS, start, stop), rows, size)
    if last:
        call(address, last, rows, rows + 1)
