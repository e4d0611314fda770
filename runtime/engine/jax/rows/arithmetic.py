"""Arithmetic, of operands in their common shape, and functions to a few units in the last place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax
from jax import numpy as jnp

from gradwire.runtime.calculus.dtypes import SIGNED, is_float
from gradwire.runtime.calculus.primitives.base import CONSTANT
from gradwire.runtime.engine.jax.rows.base import JaxRow, broadcast, origin, some, wide

if TYPE_CHECKING:
    from jax import Array

    from gradwire.runtime.calculus import Value


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


def _is_float(x: Array) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.floating))


def _opposite(rest: Array, b: Array) -> Array:
    """Whether a remainder towards zero has the other sign than the divisor."""
    return (rest != 0) & ((rest < 0) != (b < 0))


def _floor_divide(a: Array, b: Array) -> Array:
    return _floored(wide(a), wide(b)) if _is_float(a) else _whole_quotient(a, b)


def _whole_quotient(a: Array, b: Array) -> Array:
    return lax.div(a, b) - _opposite(lax.rem(a, b), b).astype(a.dtype)


def _floored(a: Array, b: Array) -> Array:
    """The quotient that goes with the exact remainder: ``a / b`` may round up to an integer."""
    rest = lax.rem(a, b)
    quotient = (a - rest) / b - _opposite(rest, b).astype(a.dtype)
    below = lax.floor(quotient)
    nearest = jnp.where(quotient - below > 0.5, below + 1, below)
    zero = jnp.copysign(jnp.zeros_like(a), a / b)
    return jnp.where(b == 0, a / b, jnp.where(quotient == 0, zero, nearest))


def _remainder(a: Array, b: Array) -> Array:
    rest = lax.rem(a, b)
    found = jnp.where(_opposite(rest, b), rest + b, rest)
    if not _is_float(a):
        return found
    return jnp.where(found == 0, jnp.copysign(jnp.zeros_like(b), b), found)


def _by_zero(a: Array, b: Array) -> Array:
    """Whether an integer is divided by 0."""
    return some(broadcast(a, b)[1] == 0)


def _never_by_zero(value: Value) -> bool:
    return is_float(value.dtype) or bool(np.all(_second(value)))


def _second(value: Value) -> Any:
    """The numbers of the second operand if they are constant, else a 0 and a −1."""
    operand = origin(value.inputs[1])
    return operand.attributes["array"] if operand.primitive is CONSTANT else np.array([0, -1])


def _power(a: Array, b: Array) -> Array:
    return lax.pow(a, b) if _is_float(a) else _whole_power(a, b)


def _whole_power(a: Array, b: Array) -> Array:
    """By squaring, through all bits of the exponent: a product that wraps may still come out."""

    def step(_: int, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        product, factor, exponent = state
        odd = (exponent & 1) == 1
        return jnp.where(odd, product * factor, product), factor * factor, exponent >> 1

    found: Array = lax.fori_loop(0, jnp.iinfo(a.dtype).bits, step, (jnp.ones_like(a), a, b))[0]
    return found


def _to_negative(a: Array, b: Array) -> Array:
    """Whether an integer is raised to a negative power."""
    return some(broadcast(a, b)[1] < 0)


def _never_to_negative(value: Value) -> bool:
    return value.dtype not in SIGNED or bool(np.all(_second(value) >= 0))


def _sign(x: Array) -> Array:
    """Of −0 it is 0."""
    return jnp.where(x == 0, jnp.zeros_like(x), lax.sign(x))


def _relu(x: Array) -> Array:
    return lax.max(x, jnp.zeros_like(x))


def _clip(x: Array, *, lo: float | None, hi: float | None) -> Array:
    if lo is not None:
        x = lax.max(x, jnp.full_like(x, lo))
    return x if hi is None else lax.min(x, jnp.full_like(x, hi))


ROWS = {
    "log1p": JaxRow(_log1p),
    "arctan2": JaxRow(lax.atan2),
    "sinh": JaxRow(_sinh),
    "cosh": JaxRow(_cosh),
    "arccosh": JaxRow(lax.acosh),
    "arctanh": JaxRow(_arctanh),
    "softplus": JaxRow(_softplus),
    "erf": JaxRow(_erf),
    "floor_divide": JaxRow(
        _floor_divide, _by_zero, lambda v: "an integer has no quotient by 0", _never_by_zero
    ),
    "remainder": JaxRow(
        _remainder, _by_zero, lambda v: "an integer has no remainder by 0", _never_by_zero
    ),
    "power": JaxRow(
        _power,
        _to_negative,
        lambda v: "Integers to negative integer powers are not allowed.",
        _never_to_negative,
    ),
    "square": JaxRow(lambda x: x * x),
    "sign": JaxRow(_sign),
    "round": JaxRow(lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)),
    "relu": JaxRow(_relu),
    "clip": JaxRow(_clip),
    "where": JaxRow(lax.select),
}
