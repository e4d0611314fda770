"""Traces the body of a scan, which may use any value from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.calculus.primitives.base import CONSTANT, LEAF
from gradwire.runtime.calculus.primitives.random import seed_of
from gradwire.runtime.calculus.scan import Body, Carried, copied, result
from gradwire.runtime.calculus.trace import Trace

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.calculus.value import Value

_SMALL = 16
"""Elements up to which a constant is one of the body too."""


class BodyTrace:
    """The trace of a step, until its body is closed; the scan is to be on the trace ``outside``.

    ``owner`` is that of ``Body``.
    """

    def __init__(
        self, outside: Trace, steps: int, reverse: bool, owner: Callable[[Any, int], object]
    ) -> None:
        self.trace = Trace(own_seed=self._own_seed)
        self._outside = outside
        self._how = steps, reverse, owner
        self._carried: list[tuple[Value, Value]] = []
        self._rows: list[tuple[Value, Value]] = []
        self._fixed: dict[Value, Value] = {}

    def carry(self, initial: Value) -> Value:
        """What a step gets of a carried value."""
        leaf = self._leaf(initial.shape, initial)
        self._carried.append((initial, leaf))
        return leaf

    def row(self, whole: Value) -> Value:
        """What a step gets of the elements along axis 0."""
        leaf = self._leaf(whole.shape[1:], whole)
        self._rows.append((whole, leaf))
        return leaf

    def here(self, value: Value) -> Value:
        """The value in a step, which may be one from outside."""
        if value.trace is self.trace:
            return value
        if value.primitive is CONSTANT and value.size <= _SMALL:
            return copied(value, self.trace, (), self.trace.owner)
        if value not in self._fixed:
            leaf = self._fixed[value] = self._leaf(value.shape, value)
            if value in value.trace.weak_integers:
                self.trace.weak_integers[leaf] = value.trace.weak_integers[value]
        return self._fixed[value]

    def keeps(self, after: Sequence[Value]) -> bool:
        """Whether what is carried keeps its shape and dtype if it becomes this."""
        pairs = zip((leaf for _, leaf in self._carried), after, strict=True)
        return all(
            (x.shape, x.dtype, False) == (now.shape, now.dtype, now.weak) for x, now in pairs
        )

    def closed(self, after: Sequence[Value]) -> ClosedBody:
        """The body, in which carried values, in the order in which they came, get these of it."""
        pairs = zip(self._carried, after, strict=True)
        steps, reverse, owner = self._how
        if self.trace.step is not None:
            self._fixed[self._outside.xp.step()] = self.trace.step
        body = Body(
            self.trace,
            steps,
            reverse,
            [Carried(before, value) for (_, before), value in pairs],
            [leaf for _, leaf in self._rows],
            list(self._fixed.values()),
            owner,
        )
        whole = [value for value, _ in (*self._carried, *self._rows)]
        return ClosedBody(body, [*whole, *self._fixed])

    def _own_seed(self) -> Value:
        """The seed that the current owner has in each step."""
        steps, _, owner = self._how
        seeds = [seed_of(owner(self.trace.owner, step)) for step in range(steps)]
        return self.row(self._outside.xp.asarray(np.array(seeds, np.uint32)))

    def _leaf(self, shape: Shape, like: Value) -> Value:
        return self.trace.apply(LEAF, shape=shape, dtype=like.dtype, weak=like.weak)


class ClosedBody:
    """A body and what is given to it."""

    def __init__(self, body: Body, inputs: Sequence[Value]) -> None:
        self._body, self._inputs = body, inputs

    def last(self, place: int) -> Value:
        """The carried value at this place after the last step."""
        return result(self._body, self._inputs, "last", self._body.carried[place].after)

    def stack(self, value: Value) -> Value:
        """A value of the body, of all steps along a new axis 0."""
        return result(self._body, self._inputs, "stack", value)
