"""The blocks for ``x[...]``: what numpy's basic indices take of an array of unknown shape."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import BuildError

Entry: TypeAlias = int | slice | EllipsisType | None
Index: TypeAlias = Entry | tuple[Entry, ...]
"""The indices that ``x[...]`` accepts."""

Step: TypeAlias = tuple[str, dict[str, Any]]
"""A block type and its parameters."""


def steps_of(index: Index, operand: str) -> list[Step]:
    """The blocks, one after another, that take ``x[index]``: a Flip of the axes that are taken
    backwards, a Slice, a Squeeze of each single index and an ExpandDims for each new axis.

    Axes behind an Ellipsis are counted from the end. ``operand`` is the array's name in messages.
    Raises BuildError for computed indices, and for parts from a place that is counted from the end
    to one that is not.
    """
    entries = index if isinstance(index, tuple) else (index,)
    dots = [i for i, entry in enumerate(entries) if entry is Ellipsis]
    if len(dots) > 1:
        raise _refused(index, operand)
    at = dots[0] if dots else len(entries)
    first = [_part(entry, operand) for entry in entries[:at]]
    last = [_part(entry, operand) for entry in entries[at + 1 :]]
    places = _places(first, last)
    taken = [part for part in (*first, *last) if not part.is_new]
    found: list[Step] = []
    backwards = tuple(axis for part, axis in places if part.is_backwards)
    if backwards:
        found.append(("Flip", {"axis": backwards}))
    if any(part.takes_some for part in taken):
        found.append(("Slice", _slice(taken, sum(not part.is_new for part in last))))
    singles = [axis for part, axis in places if part.is_single]
    found += [("Squeeze", {"axis": axis}) for axis in _inwards(singles)]
    return found + [("ExpandDims", {"axis": axis}) for axis in _new_axes(first, last)]


@dataclass(frozen=True, slots=True)
class _Part:
    """What is taken of one axis, or a new axis: parameters of a Slice, for an array that is
    flipped if it is taken backwards.
    """

    begin: int = 0
    size: int = -1
    step: int = 1
    is_single: bool = False
    is_new: bool = False
    is_backwards: bool = False

    @property
    def takes_some(self) -> bool:
        """Whether it may not be the whole axis."""
        return (self.begin, self.size, self.step) != (0, -1, 1)


def _part(entry: object, operand: str) -> _Part:
    if entry is None:
        return _Part(is_new=True)
    if not isinstance(entry, slice):
        return _Part(_number(entry, entry, operand), 1, is_single=True)
    start, stop = (
        None if end is None else _number(end, entry, operand) for end in (entry.start, entry.stop)
    )
    step = 1 if entry.step is None else _number(entry.step, entry, operand)
    if not step:
        raise _refused(entry, operand)
    if step < 0:  # −1 − i is the place of i from the other end
        start, stop = (None if end is None else -1 - end for end in (start, stop))
    begin, size = _span(start or 0, stop, entry, operand)
    return _Part(begin, size, abs(step), is_backwards=step < 0)


def _span(begin: int, stop: int | None, entry: slice, operand: str) -> tuple[int, int]:
    if stop is None:
        return begin, -1
    if stop < 0 <= begin:
        return begin, stop - 1
    if begin < 0 <= stop:
        raise _refused(entry, operand)
    return begin, max(0, stop - begin)


def _number(number: object, entry: object, operand: str) -> int:
    if isinstance(number, int | np.integer) and not isinstance(number, bool):
        return int(number)
    raise _refused(entry, operand)


def _refused(entry: object, operand: str) -> BuildError:
    return BuildError(
        f"{operand} can't be indexed like this.",
        expected="the name of an output, or indices such as x[-1], x[1:-1, 0] or x[..., ::2]",
        got=repr(entry),
        next_step="Write gather(x, indices) for other indices.",
    )


def _places(first: Sequence[_Part], last: Sequence[_Part]) -> list[tuple[_Part, int]]:
    """Parts with their axes of the array, those of the last from the end."""
    front = [part for part in first if not part.is_new]
    back = [part for part in last if not part.is_new]
    behind = [(part, i - len(back)) for i, part in enumerate(back)]
    return [(part, i) for i, part in enumerate(front)] + behind


def _slice(taken: Sequence[_Part], last: int) -> dict[str, object]:
    found: dict[str, object] = {
        "begin": [part.begin for part in taken], "size": [part.size for part in taken]
    }  # fmt: skip
    if any(part.step != 1 for part in taken):
        found["step"] = [part.step for part in taken]
    return found | ({"last": last} if last else {})


def _inwards(axes: Sequence[int]) -> list[int]:
    """Axes in an order in which dropping one leaves the numbers of the others as they are."""
    return [*sorted(a for a in axes if a >= 0)[::-1], *sorted(a for a in axes if a < 0)]


def _new_axes(first: Sequence[_Part], last: Sequence[_Part]) -> list[int]:
    """Where axes are added, one after another."""
    front = [part.is_new for part in first if not part.is_single]
    back = [part.is_new for part in last if not part.is_single]
    ends = [-1 - i for i, is_new in enumerate(reversed(back)) if is_new]
    return [*(i for i, is_new in enumerate(front) if is_new), *ends]
