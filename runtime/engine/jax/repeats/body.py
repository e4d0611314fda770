"""A loop in the making: what its steps compute, carry and read, and what is read of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.engine.jax.repeats.parts import Carried, Computed, Rows
    from gradwire.runtime.engine.jax.repeats.segments import Segments


class Home(NamedTuple):
    """Where a value is computed: by which loop, as which of its values, in which step."""

    body: Body
    copy: Value
    step: int


class Body:
    """The values of one step of a loop, each a copy that stands for those of all steps.

    The copies and the slots for what they read are values of a trace of their own.
    """

    def __init__(self, found: Segments, first: int, stacks: dict[Value, Home]) -> None:
        self.segments = found
        self.steps = found.steps
        self.first = first
        """The order of the first operation: the loop depends on nothing from there on."""
        self.reverse = False
        self.computed: list[Computed] = []
        self.originals: dict[Value, tuple[Value, ...]] = {}
        self.carried: list[Carried] = []
        self.rows: dict[tuple[Rows, tuple[int, ...]], Value] = {}
        self.fixed: dict[Value, Value] = {}
        self._stacks: dict[Value, Value] = {}
        self._all_stacks = stacks
        self._trace = Trace()

    def __lt__(self, other: Body) -> bool:
        return self.first < other.first

    def add(self, originals: tuple[Value, ...], inputs: Sequence[Value]) -> Value:
        """Compute one more value in each step: that of the originals."""
        like = originals[-1]
        self._trace.owner = like.owner
        copy = Value(
            self._trace, like.primitive, tuple(inputs), like.attributes, like.shape, like.dtype
        )
        self.computed.append((copy, list(inputs)))
        self.originals[copy] = originals
        return copy

    def slot(self, like: Value) -> Value:
        """A place for an array that is given to each step."""
        return self.leaf(like.shape, like.dtype)

    def fix(self, value: Value) -> Value:
        """The slot of a value that is the same in all steps."""
        if value not in self.fixed:
            self.fixed[value] = self.slot(value)
        return self.fixed[value]

    def row(self, rows: Rows, like: Value) -> Value:
        """The slot of a value that is another one in each step."""
        key = rows, like.shape
        if key not in self.rows:
            self.rows[key] = self.slot(like)
        return self.rows[key]

    def stack(self, copy: Value) -> Value:
        """The results of all steps along a new axis 0."""
        if copy not in self._stacks:
            stack = self._stacks[copy] = self.leaf((self.steps, *copy.shape), copy.dtype)
            self._all_stacks[stack] = Home(self, copy, 0)
        return self._stacks[copy]

    def row_of(self, step: int) -> int:
        """Where the result of a step is in a stack."""
        return self.steps - 1 - step if self.reverse else step

    def leaf(self, shape: tuple[int, ...], dtype: str) -> Value:
        """A name for an array."""
        self._trace.owner = None
        return Value(self._trace, LEAF, (), {"shape": shape, "dtype": dtype}, shape, dtype)
