"""Transcendental functions, and the root: to a few units in the last place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
from jax import lax

from runtime.engine.jax.rows.arithmetic import of_two
from runtime.engine.jax.rows.base import Row

if TYPE_CHECKING:
    from jax import Array


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


ROWS = {
    "sqrt": Row(lax.sqrt),
    "exp": Row(lax.exp),
    "expm1": Row(lax.expm1),
    "log": Row(lax.log),
    "log1p": Row(lax.log1p),
    "sin": Row(lax.sin),
    "cos": Row(lax.cos),
    "tan": Row(lax.tan),
    "arcsin": Row(lax.asin),
    "arccos": Row(lax.acos),
    "arctan": Row(lax.atan),
    "arctan2": of_two(lax.atan2),
    "sinh": Row(_sinh),
    "cosh": Row(_cosh),
    "tanh": Row(lax.tanh),
    "arcsinh": Row(lax.asinh),
    "arccosh": Row(lax.acosh),
    "arctanh": Row(lax.atanh),
    "sigmoid": Row(lax.logistic),
    "softplus": Row(_softplus),
    "erf": Row(lax.erf),
}
