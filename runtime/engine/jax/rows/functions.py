"""Transcendental functions, and the root: to a few units in the last place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax import lax
from jax import numpy as jnp

from gradwire.runtime.engine.jax.rows.base import JaxRow

if TYPE_CHECKING:
    from jax import Array


def _log1p(x: Array) -> Array:
    """``−log(1 − x/(1 + x))`` below 0 in float64, where lax.log1p is off by up to 128 units."""
    if x.dtype != jnp.float64:
        return lax.log1p(x)
    below = x < 0
    found = lax.log1p(jnp.where(below, -x / (1 + x), x))
    return jnp.where(below, -found, found)


def _arctanh(x: Array) -> Array:
    size = lax.abs(x)
    return jnp.copysign(lax.log1p(2 * size / (1 - size)) / 2, x)


def _softplus(x: Array) -> Array:
    return lax.max(x, jnp.zeros_like(x)) + lax.log1p(lax.exp(-lax.abs(x)))


def _halves(x: Array) -> tuple[Array, Array]:
    """``e^|x|/2`` and ``e^−|x|/2``; the first overflows only where the result does.

    lax.sinh and lax.cosh shift the exponent instead, which costs digits where x is large.
    """
    root = lax.exp(lax.abs(x) / 2)
    return (root / 2) * root, (0.5 / root) / root


def _sinh(x: Array) -> Array:
    grown, decayed = _halves(x)
    small = lax.expm1(lax.abs(x))
    near = (small + small / (small + 1)) / 2
    return jnp.copysign(jnp.where(lax.abs(x) < 1, near, grown - decayed), x)


def _cosh(x: Array) -> Array:
    grown, decayed = _halves(x)
    return grown + decayed


def _erf(x: Array) -> Array:
    """Selected beside x, because XLA has no rule to split lax.erf along an axis as x is split."""
    return jnp.where(x != x, x, lax.erf(x))


ROWS = {
    "log1p": JaxRow(_log1p),
    "arctan2": JaxRow(lax.atan2),
    "sinh": JaxRow(_sinh),
    "cosh": JaxRow(_cosh),
    "arccosh": JaxRow(lax.acosh),
    "arctanh": JaxRow(_arctanh),
    "softplus": JaxRow(_softplus),
    "erf": JaxRow(_erf),
}
