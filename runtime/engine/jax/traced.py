"""Values of a trace as a function that JAX can trace and compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from numpy.typing import NDArray

from blocks.errors import Location, RunError
from runtime.calculus.primitives.base import CONSTANT, LEAF
from runtime.engine.jax.rows import ROWS, apply, failure
from runtime.engine.plan.simplify import simplify

if TYPE_CHECKING:
    from runtime.calculus import Value

Array = NDArray[Any]

_INLINE = 1 << 10
"""Elements up to which a constant is a part of the program; larger ones are passed to it."""


class Traced:
    """Computes outputs from ``leaves`` and ``constants``, both passed as arrays."""

    def __init__(self, outputs: Sequence[Value]) -> None:
        self.outputs = list(dict.fromkeys(outputs))
        self._computed, self._same = simplify(self.outputs)
        self.leaves = [v for v, _ in self._computed if v.primitive is LEAF]
        self.constants = {
            v: v.attributes["array"]
            for v, _ in self._computed
            if v.primitive is CONSTANT and v.size > _INLINE
        }
        """Large constants, which stay out of the program."""
        self.checked: list[Value] = []
        """The values whose arithmetic may fail, once this was traced."""

    @property
    def values(self) -> list[Value]:
        """What is computed: neither leaves nor constants."""
        return [v for v, _ in self._computed if v.primitive not in (LEAF, CONSTANT)]

    def __call__(self, known: Mapping[Value, Any]) -> tuple[list[Any], list[Any]]:
        """The outputs, and for each of ``checked`` whether it failed, given leaves and constants.

        Called while JAX traces.
        """
        found = dict(known)
        checked: list[Value] = []
        failures: list[Any] = []
        for value, inputs in self._computed:
            if value in found:
                continue
            if value.primitive is CONSTANT:
                found[value] = jnp.asarray(value.attributes["array"])
                continue
            arrays = [found[x] for x in inputs]
            flag = failure(value, arrays)
            if flag is not None:
                checked.append(value)
                failures.append(flag)
            found[value] = apply(value, arrays)
        self.checked = checked
        return [found[self._same.of(value)] for value in self.outputs], failures


def failed(value: Value) -> RunError:
    """The error of a value whose arithmetic failed."""
    row = ROWS[value.primitive.name]
    why = row.why(value) if row.why is not None else "the numbers are not allowed here"
    place = Location(block=value.owner) if value.owner else None
    return RunError(f"The run failed: {why.rstrip('.')}.", location=place)
