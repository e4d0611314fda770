"""What the arithmetic of all methods shares: it is in place, over many variables at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.diagram.training import AnyMethod
from gradwire.runtime.engine.plan.recording import Number, Recording, record

Array: TypeAlias = NDArray[Any]
M = TypeVar("M", bound=AnyMethod)

CHUNK = 1 << 15
"""Elements that are updated at a time: small enough to stay in a processor's cache."""

Numbers: TypeAlias = Sequence[float]
"""What changes from update to update, such as the rate."""
Work: TypeAlias = Callable[[Sequence[Array], Sequence[Array]], None]
"""Changes the first arrays in place; then come arrays of the same size to work in."""


@by_identity
class Operands(NamedTuple):
    """What a move works on: arrays of one size."""

    values: Array
    gradient: Array
    state: Sequence[Array]
    room: Sequence[Array]
    """To work in."""


class Form(NamedTuple):
    """What decides which operations an update makes; its numbers don't."""

    decays: bool
    variant: Hashable


class Arithmetic(ABC, Generic[M]):
    """How one method moves variables that lie in one dimension, side by side.

    All variables of a call have had the same number of updates. Gradients are left as they are.
    """

    room: ClassVar[int] = 2
    """Arrays that a move works in."""

    def __init__(self, method: M) -> None:
        self.method = method
        self._decoupled = bool(getattr(method, "decoupled_weight_decay", True))
        self._recorded: dict[Form, Recording] = {}
        self._rooms: dict[np.dtype[Any], tuple[Array, ...]] = {}

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
        form = self.form(count, weight_decay)
        work = self.work(form, self.numbers(count, lr, weight_decay))
        arrays, size = (values, gradient, *slots.values()), values.size
        for start in range(0, size, CHUNK):
            parts = arrays
            if size > CHUNK:
                parts = tuple(each[start : start + CHUNK] for each in arrays)
            work(parts, self._room(values.dtype, parts[0].size))

    def form(self, count: int, weight_decay: float) -> Form:
        """The form of update number ``count``."""
        return Form(weight_decay != 0, self._variant(count))

    def numbers(self, count: int, lr: float, weight_decay: float) -> Numbers:
        """The numbers of update number ``count``, which ``work`` takes."""
        decay = 1 - lr * weight_decay if self._decoupled else weight_decay
        return decay, *self._numbers(count, lr)

    def work(self, form: Form, numbers: Numbers) -> Work:
        """An update of a form, as a function of arrays, which are values, gradient and state, and
        of ``room`` + 1 arrays to work in. It hands numbers to NumPy as they are.
        """
        decay, *others = numbers

        def work(arrays: Sequence[Array], rooms: Sequence[Array]) -> None:
            v, g, *state = arrays
            own, *room = rooms
            if self.method.maximize:
                g = np.negative(g, out=own)
            if form.decays and self._decoupled:
                np.multiply(v, decay, out=v)
            elif form.decays:
                np.multiply(v, decay, out=room[0])
                g = np.add(g, room[0], out=own)
            self._move(Operands(v, g, state, room), others, form.variant)

        return work

    def recorded(self, form: Form) -> Recording:
        """The operations of a form; their scalars stand for ``numbers``, or are numbers."""
        found = self._recorded.get(form)
        if found is None:
            given = [Number(place) for place in range(len(self.numbers(1, 1.0, 0.0)))]
            work = self.work(form, given)  # type: ignore[arg-type]  # they stand for floats
            found = record(work, 2 + len(self._slot_names()), self.room + 1)
            self._recorded[form] = found
        return found

    def rests(self, dtype: np.dtype[Any], weight_decay: float) -> bool:
        """Whether a gradient of 0 changes no bit of values and state, whatever these are."""
        return not (weight_decay or self.method.maximize) and self._rests(dtype)

    def _rests(self, dtype: np.dtype[Any]) -> bool:
        """As ``rests``, for a gradient that is neither changed nor negated."""
        return False

    def _room(self, dtype: np.dtype[Any], size: int) -> tuple[Array, ...]:
        """Arrays to work in, one of them for the gradient with what is added to it."""
        room = self._rooms.get(dtype)
        if room is None or room[0].size < size:
            room = self._rooms[dtype] = tuple(np.empty(size, dtype) for _ in range(self.room + 1))
        return tuple([each[:size] for each in room])

    @abstractmethod
    def _slot_names(self) -> Sequence[str]:
        """The names of the state, in the order in which a move has it."""

    def _variant(self, count: int) -> Hashable:
        """What decides which operations update number ``count`` makes, besides weight decay."""
        return None

    @abstractmethod
    def _numbers(self, count: int, lr: float) -> Numbers:
        """What changes from update to update, as ``_move`` takes it."""

    @abstractmethod
    def _move(self, on: Operands, numbers: Numbers, variant: Hashable) -> None:
        """Move values and state in place; what is computed from numbers is in ``_numbers``."""


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
