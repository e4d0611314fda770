"""Diagrams for the tests of this folder, written in few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import MAIN, Diagram, Page, PortName

if TYPE_CHECKING:
    from gradwire.blocks import Block


def make(kind: str, **record: object) -> Block:
    """A block by the name of its type: ``make("Mul", a=3)``."""
    return registry().get(kind)(**record)


def page(blocks: Mapping[str, Block], wires: Mapping[str, str] | None = None) -> Page:
    """A page with wires as in a file: ``{"stop.x": "a.out"}``."""
    parsed = {PortName.parse(t): PortName.parse(s) for t, s in (wires or {}).items()}
    return Page(dict(blocks), parsed)


def draw(
    blocks: Mapping[str, Block], wires: Mapping[str, str] | None = None, **pages: Page
) -> Diagram:
    """A diagram with these blocks on its main page, and other pages."""
    return Diagram({MAIN: page(blocks, wires), **pages})


def seed() -> Diagram:
    """MXNet's example: loss(stop_gradient(3 b) + a)."""
    return draw(
        {
            "a": make("Variable", value=[[1, 2]]),
            "b": make("Variable", value=[[0, 1]]),
            "mul": make("Mul", a=3),
            "stop": make("StopGradient"),
            "add": make("Add"),
            "loss": make("Loss"),
        },
        {
            "mul.b": "b.out",
            "stop.x": "mul.out",
            "add.a": "stop.out",
            "add.b": "a.out",
            "loss.x": "add.out",
        },
    )


def scale() -> Page:
    """A page with ports x and factor (2 by default) in, y and twice out; twice reads x only."""
    return page(
        {
            "x": make("PageInput"),
            "factor": make("PageInput", x=2),
            "mul": make("Mul"),
            "double": make("Mul", b=2),
            "y": make("PageOutput"),
            "twice": make("PageOutput"),
        },
        {
            "mul.a": "x.out",
            "mul.b": "factor.out",
            "double.a": "x.out",
            "y.x": "mul.out",
            "twice.x": "double.out",
        },
    )
