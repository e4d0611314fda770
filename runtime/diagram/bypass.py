"""Bypassed blocks: which input goes through, and what runs in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from gradwire.blocks.block import Block, TreeUse
from gradwire.runtime.diagram.model import own_ports
from gradwire.runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.diagram.model import PageView


def passing_input(page: PageView, name: str) -> str | None:
    """The input that goes through a bypassed block; None if no input is wired.

    It is the one that the class names, if that is wired, or else the first that is.
    """
    wired = [port for port in own_ports(page, name).inputs if PortName(name, port) in page.wires]
    through = type(page.blocks[name]).through
    return through if through in wired else next(iter(wired), None)


class Bypassed(Block):
    """What runs in the place of a bypassed block: the first input goes to every output."""

    abstract: ClassVar[bool] = True
    trees: ClassVar[TreeUse] = "whole"
    names: tuple[str, ...] = ()
    """The outputs of the block."""

    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs of the block."""
        return self.names

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        """The shape of the output is that of the first input."""
        first = next(iter(inputs), None)
        return {} if first is None or output is None else {first: output}

    def forward(self, xp: object, *values: object) -> tuple[object, ...]:
        """``out = values[0]``."""
        return (values[0],) * len(self.names)
