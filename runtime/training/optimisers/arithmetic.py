"""What the arithmetic of all methods shares: it is in place, over many variables at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from runtime.diagram.training import AnyMethod
from runtime.engine.plan.native.in_place import LARGE, run_in_place

Array: TypeAlias = NDArray[Any]
M = TypeVar("M", bound=AnyMethod)

CHUNK = 1 << 15
"""Elements that are updated at a time: small enough to stay in a processor's cache."""

Move: TypeAlias = Callable[[Array, Array, Sequence[Array], Sequence[Array]], None]
"""Moves values by a gradient and the state; then come arrays of the same size to work in."""
Work: TypeAlias = Callable[[Sequence[Array], Sequence[Array]], None]
"""Changes the first arrays in place; then come arrays of the same size to work in."""


class Arithmetic(ABC, Generic[M]):
    """How one method moves variables that lie in one dimension, side by side.

    All variables of a call have had the same number of updates. Gradients are left as they are.
    """

    room: ClassVar[int] = 2
    """Arrays that a move works in."""

    def __init__(self, method: M) -> None:
        self.method = method
        self.compiles = False
        """Whether machine code may update many elements; the bits are the same."""
        self._decoupled = bool(getattr(method, "decoupled_weight_decay", True))
        self._rooms: dict[tuple[np.dtype[Any], int], tuple[Array, ...]] = {}

    def slots(self, like: Array) -> dict[str, Array]:
        """The state before the first update by PyTorch's names, in arrays like ``like``."""
        return {name: np.zeros_like(like) for name in self._slot_names()}

    def update(
        self,
        values: Array,
        gradient: Array,
        slots: Mapping[str, Array],
        *,
        count: int,
        lr: float,
        weight_decay: float,
    ) -> None:
        """Make update number ``count`` (from 1 on) of one-dimensional values and state, in place.

        ``lr`` and ``weight_decay`` replace those of the method. Numbers that are not finite stay as
        they are; NumPy's warnings about them are the caller's.
        """
        whole = self.whole(count, lr, weight_decay)
        arrays, size = (values, gradient, *slots.values()), values.size
        if self.compiles and size >= LARGE and run_in_place(whole, arrays, self.room + 1):
            return
        for start in range(0, size, CHUNK):
            parts = arrays
            if size > CHUNK:
                parts = tuple(each[start : start + CHUNK] for each in arrays)
            whole(parts, self._room(values.dtype, parts[0].size))

    def whole(self, count: int, lr: float, weight_decay: float) -> Work:
        """Update number ``count``, as a function of arrays, which are values, gradient and state,
        and of ``room`` + 1 arrays to work in.
        """
        move = self._move(count, lr)
        shrunk = 1 - lr * weight_decay if self._decoupled else 1.0
        added = 0.0 if self._decoupled else weight_decay

        def work(arrays: Sequence[Array], rooms: Sequence[Array]) -> None:
            v, g, *state = arrays
            own, *room = rooms
            if self.method.maximize:
                g = np.negative(g, out=own)
            if shrunk != 1:
                np.multiply(v, shrunk, out=v)
            if added:
                np.multiply(v, added, out=room[0])
                g = np.add(g, room[0], out=own)
            move(v, g, state, room)

        return work

    def rests(self, dtype: np.dtype[Any], weight_decay: float) -> bool:
        """Whether a gradient of 0 changes no bit of values and state, whatever these are."""
        return not (weight_decay or self.method.maximize) and self._rests(dtype)

    def _rests(self, dtype: np.dtype[Any]) -> bool:
        """As ``rests``, for a gradient that is neither changed nor negated."""
        return False

    def _room(self, dtype: np.dtype[Any], size: int) -> tuple[Array, ...]:
        """Arrays to work in, one of them for the gradient with what is added to it."""
        room = self._rooms.get((dtype, size))
        if room is None:
            room = tuple(np.empty(size, dtype) for _ in range(self.room + 1))
            self._rooms[dtype, size] = room
        return room

    @abstractmethod
    def _slot_names(self) -> Sequence[str]:
        """The names of the state, in the order in which a move has it."""

    @abstractmethod
    def _move(self, count: int, lr: float) -> Move:
        """How update number ``count`` moves values."""


def averaged(mean: Array, rate: float, new: Array, room: Array) -> None:
    """``mean = rate * mean + (1 - rate) * new``, in place."""
    np.multiply(mean, rate, out=mean)
    np.multiply(new, 1 - rate, out=room)
    np.add(mean, room, out=mean)


def averaged_square(mean: Array, rate: float, new: Array, room: Array) -> None:
    """``mean = rate * mean + (1 - rate) * new²``, in place."""
    np.multiply(mean, rate, out=mean)
    np.multiply(new, new, out=room)
    np.multiply(room, 1 - rate, out=room)
    np.add(mean, room, out=mean)


def subtracted(values: Array, factor: float, change: Array, room: Array) -> None:
    """``values = values - factor * change``, in place; ``room`` may be ``change``."""
    np.multiply(change, factor, out=room)
    np.subtract(values, room, out=values)


def over_root(dividend: Array, squares: Array, eps: float, room: Array) -> Array:
    """``dividend / (√squares + eps)`` in ``room``, which may be ``squares``."""
    np.sqrt(squares, out=room)
    np.add(room, eps, out=room)
    return np.divide(dividend, room, out=room)
