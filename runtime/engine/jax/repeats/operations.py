"""The operations of a computation in their order, each with a number for its kind."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.base import BROADCAST, CAST, CONSTANT, LEAF, RESHAPE
from gradwire.runtime.calculus.primitives.shape import FLIP, PERMUTE, SLICE
from gradwire.runtime.engine.plan.simplify import attribute_key

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.jax.repeats.parts import Computed

CHEAP = frozenset({RESHAPE, PERMUTE, BROADCAST, CAST, SLICE, FLIP})
"""Primitives of one input that cost little or nothing within a compiled program."""


class Operations:
    """A computation: ``inputs`` and ``order`` of each value, and the operations that may repeat.

    Leaves, constants, what follows from constants alone and cheap functions of a single leaf are
    ``free``: at hand before anything else. They are no part of what repeats, because the first
    repetition alone may have them: a weight is transposed once for all steps.
    """

    def __init__(self, computed: Sequence[Computed]) -> None:
        self.inputs: dict[Value, list[Value]] = dict(computed)
        self.order = {value: i for i, value in enumerate(self.inputs)}
        self._constant: set[Value] = set()
        self._free: set[Value] = set()
        self._kinds: dict[Hashable, int] = {}
        self._kind: dict[Value, int] = {}
        for value, inputs in computed:
            self._classify(value, inputs)
        self.entries = [v for v, _ in computed if v not in self._free]
        """What may repeat."""
        self.place = {value: i for i, value in enumerate(self.entries)}

    def free(self, value: Value) -> bool:
        """Whether it depends on no operation that may repeat."""
        return value in self._free or value not in self.order

    def kind(self, value: Value) -> int:
        """Equal for the same primitive, attributes, shapes and dtypes; −1 without inputs."""
        return self._kind.get(value, -1)

    @cached_property
    def kinds(self) -> NDArray[Any]:
        """The kinds of the entries."""
        return np.array([self._kind[value] for value in self.entries], dtype=np.int64)

    @cached_property
    def readers(self) -> dict[Value, list[Value]]:
        """The values that read each value, once for each of their inputs."""
        found: dict[Value, list[Value]] = {}
        for value, inputs in self.inputs.items():
            for source in inputs:
                found.setdefault(source, []).append(value)
        return found

    def _classify(self, value: Value, inputs: Sequence[Value]) -> None:
        primitive = value.primitive
        if primitive is LEAF:
            self._free.add(value)
        elif primitive is CONSTANT or all(x in self._constant for x in inputs):
            self._constant.add(value)
            self._free.add(value)
        elif primitive in CHEAP and self.free(inputs[0]):
            self._free.add(value)
        if inputs:
            self._kind[value] = self._kinds.setdefault(_signature(value, inputs), len(self._kinds))


def _signature(value: Value, inputs: Sequence[Value]) -> Hashable:
    attributes = tuple(map(attribute_key, value.attributes.values()))
    read = tuple((x.dtype, x.shape) for x in inputs)
    return value.primitive, value.dtype, value.shape, attributes, read
