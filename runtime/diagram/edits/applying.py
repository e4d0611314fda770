"""Makes a change to a diagram.

Applying a change returns the diagrams before and after, which share everything that did not
change; undo and redo are therefore exact and free.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from gradwire.blocks.block import Opaque
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import ChangeError, Location, ParameterError
from gradwire.blocks.formulas.content import content_of
from gradwire.blocks.formulas.places import FormulaError
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import PageInput
from gradwire.blocks.names import NAME_RULE, is_name
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.checks.dependencies import Cycle, Dependencies
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
from gradwire.runtime.diagram.edits.draft import Draft, no_block, no_page
from gradwire.runtime.diagram.edits.routes import settle_routes
from gradwire.runtime.diagram.files.records import changed_block
from gradwire.runtime.diagram.model import (
    COLOURS,
    LEAST_SIZE,
    MAIN,
    MOST_SIZE,
    Diagram,
    DiagramView,
    Note,
    Point,
    is_size,
    ports,
)
from gradwire.runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.diagram.edits.page_draft import PageDraft
    from gradwire.runtime.diagram.layout.graph import ShownSizes
    from gradwire.runtime.diagram.model import Route, Size, View


# Arranges a page during an edit: its blocks and wires, and with them bends, frames and notes.


def arrange_blocks(draft: Draft, name: str, names: Collection[str], shown: ShownSizes) -> None:
    """Arrange the blocks called ``names`` of a page, or all if it is empty, and route their wires.

    Bends move by the mean of their wire's two ends; frames keep enclosing the same blocks, and
    notes stay beside them.
    """
    from gradwire.runtime.diagram.layout.arranging import arrangement  # is slow to import

    page = draft.page(name)
    places, routes, notes, bends = arrangement(draft, name, names, shown)
    for block, at in places.items():
        if page.layout.get(block) != at:
            page.place(block, at)
    settle_routes(draft, name)
    for target in [*page.routes.keys() - page.wires.keys()]:
        page.route(target, ())
    for target in page.wires:
        if target in routes or (target.block in places and page.wires[target].block in places):
            page.route(target, routes.get(target, ()))
    page.routed_layout = dict(page.layout)
    for target, points in bends.items():
        page.bend(target, points)
    for id, note in notes.items():
        page.put_note(id, note)


# Which wires are allowed: those between existing ports that close no cycle on any page.


def require_ports(diagram: DiagramView, page: str, source: PortName, target: PortName) -> None:
    """Raise ChangeError unless the output and the input exist."""
    blocks = diagram.pages[page].blocks
    for end in (source, target):
        if end.block not in blocks:
            raise no_block(end.block, blocks, Location(page, *end))
    sources, targets = ports(diagram, page, source.block), ports(diagram, page, target.block)
    if source.port not in sources.outputs and not isinstance(blocks[source.block], Opaque):
        raise ChangeError(
            f"{source} is an input; a wire starts at an output."
            if source.port in (*sources.inputs, *sources.free)
            else f"{source.block} has no output {source.port!r}.",
            location=Location(page, *source),
            expected="one of " + ", ".join(sources.outputs) if sources.outputs else None,
        )
    if isinstance(blocks[target.block], PageInput):
        raise ChangeError(
            f"{target.block} is an input of this page and gets its value from outside.",
            location=Location(page, *target),
        )
    inputs = (*targets.inputs, *targets.free)
    if target.port not in inputs and not isinstance(blocks[target.block], Opaque):
        raise ChangeError(
            f"{target} is an output; a wire ends at an input."
            if target.port in targets.outputs
            else f"{target.block} has no input {target.port!r}.",
            location=Location(page, *target),
            expected="one of " + ", ".join(inputs) if inputs else None,
        )


def refuse_new_cycles(
    before: Diagram, after: Diagram, connected: Collection[tuple[str, PortName]]
) -> None:
    """Raise ChangeError if new wires close a cycle, on their page or on one that uses it."""
    dependencies = Dependencies(after)
    for page in dict.fromkeys(page for page, _ in connected):
        if page not in after.pages:
            continue
        wires = after.pages[page].wires
        along = [target for name, target in connected if name == page and target in wires]
        cycle = dependencies.cycle_along(page, along)
        if cycle is None and len(after.pages) > 1:
            cycle = _new_cycle_outside(before, dependencies, page)
        if cycle is not None:
            raise ChangeError(
                f"That makes a cycle: {cycle}.",
                location=Location(cycle.page, cycle.blocks[0]),
                next_step="A block can't depend on its own output.",
            )


def _new_cycle_outside(before: Diagram, after: Dependencies, page: str) -> Cycle | None:
    """A new cycle in a page that uses this one."""
    for user in after.users(page):
        known = Dependencies(before).cycles(user) if user in before.pages else []
        for cycle in after.cycles(user):
            if cycle not in known:
                return cycle
    return None


# Keeps wires and literals of a Formula block where another expression has other ports.


def refitted(block: Formula, values: Mapping[str, object]) -> Mapping[str, object]:
    """The parameters to set, with literals dropped or renamed as the new expression wants."""
    expression = values.get("expression", block.expression)
    try:
        after = content_of(expression).inputs if isinstance(expression, str) else None
    except FormulaError:
        after = None  # the block will be refused
    if after is None:
        return values
    renamed = _renamed(block.content.inputs, after)
    moved: dict[str, object] = {}
    for name, literal in block.literals.items():
        if name not in after:
            moved[name] = None
            if name in renamed:
                moved[renamed[name]] = literal.to_json()
    return {**moved, **values}


def refit(page: PageDraft, name: str, before: Formula, after: Formula) -> None:
    """Rename the ports of wires where a name has been replaced, and remove wires without a port."""
    inputs, outputs = after.content.inputs, after.content.outputs
    ports = _renamed(before.content.inputs, inputs) | _renamed(before.content.outputs, outputs)
    page.rename_ports({PortName(name, old): PortName(name, new) for old, new in ports.items()})
    lost = [target for target in page.ends.inward.get(name, ()) if target.port not in inputs]
    lost += [
        target
        for target in page.ends.outward.get(name, ())
        if page.wires[target].port not in outputs
    ]
    page.remove_wires(lost)


def _renamed(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """The new name of a port, where exactly one is gone and one has come."""
    gone = [name for name in before if name not in after]
    come = [name for name in after if name not in before]
    return {gone[0]: come[0]} if len(gone) == len(come) == 1 else {}


# Preconditions of changes, and the errors that they raise.


def require_new(name: str, taken: Collection[str], kind: str, location: Location) -> None:
    """Raise ChangeError for a name that is invalid or in use."""
    if not is_name(name):
        raise ChangeError(
            f"{name!r} is not a valid {kind} name.", location=location, expected=NAME_RULE
        )
    if name in taken:
        raise ChangeError(f"There is already a {kind} {name!r}.", location=location)


def require_blocks(page: PageDraft, page_name: str, names: Collection[str]) -> None:
    """Raise ChangeError if the page lacks one of the blocks."""
    for name in names:
        if name not in page.blocks:
            raise no_block(name, page.blocks, Location(page_name, name))


def require_wire(page: PageDraft, page_name: str, target: PortName) -> None:
    """Raise ChangeError if no wire ends at the target."""
    if target not in page.wires:
        raise ChangeError("No wire ends here.", location=Location(page_name, *target))


def require_colour(colour: str, location: Location) -> None:
    """Raise ChangeError for a colour that is not one of ``COLOURS``; empty is none."""
    if colour and colour not in COLOURS:
        raise ChangeError(
            f"There is no colour {colour!r}.",
            location=location,
            expected="one of " + ", ".join(COLOURS),
            next_step=did_you_mean(colour, COLOURS),
        )


def require_note(page: PageDraft, page_name: str, name: str) -> None:
    """Raise ChangeError if the page has no such note."""
    if name not in page.notes:
        raise ChangeError(f"There is no note {name!r}.", location=Location(page_name))


def require_page(draft: Draft, name: str) -> None:
    """Raise ChangeError if there is no such page."""
    if name not in draft.pages:
        raise no_page(name, draft.pages)


def refuse_main(name: str, verdict: str) -> None:
    """Raise ChangeError for the page that runs; ``verdict`` completes the message."""
    if name == MAIN:
        raise ChangeError(f"Page {MAIN!r} is the one that runs; it {verdict}.")


def finite(at: Point, location: Location) -> Point:
    """The position unchanged; raises ChangeError if it is not finite."""
    if not (math.isfinite(at.x) and math.isfinite(at.y)):
        raise ChangeError("A position must be finite.", location=location, got=str(tuple(at)))
    return at


def require_route(route: Route, location: Location) -> Route:
    """The route unchanged; raises ChangeError unless it is an odd number of finite coordinates."""
    if len(route) % 2 == 0 or not all(map(math.isfinite, route)):
        raise ChangeError(
            "This is not a route.",
            location=location,
            expected="an odd number of finite coordinates (x, y, x, …)",
            got=str(route),
        )
    return route


def require_size(size: Size | None, location: Location) -> None:
    """Raise ChangeError for a size that no view can have."""
    if size is not None and not is_size(size):
        raise ChangeError(
            "A view can't have this size.",
            location=location,
            expected=f"{LEAST_SIZE.width:g} × {LEAST_SIZE.height:g} to "
            f"{MOST_SIZE.width:g} × {MOST_SIZE.height:g}",
            got=" × ".join(f"{part:g}" for part in size),
        )


def require_view(draft: Draft, view: View, others: Collection[View]) -> None:
    """Raise ChangeError for a bookmark with an invalid name, page, place or zoom."""
    location = Location(view.page)
    require_new(view.name, {other.name for other in others}, "bookmark", location)
    require_page(draft, view.page)
    finite(view.at, location)
    if not 0.0 < view.zoom < math.inf:
        raise ChangeError("The zoom of a bookmark must be positive.", location=location)


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


def _set_parameters(
    page: PageDraft, page_name: str, name: str, values: Mapping[str, object]
) -> None:
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
