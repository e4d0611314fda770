"""Copies a selection as text (``copied``), and makes the change that pastes it (``pasted``).

The text is a diagram file with the selection as its main page, and with the pages that it uses.
It survives a text editor or an e-mail, and can be pasted into another window.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import replace

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.names import MAX_LENGTH, fresh_names, snake_case
from gradwire.blocks.terms import split_term
from gradwire.runtime.diagram.edits.applying import apply
from gradwire.runtime.diagram.edits.changes import (
    AddBlock,
    Batch,
    BendWire,
    Change,
    Connect,
    InsertPage,
    RemoveBlocks,
    RemovePage,
    RenamePage,
    SetNote,
    SetParameters,
    StyleBlocks,
)
from gradwire.runtime.diagram.edits.grouping import uses
from gradwire.runtime.diagram.edits.routes import moved_route
from gradwire.runtime.diagram.files.migrations import FIELD, VERSION
from gradwire.runtime.diagram.files.storage import dumps, loads
from gradwire.runtime.diagram.layout.measures import WIDTH, block_height
from gradwire.runtime.diagram.model import MAIN, Diagram, Page, Point
from gradwire.runtime.diagram.paths import PortName

STEP = Point(24.0, 24.0)
"""Offset of a copy from the original if no position is given, px at 100 %."""

_FENCE = re.compile(r"\A```[^\n]*\n(.*?)\n?```\Z", re.DOTALL)
_SECTIONS = frozenset({"blocks", "wires", "routes", "layout", "notes"})
_FORMS = "a diagram, its blocks and wires, or records of blocks, as JSON"


@dataclass(frozen=True, slots=True)
class Paste:
    """The change that pastes, and the names of the new blocks and notes."""

    change: Batch
    blocks: frozenset[str]
    notes: frozenset[str]


def copied(diagram: Diagram, page: str, names: Collection[str], notes: Collection[str] = ()) -> str:
    """The text of some blocks and notes of a page, with the wires between the blocks.

    Terms of a repeating port are renumbered without the omitted ones. Raises ChangeError for a
    name that does not exist.
    """
    here, chosen = diagram.pages[page], frozenset(names)
    others = [name for name in here.blocks if name not in chosen]
    kept = apply(diagram, RemoveBlocks(others, page)).after.pages[page]
    main = replace(kept, notes={n: note for n, note in here.notes.items() if n in notes})
    used = {name: diagram.pages[name] for name in pages_used(diagram.pages, main) if name != MAIN}
    return dumps(Diagram({MAIN: main} | used))


def pasted(
    diagram: Diagram,
    page: str,
    text: str,
    at: Point | None = None,
    *,
    label: str = "Paste",
    aside: Point = Point(0.0, 0.0),
) -> Paste:
    """The change that pastes a copied text on a page, centred at ``at`` or, without ``at``, offset
    by ``STEP`` from the original.

    ``aside`` is added to the position, for repeated pastes. Blocks whose names are in use get a
    number; equal pages of the diagram are reused. The text may also be a part of a file, copied
    from a text editor. Raises FileError with line and column, also for a text without blocks.
    """
    source = _read(text)
    if not (source.main.blocks or source.main.notes):
        raise FileError("The text contains no blocks or notes.", expected=_FORMS)
    return inserted(diagram, page, source, at, label=label, aside=aside)


def inserted(
    diagram: Diagram,
    page: str,
    source: Diagram,
    at: Point | None = None,
    *,
    label: str,
    aside: Point = Point(0.0, 0.0),
) -> Paste:
    """The change that adds the main page of ``source`` to a page, as :func:`pasted` does a text."""
    from gradwire.runtime.diagram.layout.arranging import arrangement  # is slow to import

    main = _without_dangling(source.main)
    pages = {name: source.pages[name] for name in pages_used(source.pages, main) if name != MAIN}
    new_pages = page_names(pages, diagram)
    here = diagram.pages[page]
    names = _unique(main.blocks, here.blocks)
    notes = _unique(main.notes, here.notes)
    places = {**arrangement(source.with_page(MAIN, main), MAIN).places, **main.layout}
    by = _moved(_shift(main, places, at), aside)
    changes: list[Change] = [
        InsertPage(new_pages[name], with_pages(content, new_pages))
        for name, content in pages.items()
        if new_pages[name] not in diagram.pages
    ]
    for name, block in with_pages(main, new_pages).blocks.items():
        changes.append(AddBlock(names[name], block, _moved(places[name], by), page))
    for target, origin in sorted(main.wires.items(), key=lambda wire: _term(wire[0])):
        begin = PortName(names[origin.block], origin.port)
        end = PortName(names[target.block], target.port)
        changes.append(Connect(begin, end, page))
        if target in main.bends:
            bends = tuple(_moved(bend, by) for bend in main.bends[target])
            changes.append(BendWire(end, bends, page))
        elif target in main.routes and {origin.block, target.block} <= main.layout.keys():
            changes.append(BendWire(end, (), page, moved_route(main.routes[target], by)))
    styles = {names[name]: style for name, style in main.styles.items()}
    changes += [StyleBlocks(styles, page)] if styles else []
    for name, note in main.notes.items():
        changes.append(SetNote(notes[name], replace(note, at=_moved(note.at, by)), page))
    return Paste(Batch(label, tuple(changes)), *map(frozenset, (names.values(), notes.values())))


def _without_dangling(page: Page) -> Page:
    """The page without wires and positions of blocks that don't exist."""
    return replace(
        page,
        wires={t: s for t, s in page.wires.items() if {t.block, s.block} <= page.blocks.keys()},
        layout={name: at for name, at in page.layout.items() if name in page.blocks},
        styles={name: style for name, style in page.styles.items() if name in page.blocks},
    )


def pages_used(pages: Mapping[str, Page], main: Page) -> Iterator[str]:
    """Names of the pages that ``main`` uses, directly or through others."""
    found: dict[str, None] = {}
    waiting = [main]
    for page in waiting:
        for block in page.blocks.values():
            if isinstance(block, PageBlock) and block.page in pages and block.page not in found:
                found[block.page] = None
                waiting.append(pages[block.page])
    return iter(found)


def page_names(pages: Mapping[str, Page], diagram: Diagram) -> dict[str, str]:
    """The name of each page after pasting: its own if that is unused or means an equal page."""
    same = {name for name, page in pages.items() if diagram.pages.get(name) == page}
    # A page is the same only if the pages that it uses are.
    while broken := {n for n in same if not same.issuperset(pages_used(pages, pages[n]))}:
        same -= broken
    others = _unique([name for name in pages if name not in same], diagram.pages)
    return others | {name: name for name in same}


def with_pages(page: Page, new: Mapping[str, str]) -> Page:
    """The page with its page blocks renamed to the new names of their pages."""
    renamed = {
        name: block.model_copy(update={"page": new[block.page]})
        for name, block in page.blocks.items()
        if isinstance(block, PageBlock) and new.get(block.page, block.page) != block.page
    }
    return replace(page, blocks={**page.blocks, **renamed}) if renamed else page


def _unique(names: Collection[str], taken: Collection[str]) -> dict[str, str]:
    """Maps each name to itself if free, else to it with the next free number: ``mul2``, ``W2``."""
    used = {*taken, *names}
    skips: dict[str, dict[int, int]] = {}
    found: dict[str, str] = {}
    for name in names:
        found[name] = name if name not in taken else _numbered(name, used, skips)
        used.add(found[name])
    return found


def _numbered(name: str, taken: Container[str], skips: dict[str, dict[int, int]]) -> str:
    """The next free name; ``skips`` maps, by stem, a number in use to a later one to try."""
    stem = name.rstrip("0123456789")
    number = int(name[len(stem) :][-9:] or 1) + 1
    links, passed = skips.setdefault(stem, {}), []
    while True:
        made = (stem[: MAX_LENGTH - len(str(number))] or "block") + str(number)
        if number not in links and made not in taken:
            break
        passed.append(number)
        number = links.get(number, number + 1)
    links.update(dict.fromkeys([*passed, number], number + 1))
    return made


def _term(target: PortName) -> int:
    """Sort key of wires: terms of a repeating port must be wired in order."""
    _, index = split_term(target.port)
    return int(index) if index.isdecimal() else 0


def _shift(main: Page, places: Mapping[str, Point], at: Point | None) -> Point:
    if at is None:
        return STEP
    corners = [*places.values(), *(note.at for note in main.notes.values())]
    left, right = (end(place.x for place in corners) for end in (min, max))
    top, bottom = (end(place.y for place in corners) for end in (min, max))
    middle = Point((left + right + WIDTH) / 2.0, (top + bottom + block_height(1)) / 2.0)
    return Point(round(at.x - middle.x), round(at.y - middle.y))


def _moved(place: Point, by: Point) -> Point:
    return Point(place.x + by.x, place.y + by.y)


def _read(text: str) -> Diagram:
    """Read a file or a part of one, possibly in a code fence or with a trailing comma."""
    body = text.strip("\ufeff \t\r\n")
    if fenced := _FENCE.match(body):
        body = fenced[1].strip()
    if body.startswith('"'):
        body = f"{{{body.rstrip(',')}}}"
    if not body.startswith("{"):
        raise FileError("The text is not part of a diagram.", expected=_FORMS, got=repr(text[:40]))
    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
        return loads(body)  # raises FileError with line and column
    if isinstance(record.get("type"), str):
        body, record = f'{{"{snake_case(record["type"])}1": {body}}}', {"": record}
    if record and all(isinstance(part, dict) and "type" in part for part in record.values()):
        body, record = f'{{"blocks": {body}}}', {"blocks": record}
    if record.keys() <= _SECTIONS:
        body = f'{{"{FIELD}": {VERSION}, "pages": {{"{MAIN}": {body}}}}}'
    elif "pages" not in record:
        raise FileError("The text is not part of a diagram.", expected=_FORMS, got=repr(text[:40]))
    return loads(body)


# Pages shared between files: each has a diagram of its own, whose main page is one use of it.


def shared_page(diagram: Diagram, page: str) -> Diagram:
    """The diagram that shares a page: a use of it, the page, and the pages that it uses."""
    main = Page({page: PageBlock(page=page)}, layout={page: Point(0.0, 0.0)})
    used = {name: diagram.pages[name] for name in pages_used(diagram.pages, main) if name != MAIN}
    return Diagram({MAIN: main} | used, title=page)


def page_offered(shared: Diagram) -> str:
    """The page that a diagram shares; raises FileError if it is not one of :func:`shared_page`."""
    used = [block.page for block in shared.main.blocks.values() if isinstance(block, PageBlock)]
    is_single = len(used) == len(shared.main.blocks) == 1
    if not is_single or used[0] == MAIN or used[0] not in shared.pages:
        raise FileError(
            "The file shares no page.", expected="a main page with one block, which uses a page"
        )
    return used[0]


def differs(diagram: Diagram, shared: Diagram) -> bool:
    """Whether the diagram's page of that name, or a page that it uses, is another."""
    page = page_offered(shared)
    pages = {page, *pages_used(shared.pages, shared.pages[page])} - {MAIN}
    return any(diagram.pages.get(name) != shared.pages[name] for name in pages)


def updated(diagram: Diagram, shared: Diagram) -> Batch:
    """Replace the diagram's page by the shared one of the same name, in all of its uses.

    Pages that it uses are added under other names where the diagram has other pages of theirs.
    """
    page = page_offered(shared)
    inner = {n: shared.pages[n] for n in pages_used(shared.pages, shared.pages[page])}
    inner = {name: content for name, content in inner.items() if name not in (MAIN, page)}
    names = page_names(inner, diagram)
    taken = {*diagram.pages, *names.values()}
    new = next(fresh_names(page.rstrip("0123456789_ ") or page, taken))
    changes: list[Change] = [
        InsertPage(names[name], with_pages(content, names | {page: new}))
        for name, content in inner.items()
        if names[name] not in diagram.pages
    ]
    changes.append(InsertPage(new, with_pages(shared.pages[page], names | {page: new})))
    changes += [
        SetParameters(name, {"page": new}, page=where)
        for where, name in uses(diagram, page)
        if where != page
    ]
    changes += [RemovePage(page), RenamePage(new, page)]
    return Batch(f"Update page {page}", tuple(changes))
