"""The trace: every value of a computation, in the order of evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import TraceError
from gradwire.runtime.calculus.namespace import Namespace
from gradwire.runtime.calculus.sizes import require_size
from gradwire.runtime.calculus.value import NO_ATTRIBUTES, Primitive, Value


def kept_value() -> TraceError:
    """What is wrong with a value of another trace."""
    return TraceError(
        "This uses a value that was kept from another trace.",
        next_step="Let forward use its arguments alone, and keep nothing between calls.",
    )


class Remark(NamedTuple):
    """A warning for the user about the ``owner`` that was being traced."""

    owner: Any
    text: str
    code: str
    next_step: str | None = None


@dataclass(slots=True, eq=False)
class Trace:
    """Values in the order of evaluation; each new one is stamped with the current ``owner``.

    ``remarks`` is an ordered set of warnings for the user. ``step`` is the leaf that random
    numbers count by. ``weak_integers`` maps weak leaves to their integer and its port: the dtype
    that such a leaf takes must hold the integer.
    """

    values: list[Value] = field(default_factory=list)
    owner: Any = None
    remarks: dict[Remark, None] = field(default_factory=dict)
    step: Value | None = None
    weak_integers: dict[Value, tuple[int, str]] = field(default_factory=dict)
    own_seed: Callable[[], Value] | None = None
    """Gives the seed of random numbers of the owner, where it has another one in each step."""
    xp: Namespace = field(init=False)
    """The namespace that appends to this trace."""

    def __post_init__(self) -> None:
        self.xp = Namespace(self)

    def remark(self, text: str, code: str, next_step: str | None = None) -> None:
        """Warn the user about the current owner, once; ``code`` is that of the diagnostic."""
        self.remarks[Remark(self.owner, text, code, next_step)] = None

    def apply(
        self, primitive: Primitive, *inputs: Value, weak: bool = False, **attributes: object
    ) -> Value:
        """Append the result of a primitive; raises TraceError where the inputs don't fit."""
        for x in inputs:
            if x.trace is not self:
                raise kept_value()
        shape, dtype = primitive.infer(*inputs, **attributes)
        if not inputs or shape is not inputs[0].shape:  # else it has been checked
            require_size(shape)
        return Value(self, primitive, inputs, attributes or NO_ATTRIBUTES, shape, dtype, weak)
