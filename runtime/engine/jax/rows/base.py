"""What a row says of a primitive, and what rows share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jax import numpy as jnp

from gradwire.blocks.plugins import is_own

if TYPE_CHECKING:
    from jax import Array

    from gradwire.runtime.calculus import Value


class JaxRow(NamedTuple):
    """How JAX computes a primitive, to the numbers of its numpy kernel.

    Functions take the arrays of the inputs and the attributes of the value, which are static.
    """

    compute: Callable[..., Any]
    """An array of the value's shape, for which it may be in a wider dtype."""
    fails: Callable[..., Any] | None = None
    """A boolean of rank 0: whether the numpy kernel raises."""
    why: Callable[[Value], str] | None = None
    """What the numpy kernel raises, as far as that is known without the numbers."""
    safe: Callable[[Value], bool] | None = None
    """Whether it raises for no numbers that the value's inputs can have."""


def origin(value: Value) -> Value:
    """The value that has all elements which a chain of views shows."""
    while value.primitive.view and value.inputs and is_own(value.primitive.kernel):
        value = value.inputs[0]
    return value


def broadcast(*arrays: Array) -> tuple[Array, ...]:
    """The arrays in their common shape."""
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    return tuple(x if x.shape == shape else jnp.broadcast_to(x, shape) for x in arrays)


def some(x: Array) -> Array:
    """Whether an element is true: counted, as a sum over devices travels with those of gradients,
    where one of booleans would be an exchange of its own.
    """
    return jnp.sum(x, dtype=jnp.float32) > 0


def wide(x: Array) -> Array:
    """``x`` in the dtype that sums and matrices are computed in: float32 for float16."""
    return x.astype(jnp.float32) if x.dtype == jnp.float16 else x
