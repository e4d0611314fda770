"""A page of the diagram as a block, and its ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from gradwire.blocks.block import Block, InputPort
from gradwire.blocks.elementwise import Elementwise

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value


class Composite(Block):
    """A block that stands for others, which run in its place at paths below its own.

    Which ports it has is known of a block, or only in a diagram: as a class it takes any name.
    """

    abstract: ClassVar[bool] = True

    @classmethod
    def port(cls, name: str) -> InputPort | None:
        """Any name may be a port."""
        return InputPort(name)

    def forward(self, xp: Namespace) -> tuple[Value, ...]:
        """Nothing: the blocks inside are traced."""
        return ()

    @classmethod
    def can_be_bypassed(cls) -> bool:
        """Whether an input can go through to the outputs."""
        return cls.bypassable


class Page(Composite):
    """Another page of the diagram used as a block.

    Its ports are the PageInput and PageOutput blocks of that page. The page is a name scope: its
    block ``W1`` is ``encoder/W1`` in the use called ``encoder``. All uses of a page share its
    variables, as one module called twice does, and gradients add up; ``independent`` gives a use
    variables of its own. A page that contains itself is an error.
    """

    family: ClassVar[str] = "pages"
    symbol: ClassVar[str] = "▣"
    bypassable: ClassVar[bool] = False
    formula: ClassVar[str] = r"y = f(x)"
    outputs: ClassVar[tuple[str, ...]] = ()

    page: str = ""
    """Name of the page that this block stands for."""
    independent: bool = False
    """Whether this use has variables of its own, for all pages inside it too."""


class PageInput(Elementwise):
    """An input port of the page it stands on, named like this block.

    It gives what the use is wired to, ``out = x``. Where the use leaves the port unwired, and on
    a page that is run by itself, the literal of x is taken, if there is one.
    """

    family: ClassVar[str] = "pages"
    symbol: ClassVar[str] = "▷"
    bypassable: ClassVar[bool] = False
    formula: ClassVar[str] = r"y = x"

    def forward(self, xp: Namespace, x: Value) -> Value | tuple[Value, ...]:
        return x


class PageOutput(Elementwise):
    """An output port of the page it stands on, named like this block; the use gives out ``x``."""

    family: ClassVar[str] = "pages"
    symbol: ClassVar[str] = "▶"
    bypassable: ClassVar[bool] = False
    formula: ClassVar[str] = r"y = x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return x
