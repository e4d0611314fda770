"""All changes that can be made to a diagram, as values; ``edits.applying`` makes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.layout.graph import NOTHING_SHOWN, ShownSizes
from gradwire.runtime.diagram.model import MAIN, Note, Page, Point, View

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.lesson import Lesson
    from gradwire.runtime.diagram.model import Route, Style
    from gradwire.runtime.diagram.paths import PortName
    from gradwire.runtime.diagram.training import Training


@dataclass(frozen=True, slots=True)
class AddBlock:
    """Add a block at the end of a page."""

    name: str
    block: Block
    at: Point = Point(0.0, 0.0)
    page: str = MAIN


@dataclass(frozen=True, slots=True)
class RemoveBlocks:
    """Remove blocks with all their wires."""

    names: Collection[str]
    page: str = MAIN


@dataclass(frozen=True, slots=True)
class RenameBlock:
    """Rename a block and update its wires, its position and, for a page port, the page's uses."""

    old: str
    new: str
    page: str = MAIN


@dataclass(frozen=True, slots=True)
class MoveBlocks:
    """Move blocks by name, notes by id, and the bends of wires by target."""

    places: Mapping[str, Point]
    page: str = MAIN
    notes: Mapping[str, Point] = field(default_factory=dict)
    bends: Mapping[PortName, tuple[Point, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StyleBlocks:
    """Set the styles of blocks by name."""

    styles: Mapping[str, Style]
    page: str = MAIN


@dataclass(frozen=True, slots=True)
class SetParameters:
    """Set parameters and literals of a block; None removes a literal."""

    name: str
    values: Mapping[str, object]
    page: str = MAIN


@dataclass(frozen=True, slots=True)
class Connect:
    """Drive an input from an output, replacing any wire that drove it."""

    source: PortName
    target: PortName
    page: str = MAIN


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Remove the wire that drives an input; later terms of a repeating port move up."""

    target: PortName
    page: str = MAIN


@dataclass(frozen=True, slots=True)
class BendWire:
    """Lead the wire that drives an input through these points, starting at its source.

    Without points it follows ``route``, if there is one.
    """

    target: PortName
    bends: tuple[Point, ...]
    page: str = MAIN
    route: Route = ()


@dataclass(frozen=True, slots=True)
class SetNote:
    """Add, change or (None) remove the note with this id."""

    id: str
    note: Note | None
    page: str = MAIN


@dataclass(frozen=True, slots=True)
class Arrange:
    """Arrange a page, or some of its blocks, and route their wires.

    ``shown`` is what needs more room on the canvas than usual.
    """

    page: str = MAIN
    names: Collection[str] = ()
    shown: ShownSizes = NOTHING_SHOWN


@dataclass(frozen=True, slots=True)
class InsertPage:
    """Add a page at the end."""

    name: str
    page: Page = field(default_factory=Page)


@dataclass(frozen=True, slots=True)
class RemovePage:
    """Remove an unused page."""

    name: str


@dataclass(frozen=True, slots=True)
class RenamePage:
    """Rename a page and update its uses."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class SetTitle:
    """Set the title, description and contracts of the diagram; None leaves one unchanged."""

    title: str | None = None
    description: str | None = None
    contracts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SetViews:
    """Replace the bookmarks of the diagram."""

    views: tuple[View, ...]


@dataclass(frozen=True, slots=True)
class SetLesson:
    """Replace the lesson of the diagram; None removes it."""

    lesson: Lesson | None


@dataclass(frozen=True, slots=True)
class SetTraining:
    """Replace the recipe by which the diagram is trained; None removes it."""

    training: Training | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Several changes made as one: all or none."""

    label: str
    changes: tuple[Change, ...]


Change: TypeAlias = (
    AddBlock
    | RemoveBlocks
    | RenameBlock
    | MoveBlocks
    | StyleBlocks
    | SetParameters
    | Connect
    | Disconnect
    | BendWire
    | SetNote
    | Arrange
    | InsertPage
    | RemovePage
    | RenamePage
    | SetTitle
    | SetViews
    | SetLesson
    | SetTraining
    | Batch
)
