"""One block in a diagram of its own, with the squares of its first output as a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.paths import PortName
from tests.blocks.single import Single

if TYPE_CHECKING:
    from gradwire.blocks import Block
    from tests.blocks.examples import Example


class Squared(Single):
    """A block that makes floats."""

    def _extend(self, blocks: dict[str, Block], wires: dict[PortName, PortName]) -> None:
        blocks |= {"square": registry().get("Square")(), "loss": registry().get("Loss")()}
        wires |= {
            PortName("square", "x"): PortName.parse(self.output),
            PortName("loss", "x"): PortName("square", "out"),
        }


def squared(example: Example) -> tuple[Single, list[str]]:
    """The block of an example, and the loss behind it; none behind what makes no floats."""
    alone = Single(example.block, **example.inputs)
    if not alone.traced[1].startswith("float"):
        return alone, []
    return Squared(example.block, **example.inputs), ["loss"]
