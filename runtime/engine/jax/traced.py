"""Values of a trace as a function that JAX can trace and compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import numpy as jnp

from gradwire.blocks.errors import Location, RunError
from gradwire.runtime.calculus.primitives.base import CONSTANT, LEAF
from gradwire.runtime.engine.jax.rows.table import ROWS, apply, failure
from gradwire.runtime.engine.jax.scans import count_operations, evaluate
from gradwire.runtime.engine.plan.simplify import simplify

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


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
        """The values whose arithmetic may fail, of scans those of all steps, once it was traced."""

    @property
    def operations(self) -> int:
        """How many operations are compiled."""
        return count_operations(self._computed)

    @property
    def values(self) -> list[Value]:
        """What is computed: neither leaves nor constants."""
        return [v for v, _ in self._computed if v.primitive not in (LEAF, CONSTANT)]

    def __call__(self, known: Mapping[Value, Any]) -> tuple[list[Any], Any]:
        """The outputs, and for each of ``checked`` whether it failed, a boolean array (n,).

        ``known`` are leaves and constants. Called while JAX traces.
        """
        found = dict(known)
        failures = evaluate(self._computed, found, apply, failure)
        self.checked = [value for each in failures for value in each.values]
        flags = [jnp.zeros(0, jnp.bool_), *(each.flags for each in failures)]
        outputs = [found[self._same.of(value)] for value in self.outputs]
        return outputs, jnp.concatenate(flags)


def require_success(checked: Sequence[Value], flags: Array) -> None:
    """Raise RunError with the first block whose arithmetic failed; flags have the values last."""
    if checked and flags.any():
        failures = np.flatnonzero(flags.reshape(-1, len(checked)).any(axis=0))
        raise _failed(checked[failures[0]])


def _failed(value: Value) -> RunError:
    """The error of a value whose arithmetic failed."""
    row = ROWS[value.primitive.name]
    why = row.why(value) if row.why is not None else "the numbers are not allowed here"
    place = Location(block=value.owner) if value.owner else None
    return RunError(f"The run failed: {why.rstrip('.')}.", location=place)
