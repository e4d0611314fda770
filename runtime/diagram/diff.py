"""What differs between two diagrams: pages, blocks, wires, notes and layout.

Names identify pages and blocks, as in a file. A name that is gone and one that is new are a rename
if what they stand for is the same: a page with the same blocks and wires, or a block of the same
type and parameters in the same place or with the same wires.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import Scan
from gradwire.runtime.diagram.files.records import record_of
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.paths import InstancePath, PortName, WirePath

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.comparison import Comparison
    from gradwire.runtime.diagram.lesson import Lesson
    from gradwire.runtime.diagram.model import Note
    from gradwire.runtime.diagram.training import Training


@dataclass(frozen=True, slots=True)
class Changed:
    """One value before and after; None where there is none."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class BlockChange:
    """A block that both diagrams have, with the fields that differ, its type among them."""

    name: str
    fields: tuple[Changed, ...]


@dataclass(frozen=True, slots=True)
class WireChange:
    """The source of an input before and after; None for no wire."""

    target: PortName
    before: PortName | None
    after: PortName | None


@dataclass(frozen=True, slots=True)
class NoteChange:
    """A note or frame before and after; None where there is none."""

    name: str
    before: Note | None
    after: Note | None


@dataclass(frozen=True, slots=True)
class PageChanges:
    """What differs on one page. Names are those after the change, but for what was removed.

    ``was`` is its name before, None for a new page; ``page`` is None for one that was removed.
    """

    page: str | None
    was: str | None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Names after, by the names before."""
    changed: tuple[BlockChange, ...] = ()
    wires: tuple[WireChange, ...] = ()
    notes: tuple[NoteChange, ...] = ()
    moved: tuple[str, ...] = ()
    """Blocks at another position."""
    rerouted: tuple[PortName, ...] = ()
    """Wires with other bends or another route, by target."""
    restyled: tuple[str, ...] = ()
    """Blocks with another colour, or collapsed or not."""
    rewritten: tuple[str, ...] = ()
    """Blocks of an imported program that differ by where it has them alone."""

    @property
    def name(self) -> str:
        """The page's name, after the change if it still exists."""
        return self.page or self.was or ""

    @property
    def has_meaning(self) -> bool:
        """Whether blocks or wires differ; layout, notes and names of pages don't count."""
        return bool(self.added or self.removed or self.renamed or self.changed or self.wires)

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        layout = self.notes or self.moved or self.rerouted or self.restyled or self.rewritten
        return self.page == self.was and not (self.has_meaning or layout)


@dataclass(frozen=True, slots=True)
class DiagramChanges:
    """What differs between two diagrams: pages with differences, and fields of the diagram."""

    before: Diagram
    after: Diagram
    pages: tuple[PageChanges, ...]
    renamed_pages: Mapping[str, str]
    """Names of all kept pages after, by their names before."""
    head: tuple[Changed, ...]

    @property
    def has_meaning(self) -> bool:
        """Whether blocks, wires, pages, contracts or the training differ."""
        pages = any(page.has_meaning or page.page != page.was for page in self.pages)
        return pages or any(changed.name in ("contracts", "training") for changed in self.head)

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.pages or self.head)

    def renamed(self, path: InstancePath) -> InstancePath:
        """The path after the change of an instance before it."""
        page: str | None = MAIN
        scan: Scan | None = None
        names: list[str] = []
        for name in path.names:
            if scan is not None and scan.has_step(name):
                page, scan = scan.page, None
                names.append(name)
                continue
            names.append(self._block_names(page).get(name, name))
            here = self.before.pages.get(page or "")
            block = None if here is None else here.blocks.get(name)
            scan = block if isinstance(block, Scan) else None
            page = block.page if isinstance(block, PageBlock) else None
        return InstancePath.of(*names)

    def renamed_wire(self, wire: WirePath) -> WirePath:
        """The path after the change of a wire before it."""
        return self.renamed(wire.block).wire(wire.within_block)

    def _block_names(self, page: str | None) -> Mapping[str, str]:
        return next((each.renamed for each in self.pages if each.was == page), {})


def diff(before: Diagram, after: Diagram) -> DiagramChanges:
    """What changed from ``before`` to ``after``."""
    pages = _kept_pages(before, after)
    new = {name: old for old, name in pages.items()}
    kept_or_new = [(new.get(name), name) for name in after.pages]
    gone = [(name, None) for name in before.pages if name not in pages]
    found = [_page_changes(before, after, *names, pages) for names in (*kept_or_new, *gone)]
    head = (
        Changed("title", before.title, after.title),
        Changed("description", before.description, after.description),
        Changed("contracts", before.contracts, after.contracts),
        Changed("lesson", _record(before.lesson), _record(after.lesson)),
        Changed("training", _record(before.training), _record(after.training)),
        Changed("comparison", _compared(before.comparison), _compared(after.comparison)),
    )
    return DiagramChanges(
        before,
        after,
        tuple(page for page in found if not page.is_empty),
        pages,
        tuple(changed for changed in head if changed.before != changed.after),
    )


def _record(part: Lesson | Training | Comparison | None) -> dict[str, object] | None:
    return None if part is None else part.to_record()


def _compared(found: Comparison | None) -> dict[str, object] | None:
    """Without what only says that blocks or numbers differ, which is told of these."""
    record = _record(found)
    prints = ("structure", "values")
    return None if record is None else {k: x for k, x in record.items() if k not in prints}


def _kept_pages(before: Diagram, after: Diagram) -> dict[str, str]:
    """The names after of pages, by their names before."""
    kept = {name: name for name in before.pages if name in after.pages}
    gone = [name for name in before.pages if name not in kept]
    for name, page in after.pages.items():
        if name in kept:
            continue
        same = next((old for old in gone if _is_same_page(before.pages[old], page)), None)
        if same is not None:
            gone.remove(same)
            kept[same] = name
    return kept


def _is_same_page(one: Page, other: Page) -> bool:
    alike = one.blocks == other.blocks and one.wires == other.wires
    return alike and bool(one.blocks)


def _page_changes(
    before: Diagram, after: Diagram, was: str | None, name: str | None, pages: Mapping[str, str]
) -> PageChanges:
    old = before.pages[was] if was is not None else Page()
    new = after.pages[name] if name is not None else Page()
    if old is new:
        return PageChanges(name, was)
    renamed = renamed_blocks(old, new)
    after_names = {block: renamed.get(block, block) for block in old.blocks}
    kept = {block: now for block, now in after_names.items() if now in new.blocks}
    return PageChanges(
        page=name,
        was=was,
        added=tuple(block for block in new.blocks if block not in kept.values()),
        removed=tuple(block for block in old.blocks if block not in kept),
        renamed=renamed,
        changed=tuple(
            change
            for block, now in kept.items()
            if (change := _block_change(now, old.blocks[block], new.blocks[now], pages))
        ),
        wires=tuple(_wire_changes(old, new, after_names)),
        notes=tuple(
            NoteChange(note, old.notes.get(note), new.notes.get(note))
            for note in {**old.notes, **new.notes}
            if old.notes.get(note) != new.notes.get(note)
        ),
        moved=tuple(
            now for block, now in kept.items() if old.layout.get(block) != new.layout.get(now)
        ),
        rerouted=tuple(_rerouted(old, new, after_names)),
        restyled=tuple(
            now for block, now in kept.items() if old.styles.get(block) != new.styles.get(now)
        ),
        rewritten=tuple(
            now
            for block, now in kept.items()
            if old.blocks[block].written != new.blocks[now].written
        ),
    )


def _block_change(
    name: str, old: Block, new: Block, pages: Mapping[str, str]
) -> BlockChange | None:
    """The fields that differ, but for where a program has it; a renamed page makes no difference to
    its uses.
    """
    if _is_same(old, new):
        return None
    if isinstance(old, PageBlock) and isinstance(new, PageBlock):
        if _is_same(old.model_copy(update={"page": pages.get(old.page, old.page)}), new):
            return None
    was, now = record_of(old), record_of(new)
    fields = (Changed(k, was.get(k), now.get(k)) for k in {**was, **now} if k != "written")
    return BlockChange(name, tuple(each for each in fields if each.before != each.after))


def _is_same(old: Block, new: Block) -> bool:
    """Whether two blocks differ by nothing but where a program has them."""
    if old is new or old == new:
        return True
    is_elsewhere = old.written != new.written
    return is_elsewhere and old.model_copy(update={"written": new.written}) == new


def _wire_changes(old: Page, new: Page, names: Mapping[str, str]) -> Iterator[WireChange]:
    """Wires that differ other than by names of blocks."""
    was = {_named(target, names): _named(source, names) for target, source in old.wires.items()}
    for target in {**was, **new.wires}:
        before, after = was.get(target), new.wires.get(target)
        if before != after:
            yield WireChange(target, before, after)


def _rerouted(old: Page, new: Page, names: Mapping[str, str]) -> Iterator[PortName]:
    """Wires of both whose bends or routes differ."""
    for target in old.wires:
        now = _named(target, names)
        ways = (old.bends.get(target), old.routes.get(target))
        if now in new.wires and ways != (new.bends.get(now), new.routes.get(now)):
            yield now


def renamed_blocks(old: Page, new: Page) -> dict[str, str]:
    """The new names of blocks, by their old ones: those of which only one can be meant."""
    gone = [name for name in old.blocks if name not in new.blocks]
    come = [name for name in new.blocks if name not in old.blocks]
    if not gone or not come:
        return {}
    found = {
        name: [other for other in come if _is_same_block(old, name, new, other)] for name in gone
    }
    claims = [other for others in found.values() for other in others]
    return {
        name: others[0]
        for name, others in found.items()
        if len(others) == 1 and claims.count(others[0]) == 1
    }


def _is_same_block(old: Page, name: str, new: Page, other: str) -> bool:
    if not _is_same(old.blocks[name], new.blocks[other]):
        return False
    place = old.layout.get(name)
    in_place = place is not None and place == new.layout.get(other)
    return in_place or _neighbours(old, name) == _neighbours(new, other) != set()


def _neighbours(page: Page, name: str) -> set[tuple[str, PortName]]:
    """The wires of a block: its own ports, each with what it is connected to."""
    inward = {(t.port, page.wires[t]) for t in page.ends.inward.get(name, ())}
    return inward | {(page.wires[t].port, t) for t in page.ends.outward.get(name, ())}


def _named(port: PortName, names: Mapping[str, str]) -> PortName:
    return PortName(names.get(port.block, port.block), port.port)
