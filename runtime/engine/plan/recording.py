"""Arithmetic that numpy does in place on arrays of one shape, recorded instead of done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.calculus.namespace import Namespace

_NAMES = {
    "absolute": "abs",
    **{
        name: name
        for name in (
            "add", "divide", "maximum", "multiply", "negative", "sign", "sqrt", "subtract",
        )
    },
}  # fmt: skip
"""Primitives by the name of the ufunc."""


class NotRecorded(Exception):
    """Something was done to an array that no recording has."""


@dataclass(frozen=True, slots=True)
class Number:
    """Stands for a number that is not known yet, as an operand and among scalars."""

    place: int
    """Its place among those that are given later."""


class Recording(NamedTuple):
    """What was done, in order.

    Arrays are numbered from 0, operations go on from there; scalars are numbered from −1 down.
    """

    operations: tuple[tuple[str, tuple[int, ...]], ...]
    """The name of each operation's primitive, and the numbers of its operands."""
    scalars: tuple[float | Number, ...]
    written: Mapping[int, int]
    """For each array that was written, what it has in the end."""

    def filled(self, numbers: Sequence[float]) -> Recording:
        """With these numbers for those that were not known."""
        scalars = (numbers[x.place] if isinstance(x, Number) else x for x in self.scalars)
        return self._replace(scalars=tuple(scalars))

    def replayed(
        self, xp: Namespace, arrays: Sequence[Value], scalars: Sequence[Value | float]
    ) -> dict[int, Value]:
        """What it leaves in each array that it writes, traced for values of these."""
        found = list(arrays)
        for name, operands in self.operations:
            inputs = [found[n] if n >= 0 else scalars[-1 - n] for n in operands]
            found.append(getattr(xp, name)(*inputs))
        return {place: found[number] for place, number in self.written.items()}


class _Recorded(NDArrayOperatorsMixin):
    """Stands for an array: remembers which operation wrote it last."""

    def __init__(self, recorder: _Recorder, number: int | None) -> None:
        self._recorder = recorder
        self.number = number
        """The operand or operation whose result it has; None if nothing was written yet."""

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] = (), **how: Any
    ) -> Any:
        """Record one operation; raises NotRecorded for any that has no primitive."""
        if method != "__call__" or how or ufunc.__name__ not in _NAMES:
            raise NotRecorded(ufunc.__name__)
        number = self._recorder.record(_NAMES[ufunc.__name__], inputs)
        if not out:
            return _Recorded(self._recorder, number)
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
    """Collects operations and scalars."""

    def __init__(self, first: int) -> None:
        self.scalars: list[float | Number] = []
        self.operations: list[tuple[str, tuple[int, ...]]] = []
        self._first = first

    def record(self, name: str, inputs: Sequence[Any]) -> int:
        self.operations.append((name, tuple(map(self._number, inputs))))
        return self._first + len(self.operations) - 1

    def _number(self, x: Any) -> int:
        if isinstance(x, _Recorded):
            if x.number is None:
                raise NotRecorded("memory that was never written")
            return x.number
        if not isinstance(x, int | float | Number):
            raise NotRecorded(type(x).__name__)
        self.scalars.append(x)
        return -len(self.scalars)


def record(
    work: Callable[[Sequence[Any], Sequence[Any]], None], arrays: int, rooms: int
) -> Recording:
    """What ``work(arrays, rooms)`` does to so many arrays, and as many to work in, which have
    nothing before. Raises NotRecorded unless it calls known ufuncs with ``out`` on them and on
    numbers, and nothing else.
    """
    recorder = _Recorder(arrays)
    given = [_Recorded(recorder, i) for i in range(arrays)]
    work(given, [_Recorded(recorder, None) for _ in range(rooms)])
    written = {i: x.number for i, x in enumerate(given) if x.number not in (i, None)}
    return Recording(tuple(recorder.operations), tuple(recorder.scalars), written)
