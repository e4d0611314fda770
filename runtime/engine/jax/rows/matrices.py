"""Matrix products and contractions, in full precision: an accelerator may cut float32 short; and
inverses, factors and determinants of square matrices, the last two axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jax import lax
from jax import numpy as jnp

from gradwire.runtime.engine.jax.rows.base import JaxRow, wide

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax import Array
    from jax.typing import DTypeLike

    from gradwire.runtime.calculus import Value


def _added_in(x: Array) -> DTypeLike:
    """The dtype that products are added in."""
    return jnp.float32 if x.dtype == jnp.float16 else x.dtype


def _matmul(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST, preferred_element_type=_added_in(a))


def _einsum(*arrays: Array, terms: tuple[str, ...], output: str) -> Array:
    return jnp.einsum(
        f"{','.join(terms)}->{output}",
        *arrays,
        precision=lax.Precision.HIGHEST,
        preferred_element_type=_added_in(arrays[0]),
    )


def _solve(a: Array, b: Array) -> Array:
    """By an LU factorisation of each matrix, which is broadcast after it."""
    a, b = wide(a), wide(b)
    factors, _, order = lax.linalg.lu(a)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    factors = jnp.broadcast_to(factors, (*batch, *a.shape[-2:]))
    right = jnp.broadcast_to(b, (*batch, *b.shape[-2:]))
    places = jnp.broadcast_to(order[..., None], right.shape)
    swapped = jnp.take_along_axis(right, places, -2)
    half = lax.linalg.triangular_solve(
        factors, swapped, left_side=True, lower=True, unit_diagonal=True
    )
    return lax.linalg.triangular_solve(factors, half, left_side=True)


def _inverse(x: Array) -> Array:
    x = wide(x)
    return _solve(x, jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape))


def _pivots(x: Array) -> Array:
    """The diagonal of the upper factor."""
    return jnp.diagonal(lax.linalg.lu(wide(x))[0], axis1=-2, axis2=-1)


def _is_singular(a: Array, *_: Array) -> Array:
    return jnp.any(_pivots(a) == 0)


def _factor(x: Array) -> Array:
    """The lower triangle, all NaN where there is none."""
    symmetric = (x + jnp.swapaxes(x, -1, -2)) / 2
    return lax.linalg.cholesky(wide(symmetric), symmetrize_input=False)


def _has_no_factor(x: Array) -> Array:
    """NaN from the first element on, unless that was NaN before: such a matrix has a factor of NaN
    in numpy.
    """
    corner = (..., slice(1), slice(1))
    return jnp.any(jnp.isnan(_factor(x)[corner]) & ~jnp.isnan(x[corner]))


def _log_determinant(x: Array) -> Array:
    pivots = _pivots(x)
    singular = jnp.any(pivots == 0, axis=-1)
    total = jnp.sum(lax.log(lax.abs(pivots)), axis=-1)
    return jnp.where(singular, jnp.full_like(total, -jnp.inf), total)


def _determinant_sign(x: Array) -> Array:
    """The signs of the pivots, and one for each row that was swapped with another."""
    factors, swaps, _ = lax.linalg.lu(wide(x))
    pivots = jnp.diagonal(factors, axis1=-2, axis2=-1)
    minus = jnp.sum(pivots < 0, axis=-1) + jnp.sum(swaps != jnp.arange(swaps.shape[-1]), axis=-1)
    sign = (1 - 2 * (minus % 2)).astype(factors.dtype)
    return jnp.where(jnp.any(pivots == 0, axis=-1), jnp.zeros_like(sign), sign)


def _determinant(x: Array) -> Array:
    """As numpy has it: the product of the pivots may overflow where the determinant doesn't."""
    return _determinant_sign(x) * lax.exp(_log_determinant(x))


def _refused(why: str) -> Callable[[Value], str]:
    def sentence(value: Value) -> str:
        batched = value.ndim > 2 and any(x.ndim > 2 for x in value.inputs)
        return f"{'a' if batched else 'the'} matrix is {why}"

    return sentence


ROWS = {
    "matmul": JaxRow(_matmul),
    "einsum": JaxRow(_einsum),
    "inverse": JaxRow(_inverse, _is_singular, _refused("singular: it has no inverse")),
    "solve": JaxRow(_solve, _is_singular, _refused("singular: there is no one solution")),
    "cholesky": JaxRow(_factor, _has_no_factor, _refused("not positive definite")),
    "determinant": JaxRow(_determinant),
    "log_determinant": JaxRow(_log_determinant),
    "determinant_sign": JaxRow(_determinant_sign),
}
