"""What definitions of other systems' functions are written with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.runtime.calculus.namespace import Namespace
from gradwire.runtime.calculus.primitives.reduce import MAX
from gradwire.runtime.calculus.value import Primitive, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.calculus.primitives.spatial import Widths
    from gradwire.runtime.calculus.value import Operand

Definition: TypeAlias = Callable[..., Any]
"""``definition(xp, block, *inputs)``: the output of a block, in the operations of a system."""


def as_written(xp: Any, block: Any, *inputs: Any) -> Any:
    """What the block computes, with the operations of ``xp`` in place of ours."""
    return block.forward(xp, *inputs)


def with_rules(primitive: Primitive, *rules: Callable[..., Any] | None) -> Primitive:
    """A primitive with the same values and other derivatives."""
    return replace(primitive, rules=rules)


def closed(primitive: Primitive) -> Primitive:
    """A primitive with the same values that no gradient passes."""
    return with_rules(primitive, *[None] * len(primitive.rules))


def _same(value: Value, *_: Value) -> tuple[Shape, str]:
    return value.shape, value.dtype


def custom(value: Value, rule: Callable[..., Any], *inputs: Value) -> Value:
    """``value``, whose gradient for ``inputs`` is ``rule(xp, g, *inputs)``, a tuple."""

    def slot(place: int) -> Callable[..., Any]:
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


class FirstOfWindow(Namespace):
    """``max`` over the axes of windows with all the gradient to one element."""

    __slots__ = ()

    def _wins(self, new: Value, best: Value) -> Value:
        return new > best

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
        return chosen(self.xp, largest.inputs[0], self._wins, value)
