"""Everything that one painting of the canvas shows, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from gradwire.app.canvas.state.formatting import beside_wire
from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Indices
    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.canvas.scene.focus import Focus
    from gradwire.app.canvas.scene.geometry import Bend, Scene
    from gradwire.app.canvas.state.annotations import Annotations, PageResult
    from gradwire.app.canvas.state.badge_labels import NumberStatus
    from gradwire.app.canvas.state.costs import PageCosts
    from gradwire.app.canvas.state.marks import Route
    from gradwire.app.document.numbers import NumberCell
    from gradwire.app.services.theme import Theme
    from gradwire.runtime.diagram import InstancePath, Note


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


class Selection(NamedTuple):
    """Names of blocks and of notes, bends of wires, and the key of at most one wire."""

    blocks: frozenset[str] = frozenset()
    notes: frozenset[str] = frozenset()
    bends: frozenset[Bend] = frozenset()
    wire: str | None = None

    @property
    def has_items(self) -> bool:
        """Whether a block, a note or a bend is selected."""
        return bool(self.blocks or self.notes or self.bends)

    def without_wire(self) -> Selection:
        """The blocks, notes and bends alone."""
        return self._replace(wire=None)

    def joined(self, items: Selection) -> Selection:
        """The union with other blocks, notes and bends; the wire stays."""
        return Selection(
            self.blocks | items.blocks, self.notes | items.notes, self.bends | items.bends,
            self.wire,
        )  # fmt: skip

    def toggled(self, items: Selection) -> Selection:
        """The symmetric difference with other blocks, notes and bends; the wire stays."""
        return Selection(
            self.blocks ^ items.blocks, self.notes ^ items.notes, self.bends ^ items.bends,
            self.wire,
        )  # fmt: skip

    def includes(self, items: Selection) -> bool:
        """Whether these blocks, notes and bends are all selected."""
        return self.joined(items) == self


NOTHING = Selection()


@dataclass(frozen=True)
class ViewState:
    """The scene, its annotations, and everything that stands out.

    Input and stage replace the whole value; painters read it.
    """

    scene: Scene
    annotations: Annotations
    camera: Camera
    theme: Theme
    computing: bool = False
    """Whether an evaluation is under way that takes long enough to be shown."""
    costs: PageCosts | None = None
    """The costs of the blocks, while they are shown."""
    selection: Selection = NOTHING
    numbers: WireNumbers = DEFAULT
    """The numbers beside wires."""
    focus: Focus | None = None
    """The keyboard focus, while it is used."""
    phase: float = 0.0
    """How far the chevrons of the selected wire have moved, 0 … 1."""
    route: Route | None = None
    """The route that is explained; everything else is dimmed."""
    traced: str | None = None
    """The wire under the pointer that is shown from end to end; everything else is dimmed."""
    hidden_wire: str | None = None
    """A wire that is being moved."""
    fitting_ports: tuple[int, ...] = ()
    """Ports that the open wire fits."""
    near_port: int | None = None
    """The fitting port that the open wire snaps to, or the port under the pointer."""
    near_number: NumberCell | None = None
    """The number under the pointer that can be changed in place."""
    number: NumberCell | None = None
    """The number that the keyboard changes."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """Wires that a gesture is about to change, with the name of a colour of the theme."""
    culprits: Mapping[InstancePath, str] = field(default_factory=dict)
    """Blocks at fault for what the doctor found, with a severity of ``SEVERITIES``."""
    dragged_notes: Mapping[str, Note] = field(default_factory=dict)
    """Notes at the position and size that a gesture gives them."""

    def status(self, block: str) -> NumberStatus:
        """Where the numbers of a block come from."""
        return self.annotations.status(block, computing=self.computing)

    @property
    def lane_count(self) -> int:
        """How many lanes lie beside each wire at most."""
        return len(self.annotations.lanes)
