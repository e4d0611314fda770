"""Makes a change to a diagram.

Applying a change returns the diagrams before and after, which share everything that did not
change; undo and redo are therefore exact and free.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import ChangeError, Location, ParameterError
from gradwire.blocks.library.formula import Formula
from gradwire.runtime.diagram.edits.arranging import arrange_blocks
from gradwire.runtime.diagram.edits.changes import (
    AddBlock,
    Arrange,
    Batch,
    BendWire,
    Change,
    Connect,
    Disconnect,
    InsertPage,
    MoveBlocks,
    RemoveBlocks,
    RemovePage,
    RenameBlock,
    RenamePage,
    SetLesson,
    SetNote,
    SetParameters,
    SetTitle,
    SetTraining,
    SetViews,
    StyleBlocks,
)
from gradwire.runtime.diagram.edits.connecting import refuse_new_cycles, require_ports
from gradwire.runtime.diagram.edits.draft import Draft
from gradwire.runtime.diagram.edits.formula_ports import refit, refitted
from gradwire.runtime.diagram.edits.preconditions import (
    finite,
    refuse_main,
    require_blocks,
    require_colour,
    require_new,
    require_note,
    require_page,
    require_route,
    require_size,
    require_view,
    require_wire,
)
from gradwire.runtime.diagram.edits.routes import settle_routes
from gradwire.runtime.diagram.files.records import changed_block
from gradwire.runtime.diagram.model import Diagram, Note, Point

if TYPE_CHECKING:
    from gradwire.runtime.diagram.edits.page_draft import PageDraft
    from gradwire.runtime.diagram.paths import PortName


@dataclass(frozen=True, slots=True)
class Edit:
    """A change that was applied; undo is ``before``, redo is ``after``."""

    before: Diagram
    after: Diagram
    label: str


def apply(diagram: Diagram, change: Change) -> Edit:
    """Make a change.

    The cost is proportional to the change, plus copies of the mappings that it modifies and, for a
    new wire, a walk through everything downstream of its target. Raises ChangeError, without any
    effect, for names that don't exist or are in use, invalid parameters, and wires that
    ``can_connect`` rejects.
    """
    draft = Draft(diagram)
    _perform(draft, change)
    for name in draft.opened():
        settle_routes(draft, name)
    after = draft.finish()
    refuse_new_cycles(diagram, after, list(_connected(change)))
    return Edit(diagram, after, _label(change))


def can_connect(diagram: Diagram, page: str, source: PortName, target: PortName) -> str | None:
    """Why this wire is not allowed, as a sentence; None if it is. It may replace another wire."""
    try:
        apply(diagram, Connect(source, target, page))
    except ChangeError as error:
        return error.what
    return None


def _perform(draft: Draft, change: Change) -> None:
    match change:
        case AddBlock(name, block, at, page):
            here = draft.page(page)
            require_new(name, here.blocks, "block", Location(page, name))
            here.put_block(name, block)
            here.place(name, finite(at, Location(page, name)))
        case RemoveBlocks(names, page):
            require_blocks(draft.page(page), page, names)
            draft.remove_blocks(page, dict.fromkeys(names))
        case RenameBlock(old, new, page):
            here = draft.page(page)
            require_blocks(here, page, [old])
            if old != new:
                require_new(new, here.blocks, "block", Location(page, old))
                draft.rename_block(page, old, new)
        case MoveBlocks(places, page, notes, bends):
            here = draft.page(page)
            require_blocks(here, page, places)
            for name, at in places.items():
                here.place(name, finite(at, Location(page, name)))
            for name, at in notes.items():
                require_note(here, page, name)
                _set_note(here, page, name, replace(here.notes[name], at=at))
            for target, points in bends.items():
                _bend(here, page, target, points)
        case StyleBlocks(styles, page):
            require_blocks(draft.page(page), page, styles)
            for name, style in styles.items():
                require_colour(style.colour, Location(page, name))
                require_size(style.size, Location(page, name))
                draft.page(page).put_style(name, style)
        case SetParameters(name, values, page):
            _set_parameters(draft.page(page), page, name, values)
        case Connect(source, target, page):
            draft.page(page)
            require_ports(draft, page, source, target)
            draft.page(page).put_wire(source, target)
        case Disconnect(target, page):
            require_wire(draft.page(page), page, target)
            draft.page(page).remove_wires([target])
        case BendWire(target, points, page, route):
            _bend(draft.page(page), page, target, points)
            if route and not points:
                draft.page(page).give_route(target, require_route(route, Location(page, *target)))
        case SetNote(name, note, page):
            _set_note(draft.page(page), page, name, note)
        case Arrange(page, names, shown):
            require_blocks(draft.page(page), page, names)
            arrange_blocks(draft, page, names, shown)
        case Batch(_, changes):
            for part in changes:
                _perform(draft, part)
        case InsertPage() | RemovePage() | RenamePage():
            _perform_on_pages(draft, change)
        case SetTitle() | SetViews() | SetLesson() | SetTraining():
            _perform_on_head(draft, change)
        case _:
            assert_never(change)


def _perform_on_pages(draft: Draft, change: InsertPage | RemovePage | RenamePage) -> None:
    match change:
        case InsertPage(name, page):
            require_new(name, draft.pages, "page", Location(name))
            for block in page.blocks:
                require_new(block, (), "block", Location(name, block))
            draft.insert_page(name, page)
        case RemovePage(name):
            require_page(draft, name)
            refuse_main(name, "can't be removed")
            uses = [f"{page}/{block}" for page, block in draft.uses(name) if page != name]
            if uses:
                raise ChangeError(
                    f"Page {name!r} is in use: {', '.join(uses[:5])}.",
                    location=Location(name),
                    next_step="Remove these blocks first.",
                )
            draft.remove_page(name)
        case RenamePage(old, new):
            require_page(draft, old)
            if old != new:
                refuse_main(old, "keeps its name")
                require_new(new, draft.pages, "page", Location(old))
                draft.rename_page(old, new)


def _perform_on_head(draft: Draft, change: SetTitle | SetViews | SetLesson | SetTraining) -> None:
    match change:
        case SetTitle(title, description, contracts):
            draft.title = draft.title if title is None else title
            draft.description = draft.description if description is None else description
            draft.contracts = draft.contracts if contracts is None else contracts
        case SetViews(views):
            for place, view in enumerate(views):
                require_view(draft, view, views[:place])
            draft.views = views
        case SetLesson(lesson):
            draft.lesson = lesson
        case SetTraining(training):
            draft.training = training


def _set_parameters(page: PageDraft, page_name: str, name: str, values: Mapping[str, Any]) -> None:
    require_blocks(page, page_name, [name])
    location = Location(page_name, name)
    before = page.blocks[name]
    if isinstance(before, Formula):
        values = refitted(before, values)
    try:
        block = changed_block(before, values)
    except ParameterError as error:
        raise ChangeError(
            error.what,
            location=location,
            expected=error.expected,
            got=error.got,
            next_step=error.next_step,
        ) from error
    page.put_block(name, block)
    if isinstance(before, Formula) and isinstance(block, Formula):
        refit(page, name, before, block)
    for key, value in values.items():
        port = block.port(key)
        if value is None and port is not None and port.variadic:
            page.renumber_terms(name, port.name)


def _bend(page: PageDraft, page_name: str, target: PortName, points: tuple[Point, ...]) -> None:
    require_wire(page, page_name, target)
    for point in points:
        finite(point, Location(page_name, *target))
    page.bend(target, points)


def _set_note(page: PageDraft, page_name: str, name: str, note: Note | None) -> None:
    if note is None:
        require_note(page, page_name, name)
    else:
        if name not in page.notes:
            require_new(name, (), "note", Location(page_name))
        finite(note.at, Location(page_name))
        finite(Point(note.width, note.height), Location(page_name))
        require_colour(note.colour, Location(page_name))
    page.put_note(name, note)


def _connected(change: Change) -> Iterator[tuple[str, PortName]]:
    if isinstance(change, Connect):
        yield change.page, change.target
    elif isinstance(change, Batch):
        for part in change.changes:
            yield from _connected(part)


def _label(change: Change) -> str:
    """The text of the change in the undo and redo menus."""
    match change:
        case AddBlock(name):
            return f"Add {name}"
        case RemoveBlocks(names):
            return f"Remove {_few(names)}"
        case RenameBlock(old, new) | RenamePage(old, new):
            return f"Rename {old} to {new}"
        case MoveBlocks(places, notes=notes):
            kinds = "blocks and notes" if notes else "blocks"
            return f"Move {_few([*places, *notes], kinds) or 'bends'}"
        case StyleBlocks(styles):
            return f"Change the look of {_few(styles)}"
        case SetParameters(name, values):
            return f"Change {', '.join(values)} of {name}"
        case Connect(source, target):
            return f"Connect {source} to {target}"
        case Disconnect(target):
            return f"Disconnect {target}"
        case BendWire(target):
            return f"Bend the wire to {target}"
        case SetNote(_, note):
            return "Remove note" if note is None else "Change note"
        case Arrange():
            return "Arrange"
        case InsertPage(name):
            return f"Add page {name}"
        case RemovePage(name):
            return f"Remove page {name}"
        case SetTitle(title, text):
            return "Change contracts" if title is text is None else "Change title"
        case SetViews():
            return "Change bookmarks"
        case SetLesson(lesson):
            return "Remove lesson" if lesson is None else "Change lesson"
        case SetTraining(training):
            return "Remove training" if training is None else "Change training"
        case Batch(label):
            return label
        case _:
            assert_never(change)


def _few(names: Collection[str], kinds: str = "blocks") -> str:
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} {kinds}"
