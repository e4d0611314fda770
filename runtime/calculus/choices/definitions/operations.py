"""What definitions of other systems' functions are written with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from gradwire.runtime.calculus.namespace import Namespace
from gradwire.runtime.calculus.primitives.elementwise import ARCCOSH, ARCSINH, ARCTAN2
from gradwire.runtime.calculus.primitives.reduce import MAX
from gradwire.runtime.calculus.value import Primitive, Rule, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Block, Shape
    from gradwire.runtime.calculus.primitives.base import Axis
    from gradwire.runtime.calculus.primitives.spatial import Widths
    from gradwire.runtime.calculus.value import Operand

Definition: TypeAlias = Callable[..., object]
"""``definition(xp, block, *inputs)``: the output of a block, in the operations of a system."""


def as_written(xp: Namespace, block: Block, *inputs: Value) -> object:
    """What the block computes, with the operations of ``xp`` in place of ours."""
    return block.forward(xp, *inputs)


def with_rules(primitive: Primitive, *rules: Rule | None) -> Primitive:
    """A primitive with the same values and other derivatives."""
    return replace(primitive, rules=rules)


def closed(primitive: Primitive) -> Primitive:
    """A primitive with the same values that no gradient passes."""
    return with_rules(primitive, *[None] * len(primitive.rules))


PLAIN_ARCTAN2 = with_rules(
    ARCTAN2,
    lambda xp, g, out, a, b: g * (b / (a * a + b * b)),
    lambda xp, g, out, a, b: g * (-a / (a * a + b * b)),
)
"""Without an exception at the origin: NaN."""
PLAIN_ARCSINH = with_rules(ARCSINH, lambda xp, g, out, x: g / xp.sqrt(x * x + 1))
PLAIN_ARCCOSH = with_rules(ARCCOSH, lambda xp, g, out, x: g / xp.sqrt(x * x - 1))
"""As their formulas say, where x² overflows."""


def _same(value: Value, *_: Value) -> tuple[Shape, str]:
    return value.shape, value.dtype


def custom(value: Value, rule: Callable[..., tuple[Value, ...]], *inputs: Value) -> Value:
    """``value``, whose gradient for ``inputs`` is ``rule(xp, g, *inputs)``, a tuple."""

    def slot(place: int) -> Rule:
        return lambda xp, g, out, value, *inputs: rule(xp, g, *inputs)[place]

    rules = (None, *[slot(place) for place in range(len(inputs))])
    primitive = Primitive("custom_vjp", _same, lambda value, *_: value, rules, view=True)
    return value.trace.apply(primitive, value, *inputs)


def chosen(
    xp: Namespace, windows: Value, wins: Callable[[Value, Value], Value], value: Value
) -> Value:
    """``value``, with all its gradient to one element of each window: (rows, columns, …).

    The elements are compared in row-major order; ``wins(new, best)`` takes the new one.
    """
    rows, columns = windows.shape[:2]
    places = [windows[i, j] for i in range(rows) for j in range(columns)]
    best = places[0]
    for new in places[1:]:
        best = xp.where(wins(new, best), new, best)
    return xp.surrogate(value, xp.reshape(best, value.shape))


class Operations(Namespace):
    """The operations of a system, which are ours but for the primitives in ``OTHERS``.

    ``max`` over the axes of windows sends all its gradient to one element.
    """

    __slots__ = ()
    OTHERS: ClassVar[Mapping[Primitive, Primitive]] = {}
    """What it has in place of our primitives: the same values with other derivatives."""
    WINS: ClassVar[staticmethod[[Value, Value], Value]] = staticmethod(lambda new, best: new > best)
    """Whether a new element of a window takes the gradient from the best so far."""

    def _arithmetic(
        self, primitive: Primitive, a: Operand, b: Operand, floats: bool = False
    ) -> Value:
        return super()._arithmetic(self.OTHERS.get(primitive, primitive), a, b, floats)

    def _function(self, primitive: Primitive, x: Operand) -> Value:
        return super()._function(self.OTHERS.get(primitive, primitive), x)

    def _numeric(self, primitive: Primitive, x: Operand) -> Value:
        return super()._numeric(self.OTHERS.get(primitive, primitive), x)

    def _rounding(self, primitive: Primitive, x: Operand) -> Value:
        return super()._rounding(self.OTHERS.get(primitive, primitive), x)

    def norm(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """``√Σ x²``; gradient NaN at 0."""
        x = self.as_float(x)
        return self.sqrt(self.sum(x * x, axis, keepdims))

    def max_pool(
        self,
        x: Operand,
        window: Shape,
        stride: Shape,
        padding: Widths | None = None,
        dilation: Shape | None = None,
    ) -> Value:
        """``max_pool`` with its gradient to one element of each window."""
        value = Namespace(self.trace).max_pool(x, window, stride, padding, dilation)
        (largest,) = value.inputs
        assert largest.primitive is MAX  # over the first two axes, which are then dropped
        return chosen(self.xp, largest.inputs[0], self.WINS, value)
