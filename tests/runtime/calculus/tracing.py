"""A function of xp traced and run kernel by kernel, with none of the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Namespace

Array = NDArray[Any]
Function = Callable[..., Any]


def leaf(trace: Trace, shape: Sequence[int] = (), dtype: str = "float64") -> Value:
    """A value that tests bind."""
    return trace.apply(LEAF, shape=tuple(shape), dtype=dtype)


def namespace() -> Namespace:
    """The namespace of a new trace."""
    return Trace().xp


def compute(result: Value, bound: Mapping[Value, Array]) -> Array:
    """A value and all that it needs, by their kernels; shape and dtype are what tracing said.

    Outputs begin as garbage: a kernel that leaves an element out is seen.
    """
    arrays = dict(bound)
    needed, pending = {result}, [result]
    while pending:
        fresh = set(pending.pop().inputs) - needed
        needed |= fresh
        pending += fresh
    with np.errstate(all="ignore"):
        for value in result.trace.values:
            if value in arrays or value not in needed:
                continue
            inputs = [arrays[source] for source in value.inputs]
            before = [array.copy() for array in inputs]
            if value.primitive.view:
                out = value.primitive.kernel(*inputs, **value.attributes)
            else:
                out = np.full(value.shape, 77, value.dtype)
                value.kernel(*inputs, out=out, **value.attributes)
            assert (out.shape, out.dtype.name) == (value.shape, value.dtype), value
            for array, old in zip(inputs, before, strict=True):
                np.testing.assert_array_equal(array, old, err_msg=f"{value} wrote to its input")
            arrays[value] = out
    return arrays[result]


class Traced:
    """``function(xp, *inputs)`` of one output, traced for arrays like those given."""

    def __init__(self, function: Function, *inputs: Any) -> None:
        self.arrays = [np.asarray(x) for x in inputs]
        self.trace = Trace()
        self.leaves = [leaf(self.trace, x.shape, x.dtype.name) for x in self.arrays]
        self.out: Value = self.trace.xp.asarray(function(self.trace.xp, *self.leaves))

    @property
    def primitives(self) -> set[str]:
        """Names of the primitives that the trace has."""
        return {value.primitive.name for value in self.trace.values}

    def read(self, value: Value, *inputs: Any) -> Array:
        """A value of the trace at other inputs, those given at first by default."""
        arrays = [np.asarray(x) for x in inputs] or self.arrays
        bound = dict(zip(self.leaves, arrays, strict=True))
        if self.trace.step is not None:
            bound[self.trace.step] = np.array(0, "uint32")
        return compute(value, bound)

    def value(self, *inputs: Any) -> Array:
        """The output."""
        return self.read(self.out, *inputs)

    def gradients(self, seed: Any = 1.0) -> list[Value | None]:
        """d(Σ seed · out)/d(input) as values, None where no path connects."""
        found = sweep([(self.out, self._seed(self.out, seed))], self.leaves)
        return [found.get(x) for x in self.leaves]

    def gradient(self, slot: int = 0, seed: Any = 1.0) -> Array | None:
        """The gradient of one input as an array."""
        value = self.gradients(seed)[slot]
        return None if value is None else self.read(value)

    def _seed(self, out: Value, seed: Any) -> Value:
        return self.trace.xp.asarray(np.broadcast_to(np.asarray(seed, out.dtype), out.shape))


def run(function: Function, *inputs: Any) -> Array:
    """The output of a traced function."""
    return Traced(function, *inputs).value()


def gradient(function: Function, *inputs: Any, slot: int = 0, seed: Any = 1.0) -> Array | None:
    """d(Σ seed · output)/d(input ``slot``)."""
    return Traced(function, *inputs).gradient(slot, seed)


def derivative(function: Function, x: Any, order: int) -> Array:
    """The derivative of ``order`` of a function of one array, elementwise."""
    traced = Traced(function, x)
    value, xp = traced.out, traced.trace.xp
    for _ in range(order):
        value = xp.gradient(value, traced.leaves[0])
    return traced.read(value)


def slope(
    function: Callable[..., Array],
    inputs: Sequence[Array],
    slot: int,
    direction: Array,
    step: float = 1e-6,
) -> float:
    """The central difference of ``Σ function(*inputs)`` along a direction of one input."""
    totals = []
    for sign in (1, -1):
        moved = list(inputs)
        moved[slot] = inputs[slot] + sign * step * direction
        totals.append(np.sum(function(*moved)))
    return float((totals[0] - totals[1]) / (2 * step))
