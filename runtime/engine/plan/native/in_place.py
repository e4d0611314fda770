"""Arithmetic that numpy does in place on flat arrays, run as one compiled loop.

Each element is read once and written once, however many operations there are between. Operations
are those of IEEE 754, so that results are equal bit for bit to numpy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.engine.plan import threads
from runtime.engine.plan.native.loops import Operand, Operation, Recipe, compiled
from runtime.engine.plan.recording import NotRecorded, record

Array = NDArray[Any]

LARGE = 1 << 17
"""Elements from which one loop is faster, recording included."""

FEWEST = 6
"""Operations from which one loop is faster."""

_COLUMNS = 1 << 14
"""Elements of a row, of which threads take some each."""

_EXACT = frozenset({"abs", "add", "divide", "multiply", "negative", "sqrt", "subtract"})
"""Primitives that are exact for all numbers, so that machine code gives equal bits."""


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
    try:
        recording = record(work, len(arrays), rooms)
    except NotRecorded:
        return False
    operations = recording.operations
    if len(operations) < FEWEST or not _EXACT.issuperset(name for name, _ in operations):
        return False
    written = list(recording.written)
    shift = len(recording.scalars)

    def placed(number: int) -> int:
        """Scalars come after arrays, and operations after scalars."""
        if number < 0:
            return len(arrays) - 1 - number
        return number if number < len(arrays) else number + shift

    recipe = Recipe(
        (Operand(dtype, True),) * len(arrays) + (Operand(dtype, False),) * shift,
        tuple(
            Operation(name, dtype, tuple(map(placed, operands))) for name, operands in operations
        ),
        tuple(map(placed, recording.written.values())),
    )
    with np.errstate(all="ignore"):
        scalars = np.array(recording.scalars, np.float64).astype(dtype)
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
