"""Which numbers stand beside wires: values, gradients, both or none; on all wires, or a few."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from gradwire.app.canvas.state.formatting import beside_wire

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Indices
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.page_result import PageResult
    from gradwire.app.canvas.state.view_state import Selection


class WireNumbers(NamedTuple):
    """The numbers that wires show; ``everywhere``, or only on the selection."""

    value: bool = False
    gradient: bool = True
    everywhere: bool = False

    @classmethod
    def chosen(cls, numbers: str, wires: str) -> Self:
        """As the settings name them: ``both`` on ``all``; what is unknown is as by default."""
        kinds = {"value": (True, False), "both": (True, True), "none": (False, False)}
        return cls(*kinds.get(numbers, (False, True)), everywhere=wires == "all")

    def among(self, wires: Indices, scene: Scene, selection: Selection) -> Indices:
        """Those of ``wires`` that have numbers; where few do, those at selected blocks too."""
        if self.everywhere or not (self.value or self.gradient):
            return wires if self.everywhere else wires[:0]
        blocks = [scene.index[name] for name in selection.blocks]
        touched = np.isin(scene.wire_blocks[wires], blocks).any(axis=1)
        selected = wires == scene.wire_index.get(selection.wire or "", -1)
        return np.asarray(wires[touched | selected])


DEFAULT = WireNumbers()
"""The gradient of the selection."""
NO_NUMBERS = WireNumbers(value=False, gradient=False)
"""Neither values nor gradients."""


def value_texts(page: PageResult, wire: int) -> tuple[str, ...]:
    """The value that a wire carries, in ever shorter texts; none if it is unknown, or a tree."""
    source = page.scene.port_name(int(page.scene.wire_ports[wire, 0]))
    value = page.value(source.block, source.port)
    return () if value is None else beside_wire(value)
