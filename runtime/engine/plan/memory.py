"""Takes memory for arrays, tells where there is too little of it, and allocates it by lifetime:
every value gets an array, and free arrays are reused.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.errors import Location, RunError
from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.primitives.base import LEAF, RESHAPE

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Task


HUGE = 1 << 21
"""Bytes of a huge page; numpy asks the system for these in arrays of twice as many."""

LINE = 64
"""Bytes of a line of the caches."""

_LEAST = 1 << 12
"""Bytes from which arrays begin with a line."""


@cache
def machine_bytes() -> int:
    """Bytes of memory that this process may use; the system grants more, and kills who uses it."""
    found = [sys.maxsize]
    if hasattr(os, "sysconf"):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # ValueError: the word max
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    if sys.platform != "win32":
        with suppress(ImportError):
            import resource

            found.append(resource.getrlimit(resource.RLIMIT_AS)[0])
    return min(n for n in found if n > 0)  # RLIM_INFINITY is below 0


def allocate(value: Value, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Memory for a value; raises RunError with its block where there is not enough.

    It begins with a line of the caches, unless it is small: a vector that lies across two lines
    takes twice as long to write.
    """
    size = math.prod(shape) * dtype.itemsize
    if size > machine_bytes():
        raise not_enough(value)
    try:
        return np.empty(shape, dtype) if size < _LEAST else _at_line(shape, dtype, size)
    except (MemoryError, ValueError):  # ValueError: more bytes than an address can count
        raise not_enough(value) from None


class _Memory(np.ndarray):
    """What arrays begin within. Views of an array of it refer to that array, since numpy goes on to
    what is behind it only where types are the same: so it shows whether they are used.
    """


def _at_line(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> Array:
    """An array that begins with a line."""
    memory = _Memory(size + LINE, np.uint8)
    return np.ndarray(shape, dtype, memory, -memory.ctypes.data % LINE)


def not_enough(value: Value, needed: int = 0, why: str = "") -> RunError:
    """The error of a value for which there is no memory, where all in all ``needed`` bytes are."""
    needed = needed or value.size * NUMPY[value.dtype].itemsize
    return RunError(
        f"There is not enough memory for {value.dtype} of shape {list(value.shape)}{why}.",
        location=Location(block=None if value.owner is None else str(value.owner)),
        expected=f"at most {machine_bytes() / 2**30:,.1f} GiB",
        got=f"{needed / 2**30:,.1f} GiB",
        next_step="Make the shape smaller.",
    )


def require_room(results: Collection[Value]) -> None:
    """Raise RunError with the block of the largest of the results if copies of them don't fit."""
    needed = sum(value.size * NUMPY[value.dtype].itemsize for value in results)
    if needed > machine_bytes():
        raise no_room(results, needed)


def no_room(results: Iterable[Value], needed: int = 0) -> RunError:
    """The error of results for copies of which there is no memory; the largest is named."""
    largest = max(results, key=lambda value: (value.owner is not None, value.size))
    return not_enough(largest, needed, ", with the other results" if needed else ", as a result")


_SMALL = 1 << 12
"""Bytes below which memory is not worth sharing."""

_REGION = 8 * HUGE
"""Bytes of memory that is taken at once; the system provides no page before it is used."""

_LARGE = 1 << 16
"""Bytes from which an array is cut from a region."""


class BlockArrays(dict["Value", "Array"]):
    """Arrays by value. Values may be rows of blocks, and these are numbered through all blocks: the
    array of such a value is made when ``[]`` asks for it first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[Value, int] = {}
        """The number of the row that a value is."""
        self._starts: list[int] = []
        self._blocks: list[Array] = []
        self._count = 0

    def lay(self, values: Iterable[Value]) -> int:
        """Put values side by side in new blocks, one for each shape and dtype; returns the bytes.

        Raises RunError with a block where there is not enough memory.
        """
        alike: dict[tuple[Shape, str], list[Value]] = {}
        for value in values:
            alike.setdefault((value.shape, value.dtype), []).append(value)
        size = 0
        for (shape, dtype), members in alike.items():
            block = allocate(members[0], (len(members), *shape), NUMPY[dtype])
            start, self._count = self._count, self._count + len(members)
            self.rows.update(zip(members, range(start, self._count), strict=True))
            self._starts.append(start)
            self._blocks.append(block)
            size += block.nbytes
        return size

    def block_of(self, row: int) -> tuple[Array, int]:
        """The block that a row is in, and the number of the first row of that block."""
        place = bisect_right(self._starts, row) - 1
        return self._blocks[place], self._starts[place]

    def only(self, values: Iterable[Value]) -> BlockArrays:
        """The arrays of those of the values that have one."""
        found = BlockArrays()
        found |= {x: self[x] for x in values if x in self or x in self.rows}
        return found

    def __missing__(self, value: Value) -> Array:
        row = self.rows[value]
        block, start = self.block_of(row)
        array: Array = block[row - start, ...]
        self[value] = array
        return array


@by_identity
class Room(NamedTuple):
    """Where a value lies within another, at an index; or an array for it."""

    whole: Value | None
    place: Any


class Rooms:
    """Arrays for values that are computed where other tasks want them; they live with the plan.

    ``roots`` are the values that views share memory with. Those ``elsewhere`` are not asked: what a
    run returns must not be a view, and what belongs to the caller lies where that is.
    """

    def __init__(
        self, tasks: Sequence[Task], roots: Mapping[Value, Value], elsewhere: Collection[Value]
    ) -> None:
        self.arrays: dict[Value, Array] = {}
        wanted = [(value, room) for task in tasks for value, room in task.rooms().items()]
        if not wanted:
            return
        self._makers = {value: task for task in tasks for value in task.values}
        self._roots, self._elsewhere = roots, elsewhere
        self._claims: dict[Value, Room] = {}
        for within in (True, False):  # a sum of parts may itself lie within another
            for value, room in wanted:
                root = self._reshaped(value)
                if (room.whole is not None) is within and self._fits(root):
                    if room.whole is None or self._fits(room.whole):
                        self._claims.setdefault(root, room)
        for value in self._claims:
            self._array(value)

    def _reshaped(self, value: Value) -> Value:
        """What a value is another shape of."""
        while value.primitive is RESHAPE and value in self._makers:
            value = self._makers[value].inputs[0]
        return value

    def _fits(self, value: Value) -> bool:
        task = self._makers.get(value)
        return (
            task is not None
            and not task.one_block
            and value not in self._roots
            and not value.primitive.view
            and value not in self._elsewhere
        )

    def _can_write(self, value: Value, array: Array) -> bool:
        """Whether the maker of a value can leave it in an array that lies like this one."""
        task = self._makers[value]
        if array.flags.c_contiguous:
            return True
        if array.shape[-1] == 1 or array.strides[-1] == array.itemsize:
            return task.writes_rows
        return task.writes_columns and array.ndim > 1 and array.strides[-2] == array.itemsize

    def _array(self, value: Value) -> Array | None:
        """The array in which a value is to be computed; None if any will do."""
        if value in self.arrays:
            return self.arrays[value]
        if value not in self._claims:
            array = allocate(value, value.shape, NUMPY[value.dtype])
        else:
            whole, place = self._claims[value]
            part = place
            if whole is not None:
                around = self._array(whole)
                if around is None:
                    return None
                part = around[place]
            array = part.reshape(value.shape)  # of what is claimed it may be another shape
            if not np.may_share_memory(array, part) or not self._can_write(value, array):
                return None
        self.arrays[value] = array
        return array


class Memory:
    """Arrays for values, allocated in the order of the tasks.

    A value that may be a view shares the lifetime of its base, even if it turns out to be a copy:
    that is known only once the array exists. Values in ``places`` are computed in these arrays,
    which belong to the caller.
    """

    def __init__(self, arrays: BlockArrays, places: Mapping[Value, Array] | None = None) -> None:
        self.arrays = arrays
        self._places = places or {}
        self.bytes = 0
        """Bytes allocated so far."""
        self._before = sum(x.nbytes for value, x in arrays.items() if value.primitive is LEAF)
        self._roots: dict[Value, Value] = {}
        """What each view shares memory with."""
        self._last: dict[Value, int] = {}
        """Where each value with memory that is worth sharing is needed last."""
        self._owned: dict[Value, list[tuple[Value, Array]]] = {}
        self._free: list[tuple[int, int, Array]] = []
        self._rooms: dict[Value, Array] = {}
        self._region: Array = np.empty(0, np.uint8)

    def allot(self, tasks: Sequence[Task], kept: Collection[Value]) -> list[Task]:
        """Allocate an array for every value of the tasks; returns the tasks with work at run time.

        ``kept`` values stay alive to the end. A view needs no work, since its base does not move.
        """
        self._find_lifetimes(tasks, kept)
        self._rooms = Rooms(tasks, self._roots, {*kept, *self._places}).arrays
        owners = [room if room.base is None else room.base for room in self._rooms.values()]
        self.bytes += sum({id(array): array.nbytes for array in owners}.values())
        # Tasks read rows of one block faster than those of several. Scalars are the exception: a
        # region that reads some of a block may read all of it.
        blocks = (task.values for task in tasks if task.one_block)
        self.bytes += self.arrays.lay(x for values in blocks for x in values if x.shape)
        working = []
        for position, task in enumerate(tasks):
            if not self._is_view(task):
                if task.one_block:
                    self.bytes += self.arrays.lay(x for x in task.values if not x.shape)
                else:
                    dying = self._dying(task, position)
                    for value in task.values:
                        self._place(value, task, dying)
                working.append(task)
            if self._owned:
                self._release(task, position)
        return working

    def reserve(self, value: Value) -> int:
        """Count the bytes of a value, and return those of all so far.

        Raises RunError with its block where there is not enough memory.
        """
        size = value.size * NUMPY[value.dtype].itemsize
        needed = self._before + self.bytes + size
        if needed > machine_bytes():
            raise not_enough(value, needed, ", with what the other blocks take")
        self.bytes += size
        return needed

    def _find_lifetimes(self, tasks: Sequence[Task], kept: Collection[Value]) -> None:
        roots, last = self._roots, self._last
        for position, task in enumerate(tasks):
            if not task.one_block:
                for value in task.values:
                    if value.primitive.view and len(task.values) == 1:
                        base = task.inputs[0]
                        roots[value] = roots.get(base, base)
                    if value.size * NUMPY[value.dtype].itemsize >= _SMALL:
                        last[roots.get(value, value)] = position
            if last:
                for source in task.inputs:
                    root = roots.get(source, source)
                    if root in last:
                        last[root] = position
        for value in kept:
            if (root := roots.get(value, value)) in last:
                last[root] = len(tasks)

    def _dying(self, task: Task, position: int) -> set[Value]:
        """The inputs of a task that own memory and are not needed any more after it."""
        if not self._owned:
            return set()
        found = {self._roots.get(x, x) for x in task.inputs}
        return {root for root in found if root in self._owned and self._last[root] == position}

    def _is_view(self, task: Task) -> bool:
        """Whether the task is a view; if so, make it."""
        if len(task.values) != 1 or not task.values[0].primitive.view:
            return False
        value = task.values[0]
        base = self.arrays[task.inputs[0]]
        array = value.primitive.kernel(base, **value.attributes)
        if array.size and not np.may_share_memory(array, base):
            return False
        self.arrays[value] = array
        return True

    def _place(self, value: Value, task: Task, dying: set[Value]) -> None:
        if value in self._places:
            self.arrays[value] = self._places[value]
            return
        if value in self._rooms:
            self.arrays[value] = self._rooms[value]
            return
        heir = self._heir(value, task, dying)
        root = self._roots.get(value, value)
        if heir is not None:
            self.arrays[value] = self.arrays[heir]
            ((_, raw),) = self._owned.pop(self._roots.get(heir, heir))
            self._owned.setdefault(root, []).append((value, raw))
            return
        dtype = NUMPY[value.dtype]
        size = value.size * dtype.itemsize
        if size < _SMALL:
            self.bytes += size
            self.arrays[value] = np.empty(value.shape, dtype)
            return
        raw = self._take(value, size)
        self.arrays[value] = raw[:size].view(dtype).reshape(value.shape)
        self._owned.setdefault(root, []).append((value, raw))

    def _heir(self, value: Value, task: Task, dying: set[Value]) -> Value | None:
        """An input that is last read here and whose memory the result may overwrite in place."""
        roots = self._roots
        for source in task.in_place:
            root = roots.get(source, source)
            if (
                root in dying
                and root in self._owned
                and len(self._owned[root]) == 1
                and self._owned[root][0][0] is root  # else a copy of a view of it
                and source.shape == value.shape
                and source.dtype == value.dtype
                and self._is_whole(source, root)
                and all(x is source or roots.get(x, x) is not root for x in task.inputs)
            ):
                return source
        return None

    def _is_whole(self, source: Value, root: Value) -> bool:
        """Whether a value lies as another does that it is a view of, but for its shape."""
        array, whole = self.arrays[source], self.arrays[root]
        is_same = array.size == whole.size and array.flags.c_contiguous and whole.flags.c_contiguous
        return source is root or (is_same and array.flags.writeable)  # numpy's broadcasts are not

    def _release(self, task: Task, position: int) -> None:
        for value in {*task.inputs, *task.values}:
            root = self._roots.get(value, value)
            if root in self._owned and self._last[root] <= position:
                for _, raw in self._owned.pop(root):
                    insort(self._free, (raw.nbytes, id(raw), raw))

    def _take(self, value: Value, size: int) -> Array:
        """A free block at most twice as large as needed, or else a new one."""
        at = bisect_left(self._free, (size,))
        if at < len(self._free) and self._free[at][0] <= 2 * size:
            return self._free.pop(at)[2]
        needed = self.reserve(value)
        if not _LARGE <= size <= 2 * HUGE or needed + _REGION > machine_bytes():
            return allocate(value, (size,), np.dtype(np.uint8))
        return self._cut(value, size)

    def _cut(self, value: Value, size: int) -> Array:
        """Memory in huge pages, of which fewer must be looked up than of small ones."""
        if len(self._region) < size:
            region = allocate(value, (_REGION,), np.dtype(np.uint8))
            self._region = region[-region.ctypes.data % HUGE :]
        found, self._region = np.split(self._region, [size])
        self._region = self._region[-size % LINE :]
        return found


def as_view(arrays: Sequence[Array]) -> Array | None:
    """``np.stack(arrays)`` without a copy, or None if memory does not allow it."""
    first = arrays[0]
    if any(array.strides != first.strides for array in arrays):
        return None
    if all(array is first for array in arrays):
        return np.broadcast_to(first, (len(arrays), *first.shape))
    places = [array.__array_interface__["data"][0] for array in arrays]
    distance = places[1] - places[0]
    even = all(b - a == distance for a, b in itertools.pairwise(places))
    if not even or not first.size:
        return None
    if distance and any(_owner_of(array) is not _owner_of(first) for array in arrays):
        return None  # neighbours by accident
    return as_strided(
        first, (len(arrays), *first.shape), (distance, *first.strides), writeable=False
    )


def _owner_of(array: Array) -> Array:
    """The array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
