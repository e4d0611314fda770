"""Arithmetic that numpy does in place on arrays of one shape, recorded instead of done."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
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


class Recorded(NDArrayOperatorsMixin):
    """Stands for an array: remembers which operation wrote it last. Zero times it is zero."""

    def __init__(self, recorder: Recorder, number: int | None) -> None:
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
            return Recorded(self._recorder, number)
        (target,) = out
        target.number = number
        return target

    def __rmul__(self, other: Any) -> Any:
        """``0 * x`` is how zeros like x are written; they need no operation."""
        return 0.0 if isinstance(other, int | float) and other == 0 else super().__rmul__(other)

    def __array_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...], how: dict[str, Any]
    ) -> None:
        """Note a copy, which needs no operation; raises NotRecorded for anything else."""
        if function is not np.copyto or how:
            raise NotRecorded(function.__name__)
        target, source = arguments
        target.number = source.number


class Recorder:
    """Collects operations and scalars."""

    def __init__(self, first: int) -> None:
        self.scalars: list[float | Number] = []
        self.operations: list[tuple[str, tuple[int, ...]]] = []
        self._first = first

    def record(self, name: str, inputs: Sequence[Any]) -> int:
        """Note an operation; returns its number."""
        self.operations.append((name, tuple(map(self._number, inputs))))
        return self._first + len(self.operations) - 1

    def recording(self, arrays: Sequence[Recorded]) -> Recording:
        """What was recorded, if this is what the arrays stand for in the end."""
        written = {i: x.number for i, x in enumerate(arrays) if x.number not in (i, None)}
        return Recording(tuple(self.operations), tuple(self.scalars), written)

    def _number(self, x: Any) -> int:
        if isinstance(x, Recorded):
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
    recorder = Recorder(arrays)
    given = [Recorded(recorder, i) for i in range(arrays)]
    work(given, [Recorded(recorder, None) for _ in range(rooms)])
    return recorder.recording(given)


class InPlace:
    """Does with numpy what was recorded, in place, with as few arrays to work in as it can."""

    def __init__(self, recording: Recording, arrays: int) -> None:
        operations, written = recording.operations, recording.written
        end = arrays + len(operations)
        last_use = dict.fromkeys(written.values(), end)
        for number, (_, operands) in enumerate(operations, arrays):
            last_use |= {n: number for n in operands if n >= 0 and last_use.get(n) != end}
        targets = {number: array for array, number in written.items()}
        at = {number: number for number in range(arrays)}
        free: list[int] = []
        memory = arrays
        steps: list[tuple[np.ufunc, list[int], int]] = []
        for number, (name, operands) in enumerate(operations, arrays):
            free += [at[n] for n in set(operands) if n >= arrays and last_use[n] == number]
            target = targets.get(number)
            if target is None or last_use.get(target, 0) > number:
                target = free.pop() if free else memory
                memory = max(memory, target + 1)
            at[number] = target
            steps.append((getattr(np, name), [at.get(n, n) for n in operands], target))
        for number in written.values():
            if number < arrays and number in written:  # has its own new elements by then
                at[number], memory = memory, memory + 1
                steps.append((np.positive, [number], at[number]))
        self._copies = [(array, at[n]) for array, n in written.items() if at[n] != array]
        self._count = memory - arrays
        self._constants = [x for x in recording.scalars if not isinstance(x, Number)]
        constants, given = itertools.count(memory), memory + len(self._constants)
        for place, x in enumerate(recording.scalars, 1):
            at[-place] = given + x.place if isinstance(x, Number) else next(constants)
        self._steps: list[tuple[np.ufunc, int, int | None, int]] = []
        for function, inputs, target in steps:
            one, *other = (n if n >= 0 else at[n] for n in inputs)
            self._steps.append((function, one, other[0] if other else None, target))
        self._rooms: dict[np.dtype[Any], list[Array]] = {}

    def run(self, arrays: Sequence[Array], numbers: Sequence[float]) -> None:
        """Change arrays of one dtype and of one dimension, with these numbers for those that were
        not known.
        """
        like = arrays[0]
        rooms = self._rooms.get(like.dtype, [])
        if len(rooms) < self._count or (rooms and rooms[0].size < like.size):
            rooms = [np.empty(like.size, like.dtype) for _ in range(self._count)]
            self._rooms[like.dtype] = rooms
        memory: list[Any] = [*arrays, *[x[: like.size] for x in rooms], *self._constants, *numbers]
        for function, one, other, target in self._steps:
            if other is None:
                function(memory[one], out=memory[target])
            else:
                function(memory[one], memory[other], out=memory[target])
        for target, source in self._copies:
            np.copyto(memory[target], memory[source])
