"""Primitives that change the gradient and leave the value: stop, surrogate, loss head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.errors import DTypeError, ShapeError, TraceError
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.base import BaseOps
from gradwire.runtime.calculus.value import NoDerivative, Primitive, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.value import Operand


def _same(x: Value, *_: Value, **__: object) -> tuple[Shape, str]:
    return x.shape, x.dtype


def _loss_rule(
    xp: Namespace,
    g: Value,
    out: Value,
    x: Value,
    *,
    scale: float,
    normalization: str,
    threshold: float,
) -> Value:
    """``scale / n``, whatever g is: n = 1, the length of the batch, or the count of x > t."""
    if normalization == "valid":
        count = xp.maximum(xp.sum(x > threshold), 1)
        return xp.broadcast_to(scale / xp.astype(count, x.dtype), x.shape)
    n = x.shape[0] if normalization == "batch" else 1
    return xp.full_like(x, scale / n)


def _clip_rule(xp: Namespace, g: Value, out: Value, x: Value, *, limit: float, by: str) -> Value:
    """G within [−limit, limit], or scaled down to the norm ``limit``.

    Squares neither overflow nor underflow: g is divided by its largest element first.
    """
    if by == "value":
        return xp.clip(g, -limit, limit)
    if not g.size:
        return g
    wide = xp.astype(g, "float32") if g.dtype == "float16" else g
    peak = xp.maximum(xp.stop_gradient(xp.max(xp.abs(wide))), limit)
    unit, bound = wide / peak, limit / peak
    length = xp.norm(unit)
    shorter = unit * (limit / xp.maximum(length, bound))
    return xp.where(length > bound, xp.astype(shorter, g.dtype), g)


STOP_GRADIENT = Primitive("stop_gradient", _same, lambda x: x, (None,), view=True, stops=True)

SURROGATE = Primitive(
    "surrogate",
    _same,
    lambda value, *_: value,
    (None, lambda xp, g, out, value, soft: g),
    view=True,
    unread=frozenset({1}),
    no_derivative=NoDerivative("sends all its gradient to its other input", remedy=None),
)
CLIP_GRADIENT = Primitive("clip_gradient", _same, lambda x, **_: x, (_clip_rule,), view=True)
LOSS_HEAD = Primitive("loss_head", _same, lambda x, **_: x, (_loss_rule,), view=True)


class GradientOps(BaseOps):
    """Identities with a gradient of their own."""

    __slots__ = ()

    def stop_gradient(self, x: Operand) -> Value:
        """The same value, of any dtype; no gradient of any order passes."""
        x = self._lift(x)
        return self.trace.apply(STOP_GRADIENT, x, weak=x.weak)

    def surrogate(self, value: Operand, soft: Operand) -> Value:
        """``value`` in the forward pass; the whole gradient goes to ``soft``.

        ``surrogate(x, s·x)`` scales a gradient, ``surrogate(round(x), x)`` is straight-through.
        Both must have the same shape; ``value`` takes the dtype of ``soft``.
        """
        value, soft = self.asarray(value), self.as_float(soft)
        if value.shape != soft.shape:
            raise ShapeError(
                "The value and what gets its gradient must have the same shape.",
                expected=str(list(soft.shape)),
                got=str(list(value.shape)),
            )
        return self.trace.apply(SURROGATE, self.astype(value, soft.dtype), soft)

    def clip_gradient(self, x: Operand, limit: float, by: str) -> Value:
        """``x`` unchanged; backward limits the gradient: each element (``by`` "value"), or its
        norm over all elements ("norm").
        """
        return self.trace.apply(CLIP_GRADIENT, self.as_float(x), limit=limit, by=by)

    def loss_head(
        self,
        x: Operand,
        scale: float = 1.0,
        normalization: str = "none",
        threshold: float = 0.0,
    ) -> Value:
        """``x`` unchanged; backward sends scale / n to each element and ignores the cotangent.

        n is 1 ("none"), the length of the first axis ("batch"), or max(1, count(x > threshold))
        ("valid"). Raises DTypeError for integers and booleans. Source: MXNet's MakeLoss.
        """
        x = self.asarray(x)
        if not is_float(x.dtype):
            raise DTypeError(
                "A loss must be of a float dtype: integers have no gradient.",
                expected="float16, float32 or float64",
                got=x.dtype,
                next_step="Cast it before the loss.",
            )
        if normalization not in ("none", "batch", "valid"):
            raise TraceError(
                f"Unknown normalization {normalization!r}.",
                expected="none, batch or valid",
            )
        if normalization == "batch" and not (x.ndim and x.shape[0]):
            raise ShapeError(
                "Normalization by batch needs a first axis with elements.", got=str(list(x.shape))
            )
        return self.trace.apply(
            LOSS_HEAD, x, scale=scale, normalization=normalization, threshold=threshold
        )
