"""Blocks that show values on the canvas."""

from __future__ import annotations

from typing import Any, ClassVar

from blocks.elementwise import Elementwise


class Display(Elementwise):
    """Shows its input on the canvas and passes it through, ``out = x``; so does the gradient.

    Any shape and dtype.
    """

    symbol: ClassVar[str] = "◉"
    formula: ClassVar[str] = r"y = x"

    def forward(self, xp: Any, x: Any) -> Any:
        return x
