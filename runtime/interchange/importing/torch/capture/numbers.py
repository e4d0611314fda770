"""Python numbers that were tensors: ``loss.item()`` leaves autograd, and goes on being computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.torch.memory import TrackedTensor


Decided: TypeAlias = "Callable[[TrackedTensor, Any], None]"


class TracedNumber(float):
    """A number with the value that it comes from; what is computed from it remembers that too."""

    tensor: TrackedTensor
    decided: Decided

    def __new__(cls, value: float, tensor: TrackedTensor, decided: Decided) -> TracedNumber:
        """A number that comes from a tensor; ``decided`` is called when the program goes by it."""
        made = super().__new__(cls, value)
        made.tensor, made.decided = tensor, decided
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return float, (float(self),)


def _enter(name: str, compute: Callable[[Staged, Any], Staged]) -> None:
    plain = getattr(float, name)

    def method(self: TracedNumber, other: Any) -> Any:
        value = plain(self, other)
        if value is NotImplemented or not isinstance(other, int | float):
            return value
        operand = other.tensor.read() if isinstance(other, TracedNumber) else float(other)
        made = type(self.tensor)(compute(self.tensor.read(), operand))
        return TracedNumber(value, made, self.decided)

    setattr(TracedNumber, name, method)


def _enter_decision(name: str) -> None:
    plain = getattr(float, name)

    def method(self: TracedNumber, *others: Any) -> Any:
        self.decided(self.tensor, float(self))
        return plain(self, *others)

    setattr(TracedNumber, name, method)


for _name in ("__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__int__"):
    _enter_decision(_name)
_enter("__add__", lambda a, b: a + b)
_enter("__radd__", lambda a, b: b + a)
_enter("__sub__", lambda a, b: a - b)
_enter("__rsub__", lambda a, b: b - a)
_enter("__mul__", lambda a, b: a * b)
_enter("__rmul__", lambda a, b: b * a)
_enter("__truediv__", lambda a, b: a / b)
_enter("__rtruediv__", lambda a, b: b / a)
