"""Diagrams written as two small mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.blocks import Block


def page(blocks: Mapping[str, Block], wires: Mapping[str, str]) -> Page:
    """A page; wires are target: source, and a source without a port means ``.out``."""
    return Page(
        dict(blocks),
        {
            PortName.parse(target): PortName.parse(source if "." in source else f"{source}.out")
            for target, source in wires.items()
        },
    )


def draw(blocks: Mapping[str, Block], wires: Mapping[str, str], **pages: Page) -> Diagram:
    """A diagram with that main page, and others by name."""
    return Diagram({MAIN: page(blocks, wires), **pages})


def seed() -> Diagram:
    """MXNet's example: loss(stop_gradient(3 b) + a)."""
    return draw(
        {
            "a": Variable(value=[[1, 2]]),
            "b": Variable(value=[[0, 1]]),
            "triple": Mul(a=3),
            "stop": StopGradient(),
            "plus": Add(),
            "loss": Loss(),
        },
        {
            "triple.b": "b",
            "stop.x": "triple",
            "plus.a": "stop",
            "plus.b": "a",
            "loss.x": "plus",
        },
    )
