"""How JAX computes each primitive: one row each, to the numbers of the numpy kernels.

What XLA makes of them differs: numbers below the least normal one are 0 on a processor; functions
round in another way, by up to 8 units in the last place; sums are added in another order; dividing
by a broadcast number is multiplying by its reciprocal; constants that are added one after the
other are added up first; float64 becomes float16 by way of float32; of 0 and −0, ``maximum`` may
take the other one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from jax import numpy as jnp

from gradwire.blocks.plugins import is_own
from gradwire.runtime.engine.jax.rows import (
    arithmetic,
    convolution,
    functions,
    indexing,
    linear,
    logic,
    matrices,
    reductions,
    scattering,
    shaping,
)
from gradwire.runtime.engine.jax.rows.foreign import called

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.jax.rows.base import Row

_FAMILIES = (arithmetic, functions, logic, reductions, shaping, indexing, scattering, linear,
             matrices, convolution)  # fmt: skip
ROWS: Mapping[str, Row] = MappingProxyType(
    {name: row for family in _FAMILIES for name, row in family.ROWS.items()}
)
"""The row of each primitive by its name; leaves and constants have none."""


def apply(value: Value, arrays: Sequence[Any]) -> Any:
    """A value, in its dtype and shape, from the arrays of its inputs; within ``enable_x64``.

    Transcendental functions of float32 scalars are computed in float64, as numpy's are. A primitive
    of a plug-in is called on the host.
    """
    row = _row(value)
    inputs = [jnp.asarray(x) for x in arrays]
    if row is None:
        return called(value, inputs)
    if value.primitive.transcendental and not value.shape and value.dtype == "float32":
        inputs = [x.astype(jnp.float64) for x in inputs]
    return row.compute(*inputs, **value.attributes).astype(value.dtype)


def failure(value: Value, arrays: Sequence[Any]) -> Any | None:
    """Whether the numpy kernel raises for these inputs, a boolean of rank 0; None if for none."""
    row = _row(value)
    if row is None or row.fails is None or (row.safe is not None and row.safe(value)):
        return None
    return row.fails(*map(jnp.asarray, arrays), **value.attributes)


def _row(value: Value) -> Row | None:
    """The row of a primitive of the runtime; a plug-in's may have any name."""
    return ROWS.get(value.primitive.name) if is_own(value.primitive.kernel) else None
