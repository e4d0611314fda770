"""What joins the steps of a Scan: blocks that no palette has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from gradwire.blocks.block import Shape, TreeUse
from gradwire.blocks.elementwise import Elementwise
from gradwire.blocks.errors import DTypeError, ShapeError
from gradwire.blocks.library.pages.page import PageInput, PageOutput
from gradwire.blocks.library.parts import Stack

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value

_MOST = 32
"""Elements of a part up to which each is taken by itself."""
_WAYS = 8
"""Parts that a longer one is divided into."""


def _parts(x: Value) -> list[Value]:
    """The rows of x in parts of at most ``_MOST``, each divided from a longer one.

    The gradient of an element has the size of what it is taken from: taken from x itself, those of
    all elements together would take time that is quadratic in their number.
    """
    count = x.shape[0]
    if count <= _MOST:
        return [x]
    size = -(-count // _WAYS)
    starts = range(0, count, size)
    return [part for a in starts for part in _parts(x[a : min(a + size, count)])]


class Elements(PageInput):
    """The elements of an input of a Scan along axis 0, one output per step: ``out[t] = x[t]``.

    Raises ShapeError unless there is one for each step.
    """

    abstract: ClassVar[bool] = True

    steps: int = 0
    """The number of elements."""

    def output_names(self) -> tuple[str, ...]:
        """The numbers of the steps."""
        return tuple(map(str, range(self.steps)))

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        """As many elements as there are steps, each of the shape that a step needs."""
        return {} if output is None else dict.fromkeys(inputs, (self.steps, *output))

    def require_elements(self, x: Value) -> None:
        """Raise ShapeError unless x has an element for each step."""
        if not x.shape or x.shape[0] != self.steps:
            raise ShapeError(
                "Each step takes one element along axis 0, so there must be one for each.",
                expected=f"axis 0 of length {self.steps:,}, the number of steps",
                got=f"shape {list(x.shape)}",
                next_step="Set steps to the length of axis 0, or take the input out of over.",
            )

    def forward(self, xp: Namespace, x: Value) -> tuple[Value, ...]:
        self.require_elements(x)
        return tuple(part[t] for part in _parts(x) for t in range(part.shape[0]))


class SomeElements(Elements):
    """The elements of a few steps, in place of those of all steps of a loop."""

    abstract: ClassVar[bool] = True

    numbers: tuple[int, ...] = ()
    """The numbers of the steps."""

    def output_names(self) -> tuple[str, ...]:
        """The numbers of the steps."""
        return tuple(map(str, self.numbers))

    def forward(self, xp: Namespace, x: Value) -> tuple[Value, ...]:
        self.require_elements(x)
        return tuple(x[number] for number in self.numbers)


class GoesOn(Elementwise):
    """Whether a Scan runs a further step: ``out = before and x``, for the first step ``out = x``.

    Raises DTypeError or ShapeError unless x is a single boolean.
    """

    abstract: ClassVar[bool] = True

    def forward(self, xp: Namespace, x: Value, before: Value | None = None) -> Value:
        if x.dtype != "bool":
            raise DTypeError("The condition of a Scan is no boolean.", expected="bool", got=x.dtype)
        if x.shape:
            raise ShapeError(
                "The condition of a Scan is no single boolean.",
                expected="shape []",
                got=f"shape {list(x.shape)}",
                next_step="Put an AllTrue or an AnyTrue before that output.",
            )
        return x if before is None else xp.logical_and(before, x)


class Kept(Elementwise):
    """What a step of a Scan with a condition gives: ``out = x`` while it runs, else ``before``.

    Where nothing came before, as for an output that is stacked, it is 0.
    """

    abstract: ClassVar[bool] = True

    def forward(self, xp: Namespace, runs: Value, x: Value, before: Value | None = None) -> Value:
        if before is None:
            return xp.where(runs, x, xp.zeros_like(x))
        return xp.where(runs, x, before)


class Gathered(PageOutput):
    """What a loop gives out of an output, by that of one step: stacked over ``steps``, or of the
    same shape if it is carried, which is where ``steps`` is None. ``first`` is that of a first step
    which is no part of the loop.
    """

    abstract: ClassVar[bool] = True

    steps: int | None = None
    """How many steps are stacked along a new axis 0."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        """The shape of one step."""
        if output is None or (self.steps is not None and not output):
            return {}
        return dict.fromkeys(inputs, output if self.steps is None else output[1:])

    def forward(self, xp: Namespace, x: Value, first: Value | None = None) -> Value:
        return x if self.steps is None else xp.broadcast_to(x, (self.steps, *x.shape))


class Stacked(Stack):
    """An output of all steps of a Scan along a new axis 0. Raises ShapeError for no steps."""

    abstract: ClassVar[bool] = True
    trees: ClassVar[TreeUse] = "by leaf"

    def forward(self, xp: Namespace, *parts: Value) -> Value:
        if not parts:
            raise ShapeError(
                "A Scan of 0 steps can't stack an output: no step gives its shape.",
                next_step="Run at least one step, or carry the output.",
            )
        return xp.stack(parts)
