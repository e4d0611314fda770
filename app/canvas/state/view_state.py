"""What one painting shows: what the painters read, and gestures and the keyboard write."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from app.canvas.paint.route import Route
    from app.canvas.scene.camera import Camera
    from app.canvas.scene.focus import Focus
    from app.canvas.scene.geometry import Bend, Scene
    from app.canvas.state.annotations import Facts
    from app.services.theme import Theme
    from runtime.diagram.model import Note


class Picked(NamedTuple):
    """Names of blocks and of notes, and bends of wires."""

    blocks: frozenset[str] = frozenset()
    notes: frozenset[str] = frozenset()
    bends: frozenset[Bend] = frozenset()

    def joined(self, other: Picked) -> Picked:
        """Both."""
        return Picked(
            self.blocks | other.blocks, self.notes | other.notes, self.bends | other.bends
        )

    def toggled(self, other: Picked) -> Picked:
        """With what is in one of both only."""
        return Picked(
            self.blocks ^ other.blocks, self.notes ^ other.notes, self.bends ^ other.bends
        )

    def holds(self, other: Picked) -> bool:
        """Whether all of ``other`` is in it."""
        return self.joined(other) == self


@dataclass
class View:
    """What one painting shows: the scene, what is known of it, and what is picked out."""

    scene: Scene
    facts: Facts
    camera: Camera
    theme: Theme
    ratio: float = 1.0
    """Device px per widget px."""
    selected: frozenset[str] = frozenset()
    wire: str | None = None
    """Key of the selected wire."""
    notes: frozenset[str] = frozenset()
    """The selected notes."""
    bends: frozenset[Bend] = frozenset()
    """The selected bends."""
    hidden_wire: str | None = None
    """A wire that a gesture holds in its hand."""
    phase: float = 0.0
    """How far the chevrons of the selected wire have moved, 0 … 1."""
    patience: float = math.inf
    """Seconds that one painting may spend on asking where gradient is cut."""
    behind: bool = False
    """Whether the last painting had to leave something out for want of time."""
    pulse: Callable[[float], object] | None = None
    """Is told the share of a picture that is painted; what it raises ends the painting."""
    lit_ports: tuple[int, ...] = ()
    """Ports that the wire in the hand fits."""
    near_port: int | None = None
    """The one of them it would snap to, or the port under the pointer."""
    focus: Focus | None = None
    """Where the keyboard is, while it is used."""
    route: Route | None = None
    """What is explained; the rest is dimmed."""
    traced: str | None = None
    """The wire under the pointer: it is shown from end to end, and the rest dimmed."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """Wires that a gesture is about to change, with the theme's name of the colour."""
    held_notes: Mapping[str, Note] = field(default_factory=dict)
    """Notes as a drag has them."""

    @property
    def picked(self) -> Picked:
        """All that is selected but wires."""
        return Picked(self.selected, self.notes, self.bends)

    @property
    def strands(self) -> int:
        """How many lanes lie beside each wire."""
        return len(self.facts.strands)
