"""Merges two diagrams that come from a third, by pages, blocks, wires and fields.

What one side has changed and the other has not is changed. What both have changed differently is a
conflict: the merged diagram has ours, or what is left where a side has removed it, unless another
side was chosen. Positions, bends and colours never conflict. A block that one side has renamed is
known by its new name in the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum, auto
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from gradwire.blocks.block import Block
from gradwire.runtime.diagram.diff import renamed_blocks
from gradwire.runtime.diagram.edits.applying import apply
from gradwire.runtime.diagram.edits.changes import RenameBlock
from gradwire.runtime.diagram.files.records import record_of
from gradwire.runtime.diagram.files.writing import note_record
from gradwire.runtime.diagram.lesson import Lesson
from gradwire.runtime.diagram.model import Diagram, Note, Page
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.diagram.training import Training

Side: TypeAlias = Literal["ours", "theirs"]
SIDES: tuple[Side, ...] = ("ours", "theirs")
_K = TypeVar("_K")
_V = TypeVar("_V")
_W = TypeVar("_W")
_LAYOUT = ("layout", "bends", "routes", "styles")


class _Missing(Enum):
    """No value, as None is one."""

    MISSING = auto()


MISSING = _Missing.MISSING


class Three(NamedTuple, Generic[_V]):
    """One thing in the common ancestor and on both sides."""

    base: _V
    ours: _V
    theirs: _V

    def each(self, part: Callable[[_V], _W]) -> Three[_W]:
        """The same part of all three."""
        return Three(*map(part, self))


class ConflictPlace(NamedTuple):
    """Where a conflict is seen: a page, and on it a block or a wire, by its target."""

    page: str
    item: str | PortName | None = None


class Conflict(NamedTuple):
    """What both sides have changed, each in its own way."""

    page: str
    """Empty for the diagram itself."""
    what: str
    """``block relu1``, ``relu1: alpha``, ``wire into loss.x``, ``title``."""
    kept: Side | Literal["neither"]
    """What the merged diagram has. Of ``neither`` no side can be had: it is for the editor."""
    ours: Any
    """What our side has, as a file stores it, of a page the names of its blocks; None for what is
    gone.
    """
    theirs: Any
    place: ConflictPlace | None = None
    """None for a field of the diagram."""

    @property
    def name(self) -> str:
        """By which a side is chosen: ``page main: relu1: alpha``."""
        return f"page {self.page}: {self.what}" if self.page else self.what

    def __str__(self) -> str:
        return f"{self.name} (kept {self.kept})"

    def to_json(self) -> dict[str, Any]:
        """Its fields but for the place, which ``what`` says."""
        return {key: value for key, value in self._asdict().items() if key != "place"}


class Merged(NamedTuple):
    """A merged diagram, and what is to be decided by hand."""

    diagram: Diagram
    conflicts: tuple[Conflict, ...]


def merge(
    base: Diagram,
    ours: Diagram,
    theirs: Diagram,
    choices: Mapping[str, Side] = MappingProxyType({}),
) -> Merged:
    """Merge what two diagrams have changed of their common ancestor.

    ``choices`` has sides of conflicts by their names. A choice can bring another conflict, or end
    one.
    """
    return _Merging(with_names(Three(base, ours, theirs)), choices).merged()


def with_names(three: Three[Diagram]) -> Three[Diagram]:
    """The three, with blocks that one side has renamed renamed in all of them."""
    base, ours, theirs = three
    for_theirs, for_ours = list(_renames(base, ours)), list(_renames(base, theirs))
    both = {(change.page, change.old) for change in for_theirs} & {
        (change.page, change.old) for change in for_ours
    }
    for change in for_theirs:
        if (change.page, change.old) not in both:
            base, theirs = _renamed(base, change), _renamed(theirs, change)
    for change in for_ours:
        if (change.page, change.old) not in both:
            base, ours = _renamed(base, change), _renamed(ours, change)
    return Three(base, ours, theirs)


def _renames(before: Diagram, after: Diagram) -> Iterator[RenameBlock]:
    for name, page in before.pages.items():
        if name in after.pages:
            renamed = renamed_blocks(page, after.pages[name])
            yield from (RenameBlock(old, new, name) for old, new in renamed.items())


def _renamed(diagram: Diagram, change: RenameBlock) -> Diagram:
    page = diagram.pages.get(change.page)
    if page is None or change.old not in page.blocks or change.new in page.blocks:
        return diagram
    return apply(diagram, change).after


class _Merging:
    def __init__(self, three: Three[Diagram], choices: Mapping[str, Side]) -> None:
        self._three = three
        self._choices = choices
        self._conflicts: list[Conflict] = []
        self._page = ""

    def merged(self) -> Merged:
        three = self._three
        pages = self._mapping(
            three.each(lambda d: d.pages), self._both_pages, "page {}", ConflictPlace
        )
        fields = {
            name: self._field(three, name, name, None)
            for name in ("title", "description", "lesson", "training")
        }
        made = replace(
            three.ours,
            pages={name: self._connected(name, page) for name, page in pages.items()},
            contracts=self._lines(*(d.contracts for d in three)),
            views=three.ours.views,
            **fields,
        )
        same = three.ours.comparison == three.theirs.comparison
        comparison = three.ours.comparison if same else None  # of another program
        return Merged(replace(made, comparison=comparison), tuple(self._conflicts))

    # ---- one thing ----------------------------------------------------------------------------

    def _decided(
        self,
        what: str,
        sides: tuple[_V, _V],
        place: ConflictPlace | None,
        default: Side = "ours",
        stored: Callable[[_V], object] | None = None,
    ) -> _V:
        """Record a conflict; the side that was chosen, or else ``default``."""
        ours, theirs = map(stored or _stored, sides)
        found = Conflict(self._page, what, default, ours, theirs, place)
        kept = self._choices.get(found.name, default)
        self._conflicts.append(found._replace(kept=kept))
        return sides[0] if kept == "ours" else sides[1]

    def _mapping(
        self,
        three: Three[Mapping[_K, _V]],
        both: Callable[[_K, _V | _Missing, _V, _V], _V],
        what: str,
        place: Callable[[_K], ConflictPlace],
    ) -> dict[_K, _V]:
        """Entry by entry, in our order; ``both`` merges what both have changed."""
        made: dict[_K, _V] = {}
        for key in {**three.ours, **three.theirs}:
            old, mine, other = (x.get(key, MISSING) for x in three)
            if mine == other or other == old:
                chosen = mine
            elif mine == old:
                chosen = other
            elif mine is MISSING or other is MISSING:  # one side removed what the other changed
                left: Side = "theirs" if mine is MISSING else "ours"
                chosen = self._decided(what.format(key), (mine, other), place(key), left)
            else:
                chosen = both(key, old, mine, other)
            if chosen is not MISSING:
                made[key] = chosen
        return made

    def _lines(
        self, base: tuple[str, ...], ours: tuple[str, ...], theirs: tuple[str, ...]
    ) -> tuple[str, ...]:
        """All that a side has, but what the other has removed."""
        kept = [line for line in ours if line in theirs or line not in base]
        added = [line for line in theirs if line not in base and line not in ours]
        return (*kept, *added)

    # ---- pages --------------------------------------------------------------------------------

    def _both_pages(self, name: str, base: Page | _Missing, ours: Page, theirs: Page) -> Page:
        three = Three(Page() if base is MISSING else base, ours, theirs)
        self._page = name
        try:
            blocks = self._mapping(
                three.each(lambda p: p.blocks), self._both_blocks, "block {}", self._place
            )
            wires = self._mapping(
                three.each(lambda p: p.wires), self._both_wires, "wire into {}", self._place
            )
            notes = self._mapping(
                three.each(lambda p: p.notes),
                self._both_notes,
                "note {}",
                lambda _: ConflictPlace(name),
            )
            looks = {part: self._looks(*map(attrgetter(part), three)) for part in _LAYOUT}
        finally:
            self._page = ""
        return Page(blocks=blocks, wires=wires, notes=notes, **looks)

    def _place(self, item: str | PortName) -> ConflictPlace:
        return ConflictPlace(self._page, item)

    def _looks(
        self, base: Mapping[_K, _V], ours: Mapping[_K, _V], theirs: Mapping[_K, _V]
    ) -> dict[_K, _V]:
        """What never conflicts: ours, with what theirs has of its own."""
        added = {key: x for key, x in theirs.items() if key not in base and key not in ours}
        moved = {key: x for key, x in theirs.items() if key in ours and ours[key] == base.get(key)}
        return {**ours, **moved, **added}

    def _both_blocks(self, name: str, base: Block | _Missing, ours: Block, theirs: Block) -> Block:
        """A block of which both have changed fields; one side's where it became another."""
        if base is MISSING or not type(base) is type(ours) is type(theirs):
            return self._decided(f"block {name}", (ours, theirs), self._place(name))
        three, place = Three(base, ours, theirs), self._place(name)
        update = {
            key: self._field(three, key, f"{name}: {key}", place)
            for key in type(ours).model_fields
            if key != "written"  # where a program has it is no decision of anybody
        }
        return ours.model_copy(update=update)

    def _field(self, three: Three[Any], key: str, what: str, place: ConflictPlace | None) -> Any:
        """The value of the side that has changed it; a conflict if both have."""
        base, ours, theirs = three.each(attrgetter(key))
        if ours == theirs or theirs == base:
            return ours
        if ours == base:
            return theirs
        sides = three.ours, three.theirs
        chosen = self._decided(what, sides, place, stored=lambda each: _stored_field(each, key))
        return getattr(chosen, key)

    def _both_wires(
        self, target: PortName, base: PortName | _Missing, ours: PortName, theirs: PortName
    ) -> PortName:
        return self._decided(f"wire into {target}", (ours, theirs), self._place(target))

    def _both_notes(self, name: str, base: Note | _Missing, ours: Note, theirs: Note) -> Note:
        return self._decided(f"note {name}", (ours, theirs), ConflictPlace(self._page))

    def _connected(self, name: str, page: Page) -> Page:
        """A page without wires, and looks, of blocks that it has no more."""
        gone = {
            target: source
            for target, source in page.wires.items()
            if target.block not in page.blocks or source.block not in page.blocks
        }
        sides = [side.pages.get(name, Page()).wires for side in self._three[1:]]
        for target in gone:
            if target.block in page.blocks:  # the other side took away what it comes from
                ours, theirs = (_stored(wires.get(target)) for wires in sides)
                place = ConflictPlace(name, target)
                what = f"wire into {target}"
                self._conflicts.append(Conflict(name, what, "neither", ours, theirs, place))
        wires = {target: source for target, source in page.wires.items() if target not in gone}
        return replace(
            page,
            wires=wires,
            layout={block: x for block, x in page.layout.items() if block in page.blocks},
            styles={block: x for block, x in page.styles.items() if block in page.blocks},
            bends={target: x for target, x in page.bends.items() if target in wires},
            routes={target: x for target, x in page.routes.items() if target in wires},
        )


def _stored(value: object) -> object:
    """What a conflict is about as a file stores it; of a page the names of its blocks."""
    match value:
        case _Missing.MISSING:
            return None
        case Block():
            return record_of(value)
        case Note():
            return note_record(value)
        case Page():
            return [*value.blocks]
        case Lesson() | Training():
            return value.to_record()
        case PortName():
            return str(value)
    return value


def _stored_field(owner: Block | Diagram, key: str) -> object:
    """A field of a block or a diagram as a file stores it."""
    if isinstance(owner, Diagram):
        return _stored(getattr(owner, key))
    if key in ("literals", "owned"):  # stored beside the parameters
        record = record_of(owner)
        return {name: record[name] for name in getattr(owner, key)}
    return owner.model_dump(mode="json", include={key})[key]
