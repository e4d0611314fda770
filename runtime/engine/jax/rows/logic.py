"""Comparison, logic, bits and selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax import lax
from jax import numpy as jnp

from gradwire.runtime.engine.jax.rows.arithmetic import of_two
from gradwire.runtime.engine.jax.rows.base import Row, broadcast

if TYPE_CHECKING:
    from jax import Array


def _where(condition: Array, a: Array, b: Array) -> Array:
    return lax.select(*broadcast(condition, a, b))


def _right_shift(a: Array, b: Array) -> Array:
    unsigned = jnp.issubdtype(a.dtype, jnp.unsignedinteger)
    return lax.shift_right_logical(a, b) if unsigned else lax.shift_right_arithmetic(a, b)


ROWS = {
    "equal": of_two(lax.eq),
    "not_equal": of_two(lax.ne),
    "less": of_two(lax.lt),
    "less_equal": of_two(lax.le),
    "greater": of_two(lax.gt),
    "greater_equal": of_two(lax.ge),
    "logical_and": of_two(lax.bitwise_and),
    "logical_or": of_two(lax.bitwise_or),
    "logical_xor": of_two(lax.bitwise_xor),
    "logical_not": Row(lax.bitwise_not),
    "isnan": Row(lambda x: x != x),
    "isfinite": Row(jnp.isfinite),
    "bitwise_and": of_two(lax.bitwise_and),
    "bitwise_or": of_two(lax.bitwise_or),
    "bitwise_xor": of_two(lax.bitwise_xor),
    "left_shift": of_two(lax.shift_left),
    "right_shift": of_two(_right_shift),
    "where": Row(_where),
}
