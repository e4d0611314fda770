"""Matrix products and contractions, in full precision: an accelerator may cut float32 short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax import lax
from jax import numpy as jnp

from gradwire.runtime.engine.jax.rows.base import JaxRow

if TYPE_CHECKING:
    from jax import Array
    from jax.typing import DTypeLike


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


ROWS = {
    "matmul": JaxRow(_matmul),
    "einsum": JaxRow(_einsum),
}
