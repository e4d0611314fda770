"""Pages: a diagram inside a block, with ports of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from blocks.block import Block, InputPort


class Page(Block):
    """Another page of the diagram used as a block; its ports are that page's PageInput and
    PageOutput blocks.

    The page is a name scope: its block ``W1`` is ``encoder/W1`` in the use called ``encoder``.
    Each use has its own copy of the page's variables. A page that contains itself is an error.
    """

    symbol: ClassVar[str] = "▣"
    outputs: ClassVar[tuple[str, ...]] = ()

    page: str = ""
    """Name of the page that this block stands for."""

    @classmethod
    def port(cls, name: str) -> InputPort | None:
        """Any name may be a port: which ones are is known only in a diagram."""
        return InputPort(name)

    def forward(self, xp: Any) -> tuple[Any, ...]:
        return ()


class PageInput(Block):
    """An input port of the page it stands on, named like this block; ``out = x`` of the use.

    On a page that is run by itself, or where the use leaves the port unwired, ``default`` is
    taken when it is given.
    """

    symbol: ClassVar[str] = "▷"

    def forward(self, xp: Any, x: Any) -> Any:
        return x


class PageOutput(Block):
    """An output port of the page it stands on, named like this block; the use gives out ``x``."""

    symbol: ClassVar[str] = "▶"
    outputs: ClassVar[tuple[str, ...]] = ("out",)

    def forward(self, xp: Any, x: Any) -> Any:
        return x
