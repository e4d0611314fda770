"""Functions of single elements; one that is a block has none here: rows name the block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Operand, Staged


def times_logarithm(x: Staged, y: Staged, kind: str = "Log", pole: float = 0.0) -> Staged:
    """``x * log(y)``, which is 0 where x is and y is at the pole of the logarithm or below.

    Gradient still goes through the logarithm there, so that ``0 / 0`` is NaN, as in PyTorch.
    """
    nothing = put("And", put("Equal", x, x.like(0)), y <= pole)
    logarithm = put(kind, y)
    return x * put("Where", nothing, logarithm.like(0), logarithm)


def logarithm(x: Staged, base: float) -> Staged:
    """The logarithm to a base."""
    return put("Log", x) * (1 / math.log(base))


def cube_root(x: Staged) -> Staged:
    """The number whose cube is ``x``, of whatever sign."""
    return put("Sign", x) * put("Abs", x) ** (1 / 3)


def truncated(x: Staged) -> Staged:
    """Rounded towards 0."""
    return put("Sign", x) * put("Floor", put("Abs", x))


def rounded_away(x: Staged) -> Staged:
    """The nearest whole number, halves away from 0."""
    return put("Sign", x) * put("Floor", put("Abs", x) + 0.5)


def quotient(a: Staged, b: Staged, down: bool = False) -> Staged:
    """``a / b``, of whole numbers up to 2⁵³ rounded towards 0; or all rounded down."""
    if a.is_float:
        return put("Floor", a / b) if down else a / b
    exact = a.stage.cast(a, "float64") / a.stage.cast(b, "float64")
    return a.stage.cast(put("Floor", exact) if down else truncated(exact), a.dtype)


def remainder(a: Staged, b: Staged) -> Staged:
    """The rest of ``a / b`` with the sign of a; the block's has that of b."""
    if a.dtype.startswith("u"):
        return put("Mod", a, b)
    sign = put("Where", a < 0, a.like(-1), a.like(1))
    return sign * put("Mod", a * sign, put("Abs", b))


def scaled_sum(kind: str, a: Staged, b: Staged, alpha: Operand = 1) -> Staged:
    """``a + alpha * b``, or ``a - alpha * b``."""
    if isinstance(alpha, float) and not b.is_float:
        b = b.stage.cast(b, a.dtype if a.is_float else "float32")
    return put(kind, a, b if alpha == 1 else b * alpha)


def extreme(kind: str, a: Staged, b: Staged) -> Staged:
    """The Maximum or Minimum; of booleans it is one, too."""
    if a.dtype == b.dtype == "bool":
        return put("Or" if kind == "Maximum" else "And", a, b)
    return put(kind, a, b)


def first_extreme(kind: str, a: Staged, b: Staged) -> Staged:
    """The Maximum or Minimum; where both are equal the first one, which gets all gradient."""
    y = put(kind, a, b)
    return put("Where", put("Equal", a, b), a, y) if y.is_float else y


def number_of(kind: str, a: Staged, b: Staged) -> Staged:
    """The first one that compares so with the other; a number rather than NaN."""
    return put("Where", put("Or", put(kind, a, b), put("IsNaN", b)), a, b)


def clip(x: Staged, low: Staged | None, high: Staged | None) -> Staged:
    """Between bounds: one block for known ones of floats, else a Maximum and a Minimum."""
    bounds = [bound for bound in (low, high) if bound is not None]
    if x.is_float and all(bound.array is not None and bound.size == 1 for bound in bounds):
        least, most = (None if bound is None else _shortest(bound) for bound in (low, high))
        if least is None or most is None or least <= most:
            return x if least is most else put("Clip", x, min=least, max=most)
    x = x if low is None else put("Maximum", x, low)
    return x if high is None else put("Minimum", x, high)


def _shortest(bound: Staged) -> float | None:
    """A single known number in the shortest decimal form of its dtype; None for an infinite one."""
    assert bound.array is not None
    number = float(str(bound.array.reshape(-1)[0]))
    return None if math.isinf(number) else number


def bitwise(op: str, a: Staged, b: Staged) -> Staged:
    """``and``, ``or`` or ``xor``: of booleans by one block, of integers bit by bit by another."""
    if a.dtype == b.dtype == "bool":
        return put(op.capitalize(), a, b)
    return put("Bits", a, b, op=op)


def inverted(x: Staged) -> Staged:
    """Not, of every bit."""
    if x.dtype == "bool":
        return put("Not", x)
    return put("Bits", x, x.stage.constant(np.invert(np.zeros((), x.dtype))), op="xor")


def fold(kind: str, values: Sequence[Staged]) -> Staged:
    """All values put together by a block of two inputs, from left to right."""
    return reduce(partial(put, kind), values)


def log_add_exp(a: Staged, b: Staged) -> Staged:
    """``log(exp(a) + exp(b))``."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    both = a.stage.block("Stack", *(a.stage.broadcast(x, shape) for x in (a, b)), axis=0)
    return put("LogSumExp", both, axis=(0,))


def hypotenuse(a: Staged, b: Staged) -> Staged:
    """``sqrt(a ** 2 + b ** 2)``, without squares that are too large or too small."""
    larger = put("Maximum", put("Abs", a), put("Abs", b))
    usable = put("And", larger > 0, put("IsFinite", larger))
    scale = put("Where", usable, larger, larger.like(1))
    scale = put("StopGradient", scale, name="numerical stability")
    return put("Sqrt", put("Square", a / scale) + put("Square", b / scale)) * scale


def sinc(x: Staged) -> Staged:
    """``sin(pi * x) / (pi * x)``, and 1 at 0."""
    zero = put("Equal", x, x.like(0))
    angle = put("Where", zero, x.like(1), x) * math.pi
    return put("Where", zero, x.like(1), put("Sin", angle) / angle)


def nan_to_num(
    x: Staged, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Staged:
    """``x`` with numbers in place of NaN and infinity."""
    most = float(np.finfo(x.dtype).max)
    for bound, number in ((np.inf, posinf), (-np.inf, neginf)):
        number = float(np.copysign(most, bound)) if number is None else number
        x = put("Where", put("Equal", x, x.like(bound)), x.like(number), x)
    return put("Where", put("IsNaN", x), x.like(nan or 0.0), x)


def logit(x: Staged, eps: float | None = None) -> Staged:
    """``log(x / (1 - x))``."""
    x = x if eps is None else put("Clip", x, min=float(eps), max=1 - float(eps))
    return put("Log", x) - put("Log1p", -x)  # whose gradient at 0 and 1 is infinite, not NaN


def heaviside(x: Staged, values: Staged) -> Staged:
    """0 below 0, 1 above it, and ``values`` at 0."""
    step = x.stage.cast(x > 0, x.dtype)
    return put("Where", put("Equal", x, x.like(0)), values, step)


def stopped(x: Staged, by: str) -> Staged:
    """``x`` without gradient, which a remark says."""
    y = put("StopGradient", x)
    x.stage.remark("cut", f"{by} stops the gradient.", y)
    return y
