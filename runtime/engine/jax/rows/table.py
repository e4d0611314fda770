"""How JAX computes each primitive: as it is spelled, or by a row, to the numbers of numpy kernels.

What XLA makes of them differs: numbers below the least normal one are 0 on a processor; functions
round in another way, by up to 8 units in the last place; sums are added in another order; dividing
by a broadcast number is multiplying by its reciprocal; constants that are added one after the
other are added up first; float64 becomes float16 by way of float32; of 0 and −0, ``maximum`` may
take the other one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import CodeType, MappingProxyType
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from gradwire.blocks.plugins import is_own
from gradwire.runtime.engine.jax.rows import (
    arithmetic,
    convolution,
    indexing,
    matrices,
    shaping,
)
from gradwire.runtime.engine.jax.rows.base import broadcast

if TYPE_CHECKING:
    from jax import Array

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.jax.rows.base import JaxRow


def called(value: Value, arrays: Sequence[Array]) -> Array:
    """The value as its numpy kernel computes it, on the host in each run."""

    def compute(*given: Any) -> Any:
        inputs = [np.asarray(x) for x in given]
        if value.primitive.view:
            found = value.primitive.kernel(*inputs, **value.attributes)
            return np.ascontiguousarray(found, value.dtype)
        out = np.empty(value.shape, value.dtype)
        with np.errstate(all="ignore"):
            value.kernel(*inputs, out=out, **value.attributes)
        return out

    shape = jax.ShapeDtypeStruct(value.shape, value.dtype)
    return jax.pure_callback(compute, shape, *arrays, vmap_method="sequential")


_FAMILIES = (arithmetic, shaping, indexing, matrices, convolution)  # fmt: skip
ROWS: Mapping[str, JaxRow] = MappingProxyType(
    {name: row for family in _FAMILIES for name, row in family.ROWS.items()}
)
"""The rows of primitives that are not what they are spelled as, by name."""


def apply(value: Value, arrays: Sequence[Any]) -> Any:
    """A value, in its dtype and shape, from the arrays of its inputs; within ``enable_x64``.

    Transcendental functions of float32 scalars are computed in float64, as numpy's are. A primitive
    of a plug-in that is not spelled for JAX is called on the host.
    """
    primitive, row = value.primitive, _row(value)
    inputs = [jnp.asarray(x) for x in arrays]
    if row is None and not isinstance(primitive.spelling.jax, str):
        return called(value, inputs)
    if primitive.elementwise:
        inputs = list(broadcast(*inputs))
    if primitive.transcendental and not value.shape and value.dtype == "float32":
        inputs = [x.astype(jnp.float64) for x in inputs]
    found = _spelled(value, inputs) if row is None else row.compute(*inputs, **value.attributes)
    return found.astype(value.dtype)


def _spelled(value: Value, inputs: Sequence[Any]) -> Any:
    """What a primitive is by its spelling, which names its inputs and attributes."""
    names = {"jax": jax, "jnp": jnp, "lax": lax, "shape": value.shape, "dtype": value.dtype}
    names |= zip("abc", inputs, strict=False)
    return eval(_code(str(value.primitive.spelling.jax)), names | dict(value.attributes))


@cache
def _code(text: str) -> CodeType:
    return compile(text, "<spelling>", "eval")


def failure(value: Value, arrays: Sequence[Any]) -> Any | None:
    """Whether the numpy kernel raises for these inputs, a boolean of rank 0; None if for none."""
    row = _row(value)
    if row is None or row.fails is None or (row.safe is not None and row.safe(value)):
        return None
    return row.fails(*map(jnp.asarray, arrays), **value.attributes)


def _row(value: Value) -> JaxRow | None:
    """The row of a primitive of the runtime; a plug-in's may have any name."""
    return ROWS.get(value.primitive.name) if is_own(value.primitive.kernel) else None
