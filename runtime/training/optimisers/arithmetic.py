"""How an optimiser moves variables that lie side by side, as its lines say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.values import Array
from gradwire.runtime.engine.plan.recording import InPlace, Number, Recorded, Recorder

if TYPE_CHECKING:
    from gradwire.runtime.diagram.optimisers import Method


# Reads the lines of an optimiser's update: what they do to arrays, and with which numbers.

Numbers: TypeAlias = tuple[float, ...]

_SLOT = re.compile(r'memory\.get\("(\w+)", (.*?\bv)\)')
"""What memory has of each value, and what that is before the first update."""
_ARGUMENTS = ("t", "lr", "decay")
_UNKNOWN = math.nan, math.nan
"""The rate and the weight decay, for what does not depend on them."""
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "pow": "**"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def slots_of(method: Method) -> dict[str, float]:
    """The names of a method's state, in order, and what its elements are before any update."""
    found = _SLOT.findall("\n".join(method.move("np")))
    return {name: float(eval(start, {"v": 0.0})) for name, start in found}


class UpdateProgram:
    """Updates that make the same operations on arrays, with other numbers."""

    def __init__(self, method: Method, slots: Iterable[str], count: int, decays: bool) -> None:
        """What update number ``count`` of a method does."""
        names = tuple(slots)
        reader = _Reader(2 + len(names), count)
        value, gradient, *state = (Recorded(reader, i) for i in range(2 + len(names)))
        memory = _Memory(reader, dict(zip(names, state, strict=True)))
        scope: dict[str, Any] = {name: _Scalar(reader, name, {name}) for name in _ARGUMENTS}
        scope |= {"np": np, "math": _Math(), "memory": memory, "v": value, "g": gradient}
        exec("\n".join(method.update("np", "decay" if decays else "")), scope)
        self.recording = reader.recording([scope["v"], gradient, *(memory[n] for n in names)])
        """The operations; their scalars stand for ``numbers``, or are numbers."""
        self.branches = tuple(reader.branches.values())
        """Whether each condition that a line depends on holds."""
        self._kept = memory.starts
        self._before = [tuple(memory.starts.values())]
        """The numbers in memory before each update, as far as they were needed."""
        kept = [memory[name] for name in memory.starts]
        self._function = reader.function(reader.placed, kept, reader.branches)

    def numbers(self, count: int, lr: float, weight_decay: float) -> Numbers:
        """What changes from update to update, for update number ``count``, from 1 on."""
        return self._function(count, lr, weight_decay, *self._memory(count))[0]

    def branches_of(self, count: int) -> Numbers:
        """Whether each condition holds in update number ``count``."""
        return self._function(count, *_UNKNOWN, *self._memory(count))[2]

    def kept(self, count: int) -> dict[str, float]:
        """The numbers in memory that are the same for all values, after update ``count``."""
        return dict(zip(self._kept, self._memory(count + 1), strict=True))

    def _memory(self, count: int) -> Numbers:
        known = self._before
        if self._kept:
            for number in range(len(known), count):
                known.append(self._function(number, *_UNKNOWN, *known[-1])[1])
            return known[count - 1]
        return ()


class _Reader(Recorder):
    """Records operations on arrays, and collects the lines that compute numbers."""

    def __init__(self, arrays: int, count: int) -> None:
        super().__init__(arrays)
        self.placed: dict[str, int] = {}
        """The numbers that are combined with arrays, and their places."""
        self.branches: dict[str, bool] = {}
        """The conditions that lines depend on, and whether they hold in update ``count``."""
        self.parameters = list(_ARGUMENTS)
        self._count = count
        self._lines: list[str] = []

    def let(self, expression: str, needs: Set[str]) -> _Scalar:
        """A number that is computed in a line of its own."""
        name = f"s{len(self._lines)}"
        self._lines.append(f"{name} = {expression}")
        return _Scalar(self, name, needs)

    def decide(self, scalar: _Scalar) -> bool:
        """Whether a condition holds; raises ValueError where it depends on more than ``t``."""
        if not scalar.needs <= {"t"}:
            raise ValueError("an update may branch by t alone")
        others = [math.nan] * (len(self.parameters) - 1)
        self.branches[scalar.name] = bool(self.function([scalar])(self._count, *others)[0][0])
        return self.branches[scalar.name]

    def function(self, *results: Iterable[object]) -> Callable[..., tuple[Numbers, ...]]:
        """The function of the lines that returns tuples of these numbers."""
        head = f"def numbers({', '.join(self.parameters)}):"
        tuples = (f"({''.join(f'{each}, ' for each in numbers)})" for numbers in results)
        scope: dict[str, Any] = {"math": math}
        lines = [head, *self._lines, f"return {', '.join(tuples)},"]
        exec("\n    ".join(lines), scope)
        return scope["numbers"]  # type: ignore[no-any-return]  # made by exec, so it has no type

    def _number(self, x: object) -> int:
        if isinstance(x, _Scalar):
            x = Number(self.placed.setdefault(x.name, len(self.placed)))
        return super()._number(x)


class _Scalar:
    """Stands for a number of an update that is known only when it is made."""

    def __init__(self, reader: _Reader, name: str, needs: Set[str]) -> None:
        self.reader, self.name, self.needs = reader, name, needs

    def __str__(self) -> str:
        return self.name

    def __bool__(self) -> bool:
        return self.reader.decide(self)

    def __neg__(self) -> _Scalar:
        return self.reader.let(f"-{self}", self.needs)


def _operator(sign: str, is_swapped: bool) -> Callable[[_Scalar, object], object]:
    def operate(self: _Scalar, other: object) -> object:
        if not isinstance(other, _Scalar | int | float):
            return NotImplemented  # an array records it
        needs = self.needs | (other.needs if isinstance(other, _Scalar) else set())
        one, two = (other, self) if is_swapped else (self, other)
        return self.reader.let(f"({one}) {sign} ({two})", needs)

    return operate


for _name, _sign in (_SIGNS | _COMPARISONS).items():
    setattr(_Scalar, f"__{_name}__", _operator(_sign, is_swapped=False))
for _name, _sign in _SIGNS.items():
    setattr(_Scalar, f"__r{_name}__", _operator(_sign, is_swapped=True))


class _Math:
    """The module ``math`` for numbers that are not known yet, too."""

    def __getattr__(self, name: str) -> Callable[[object], object]:
        function: Callable[[Any], Any] = getattr(math, name)

        def call(x: object) -> object:
            return (
                x.reader.let(f"math.{name}({x})", x.needs)
                if isinstance(x, _Scalar)
                else (function(x))
            )

        return call


class _Memory(dict[str, Any]):
    """What is kept from update to update: arrays, and numbers that lines ask for."""

    def __init__(self, reader: _Reader, arrays: dict[str, Recorded]) -> None:
        super().__init__(arrays)
        self.starts: dict[str, float] = {}
        """The numbers, and what they are before the first update."""
        self._reader = reader

    def get(self, name: str, start: Any = None) -> object:
        """What was kept under a name."""
        if name not in self:
            self.starts[name] = float(start)
            self._reader.parameters.append(name)
            self[name] = _Scalar(self._reader, name, {name})
        return self[name]


CHUNK = 1 << 15
"""Elements that are updated at a time: small enough to stay in a processor's cache."""

Work: TypeAlias = Callable[[Sequence[Array], Sequence[Array]], None]
"""Changes the first arrays in place; then come arrays of the same size to work in."""


class Arithmetic:
    """How one optimiser moves variables that lie in one dimension, side by side.

    All variables of a call have had the same number of updates. Gradients are left as they are.
    Raises RunError for options that exclude each other.
    """

    def __init__(self, method: Method) -> None:
        method.require_consistent()
        self.method = method
        self._starts = slots_of(method)
        self._first: dict[bool, UpdateProgram] = {}
        self._programs: dict[tuple[bool, tuple[float, ...]], UpdateProgram] = {}
        self._in_place: dict[UpdateProgram, InPlace] = {}

    def slots(self, like: Array) -> dict[str, Array]:
        """The state before the first update by PyTorch's names, in arrays like ``like``."""
        found = {name: np.zeros_like(like) for name in self._starts}
        for name, start in self._starts.items():
            if start:
                found[name][...] = start
        return found

    def program(self, count: int, weight_decay: float) -> UpdateProgram:
        """What update number ``count``, from 1 on, does."""
        decays = weight_decay != 0
        first = self._first.get(decays)
        if first is None:
            first = self._first[decays] = UpdateProgram(self.method, self._starts, count, decays)
        if not first.branches:
            return first
        key = decays, first.branches_of(count)
        found = self._programs.get(key)
        if found is None:
            found = UpdateProgram(self.method, self._starts, count, decays)
            if found.branches != key[1]:
                raise ValueError(f"the branches of {self.method.kind} are not on one level")
            self._programs[key] = found
        return found

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
        program = self.program(count, weight_decay)
        arrays, size = (values, gradient, *slots.values()), values.size
        work = self._in_place.get(program)
        if work is None:
            work = self._in_place[program] = InPlace(program.recording, len(arrays))
        numbers = program.numbers(count, lr, weight_decay)
        for start in range(0, size, CHUNK):
            parts = arrays
            if size > CHUNK:
                parts = tuple([each[start : start + CHUNK] for each in arrays])
            work.run(parts, numbers)

    def rests(self, dtype: np.dtype[np.generic], weight_decay: float) -> bool:
        """Whether a gradient of 0 changes no bit of values and state, whatever these are."""
        return not (weight_decay or self.method.maximize) and self.method.rests(dtype)
