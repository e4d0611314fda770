"""Merges two diagrams that come from a third, by pages, blocks, wires and fields.

What one side has changed and the other has not is changed. What both have changed differently is a
conflict: the merged diagram has ours, or what is left where a side has removed it. Positions, bends
and colours never conflict. A block that one side has renamed is known by its new name in the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum, auto
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from gradwire.runtime.diagram.diff import diff
from gradwire.runtime.diagram.edits.applying import apply
from gradwire.runtime.diagram.edits.changes import RenameBlock
from gradwire.runtime.diagram.model import Diagram, Page

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.model import Note
    from gradwire.runtime.diagram.paths import PortName

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


class Conflict(NamedTuple):
    """What both sides have changed, each in its own way."""

    page: str
    """Empty for the diagram itself."""
    what: str
    """``block relu1``, ``relu1: alpha``, ``wire into loss.x``, ``title``."""
    kept: str
    """What the merged diagram has: ``ours``, ``theirs``, or ``both``."""

    def __str__(self) -> str:
        place = f"page {self.page}: " if self.page else ""
        return f"{place}{self.what} (kept {self.kept})"


class Merged(NamedTuple):
    """A merged diagram, and what is to be decided by hand."""

    diagram: Diagram
    conflicts: tuple[Conflict, ...]


def merge(base: Diagram, ours: Diagram, theirs: Diagram) -> Merged:
    """Merge what two diagrams have changed of their common ancestor."""
    return _Merging(_with_names(Three(base, ours, theirs))).merged()


def _with_names(three: Three[Diagram]) -> Three[Diagram]:
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
    for page in diff(before, after).pages:
        if page.was is not None and page.was == page.page:
            yield from (RenameBlock(old, new, page.was) for old, new in page.renamed.items())


def _renamed(diagram: Diagram, change: RenameBlock) -> Diagram:
    page = diagram.pages.get(change.page)
    if page is None or change.old not in page.blocks or change.new in page.blocks:
        return diagram
    return apply(diagram, change).after


class _Merging:
    def __init__(self, three: Three[Diagram]) -> None:
        self._three = three
        self._conflicts: list[Conflict] = []
        self._page = ""

    def merged(self) -> Merged:
        three = self._three
        pages = self._mapping(three.each(lambda d: d.pages), self._both_pages, "page {}")
        fields = {
            name: self._value(three.each(attrgetter(name)), name)
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

    def _conflict(self, what: str, kept: str) -> None:
        self._conflicts.append(Conflict(self._page, what, kept))

    def _value(self, three: Three[Any], what: str) -> Any:
        """The side that has changed; ours, and a conflict, if both have."""
        base, ours, theirs = three
        if ours == theirs or theirs == base:
            return ours
        if ours == base:
            return theirs
        self._conflict(what, "ours")
        return ours

    def _mapping(
        self,
        three: Three[Mapping[_K, _V]],
        both: Callable[[_K, _V | _Missing, _V, _V], _V],
        what: str,
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
                chosen = other if mine is MISSING else mine
                self._conflict(what.format(key), "theirs" if mine is MISSING else "ours")
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
            blocks = self._mapping(three.each(lambda p: p.blocks), self._both_blocks, "block {}")
            wires = self._mapping(three.each(lambda p: p.wires), self._both_wires, "wire into {}")
            notes = self._mapping(three.each(lambda p: p.notes), self._both_notes, "note {}")
            looks = {part: self._looks(*map(attrgetter(part), three)) for part in _LAYOUT}
        finally:
            self._page = ""
        return Page(blocks=blocks, wires=wires, notes=notes, **looks)

    def _looks(
        self, base: Mapping[_K, _V], ours: Mapping[_K, _V], theirs: Mapping[_K, _V]
    ) -> dict[_K, _V]:
        """What never conflicts: ours, with what theirs has of its own."""
        added = {key: x for key, x in theirs.items() if key not in base and key not in ours}
        moved = {key: x for key, x in theirs.items() if key in ours and ours[key] == base.get(key)}
        return {**ours, **moved, **added}

    def _both_blocks(self, name: str, base: Block | _Missing, ours: Block, theirs: Block) -> Block:
        """A block of which both have changed fields; ours where it became another."""
        if base is MISSING or not type(base) is type(ours) is type(theirs):
            self._conflict(f"block {name}", "ours")
            return ours
        update = {}
        for key in type(ours).model_fields:
            if key != "written":  # where a program has it is no decision of anybody
                three = Three(base, ours, theirs).each(attrgetter(key))
                update[key] = self._value(three, f"{name}: {key}")
        return ours.model_copy(update=update)

    def _both_wires(
        self, target: PortName, base: PortName | _Missing, ours: PortName, theirs: PortName
    ) -> PortName:
        self._conflict(f"wire into {target}", "ours")
        return ours

    def _both_notes(self, name: str, base: Note | _Missing, ours: Note, theirs: Note) -> Note:
        self._conflict(f"note {name}", "ours")
        return ours

    def _connected(self, name: str, page: Page) -> Page:
        """A page without wires, and looks, of blocks that it has no more."""
        gone = {
            target: source
            for target, source in page.wires.items()
            if target.block not in page.blocks or source.block not in page.blocks
        }
        for target in gone:
            if target.block in page.blocks:  # the other side took away what it comes from
                self._conflicts.append(Conflict(name, f"wire into {target}", "neither"))
        wires = {target: source for target, source in page.wires.items() if target not in gone}
        return replace(
            page,
            wires=wires,
            layout={block: x for block, x in page.layout.items() if block in page.blocks},
            styles={block: x for block, x in page.styles.items() if block in page.blocks},
            bends={target: x for target, x in page.bends.items() if target in wires},
            routes={target: x for target, x in page.routes.items() if target in wires},
        )
