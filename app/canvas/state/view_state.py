"""Everything that one painting of the canvas shows, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from app.canvas.scene.camera import Camera
    from app.canvas.scene.focus import Focus
    from app.canvas.scene.geometry import Bend, Scene
    from app.canvas.state.annotations import Annotations
    from app.canvas.state.route import Route
    from app.services.theme import Theme
    from runtime.diagram.model import Note


class Selection(NamedTuple):
    """Names of blocks and of notes, and bends of wires."""

    blocks: frozenset[str] = frozenset()
    notes: frozenset[str] = frozenset()
    bends: frozenset[Bend] = frozenset()

    def joined(self, other: Selection) -> Selection:
        """The union of both."""
        return Selection(
            self.blocks | other.blocks, self.notes | other.notes, self.bends | other.bends
        )

    def toggled(self, other: Selection) -> Selection:
        """The symmetric difference of both."""
        return Selection(
            self.blocks ^ other.blocks, self.notes ^ other.notes, self.bends ^ other.bends
        )

    def includes(self, other: Selection) -> bool:
        """Whether all of ``other`` is selected."""
        return self.joined(other) == self


@dataclass(frozen=True)
class ViewState:
    """The scene, its annotations, and everything that stands out.

    Input and stage replace the whole value; painters read it.
    """

    scene: Scene
    annotations: Annotations
    camera: Camera
    theme: Theme
    selected: frozenset[str] = frozenset()
    """Names of the selected blocks."""
    notes: frozenset[str] = frozenset()
    """Names of the selected notes."""
    bends: frozenset[Bend] = frozenset()
    """The selected bends."""
    wire: str | None = None
    """Key of the selected wire."""
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
    marks: Mapping[str, str] = field(default_factory=dict)
    """Wires that a gesture is about to change, with the name of a colour of the theme."""
    dragged_notes: Mapping[str, Note] = field(default_factory=dict)
    """Notes at the position and size that a gesture gives them."""

    @property
    def selection(self) -> Selection:
        """Everything that is selected except the wire."""
        return Selection(self.selected, self.notes, self.bends)

    @property
    def lane_count(self) -> int:
        """How many lanes lie beside each wire at most."""
        return len(self.annotations.lanes)
