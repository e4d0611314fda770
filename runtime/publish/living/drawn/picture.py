"""The pages of a diagram as a living page draws them: places, ports, routes, notes and states.

All is plain data for JSON. Lengths are px at 100 %, rounded to whole ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gradwire.blocks.block import Opaque, Source
from gradwire.blocks.elementwise import Elementwise
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, Scan
from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime.diagram.layout.arranging import arrangement
from gradwire.runtime.diagram.layout.graph import BlockFace, ShownSizes
from gradwire.runtime.diagram.layout.measures import FOOT, HEADER
from gradwire.runtime.diagram.model import MAIN, PLAIN, ports
from gradwire.runtime.diagram.pages import used_by, uses_made
from gradwire.runtime.diagram.paths import ROOT, InstancePath, PortName
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.flat import COMPILED
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.lessons.notes import asks
from gradwire.runtime.publish.living.lesson import text_parts
from gradwire.runtime.views.drawings import data_uri, drawing
from gradwire.runtime.views.views import Views

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.model import Diagram, Note, Page
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.lessons.texts import TextSlot
    from gradwire.runtime.views.pictures import Picture


# What views show on published pages: pictures of the numbers that the file has.


def shown_views(diagram: Diagram) -> dict[InstancePath, Picture]:
    """The pictures of a diagram's views, by path; none if nothing can be run."""
    pages = diagram.pages.values()
    if not any(isinstance(block, ViewBlock) for page in pages for block in page.blocks.values()):
        return {}
    try:
        session = Session(diagram, partial=True)
        return Views().pictures(diagram, session.program, session.run().values)
    except GradwireError:
        return {}


Json = Any
_ROWS, _COLUMNS = 3, 4
"""Size of the largest array that a face shows in full."""
_MOST_USES, _MOST_STEPS = 200, 10_000
"""Uses of pages that a reader can enter: steps of long Scans, which take no room, and others."""
VIEW_SIDE = 9.0
"""From the sides of a view to what it shows."""
NO_VIEWS: Mapping[InstancePath, Picture] = MappingProxyType({})


def pictures(
    diagram: Diagram,
    program: Program,
    views: Mapping[InstancePath, Picture] = NO_VIEWS,
    published: Callable[[TextSlot], str | None] = lambda slot: None,
) -> dict[str, Json]:
    """What to draw: ``pages`` by name, ``uses`` with the page of each use, ``states``, and the
    wires that lead to nothing but views as ``shown``.

    A use is named by its path, which is empty for the main page. A block is ``[name,
    type, family, symbol, x, y, height, inputs, outputs, label, more]``, where an input without a
    wire is ``[name, text]``; a wire is ``[block, output, block, input]``, all by number, and its
    course: the stretches of a route, or the points of its bends. A note is ``[text, x, y, width,
    height, is a frame, colour]``, whose text is in parts where it has expressions. ``views``
    are what views show, and ``published`` what expressions of notes are worth, which the page does
    not compute.
    """
    uses = _uses(diagram)
    first: dict[str, InstancePath] = {}
    for use, page in uses.items():
        first.setdefault(page, use)
    return {
        "pages": {
            page: _page(diagram, page, use, program, views, published)
            for page, use in first.items()
        },
        "uses": uses,
        "states": {state: _state(state) for state in State},
        "shown": sorted(program.shown),
    }


def _uses(diagram: Diagram) -> dict[InstancePath, str]:
    found, waiting, steps = {ROOT: MAIN}, [ROOT], 0
    for use in waiting:
        for name in diagram.pages[found[use]].blocks:
            block = used_by(diagram, found[use], name)
            if block is None:
                continue
            repeats = isinstance(block, Scan) and block.steps > COMPILED.long
            most = _MOST_STEPS - steps if repeats else _MOST_USES - len(found) + steps
            inside = list(uses_made(use / name, block, most))
            steps += len(inside) * repeats
            found |= dict.fromkeys(inside, block.page)
            waiting += inside
    return found


def _state(state: State) -> dict[str, Json]:
    row = state.row
    return {
        "title": row.title,
        "spoken": row.spoken,
        "glyph": row.cut or row.glyph,
        "form": row.form.name.lower().replace("_", "-"),
        "role": row.colour.name.lower(),
        "rank": row.rank,
        "label": row.label,
        "passes": int(row.passes),
    }


def _page(
    diagram: Diagram,
    name: str,
    use: InstancePath,
    program: Program,
    views: Mapping[InstancePath, Picture],
    published: Callable[[TextSlot], str | None],
) -> dict[str, Json]:
    lines = {
        block: _value_lines(diagram.pages[name].blocks[block], use / block, program)
        for block in diagram.pages[name].blocks
    }
    page = _laid_out(diagram, name, lines)
    names = {block: i for i, block in enumerate(page.blocks)}
    faces = {block: BlockFace.of(diagram, name, block, lines[block]) for block in page.blocks}
    return {
        "blocks": [
            _block(
                page,
                block,
                faces[block],
                ports(diagram, name, block).free,
                use,
                views.get(use / block),
            )
            for block in page.blocks
        ],
        "wires": [
            [
                names[source.block],
                faces[source.block].outputs.index(source.port),
                names[target.block],
                faces[target.block].inputs.index(target.port),
                *_course(page, target),
            ]
            for target, source in page.wires.items()
        ],
        "notes": [_note(note, published) for note in page.notes.values()],
    }


def _value_lines(block: Block, path: InstancePath, program: Program) -> int:
    """Lines of text on the face of a block: its value, and the gradient of a variable."""
    outputs = block.output_names() if not isinstance(block, PageBlock | Opaque) else ()
    value = program.ports.get(path.port(outputs[0])) if len(outputs) == 1 else None
    shown = 1 if value is None else _lines(value.shape)
    return shown + (isinstance(block, Source) and block.wants_gradient)


def _lines(shape: tuple[int, ...]) -> int:
    if not shape:
        return 1
    rows, columns = (1, *shape)[-2:]
    if len(shape) > 2 or rows > _ROWS or columns > _COLUMNS:
        return 2
    return max(rows, 1)


def _laid_out(diagram: Diagram, name: str, lines: dict[str, int]) -> Page:
    """The page as its author drew its wires; arranged, if it has no routes or bends yet."""
    page = diagram.pages[name]
    if (page.routes or page.bends) and all(block in page.layout for block in page.blocks):
        return page
    places, routes, notes, bends = arrangement(diagram, name, (), ShownSizes(face_lines=lines))
    return replace(
        page,
        layout=places,
        routes=routes,
        notes={**page.notes, **notes},
        bends={**page.bends, **bends},
    )


def _block(
    page: Page,
    name: str,
    face: BlockFace,
    free: Collection[str],
    use: InstancePath,
    view: Picture | None,
) -> list[Json]:
    block, at = page.blocks[name], page.layout[name]
    style = page.styles.get(name, PLAIN)
    kind = block.original_type if isinstance(block, Opaque) else type(block).type_name()
    return [
        name,
        kind,
        type(block).family,
        type(block).symbol or kind[:1],
        round(at.x),
        round(at.y),
        round(face.height),
        [_input(page, name, port, port in free, bool(use)) for port in face.inputs],
        list(face.outputs),
        _label(name, kind, block),
        {
            key: value
            for key, value in {
                "head": type(block).head,
                "small": face.is_collapsed,
                "colour": style.colour,
                "each": isinstance(block, Elementwise),
                "formula": block.label() if isinstance(block, Formula) else "",
                "width": round(face.width) if face.size else 0,
                "view": _view(face, view) if view and face.size else "",
                "shows": view.summary if view else "",
            }.items()
            if value
        },
    ]


def _view(face: BlockFace, picture: Picture) -> str:
    """The address of what a view shows, for the part of its face below its title."""
    return data_uri(drawing(picture, face.width - 2 * VIEW_SIDE, face.height - HEADER - FOOT))


def _input(page: Page, name: str, port: str, is_free: bool, is_inside: bool) -> Json:
    """The name of an input; with the text beside it if no wire leads to it.

    The next term of a repeating input, which is free, has no text.
    """
    block = page.blocks[name]
    if is_free:
        return [port, ""]
    if PortName(name, port) in page.wires or (is_inside and isinstance(block, PageInput)):
        return port
    literal = block.literals.get(port)
    if literal is not None:
        value = number(literal.array[()]) if not literal.tensor.shape else "[…]"
        return [port, f"{port} = {value}"]
    if port in block.owned:
        return port
    declared = block.port(port)
    if declared is None or declared.required or declared.default is None:
        return [port, port]
    return [port, f"{port} = {number(declared.default)}"]


def _label(name: str, kind: str, block: Block) -> str:
    """Text beside the name: the block's own label, or its type if the name does not show it."""
    if isinstance(block, Source):
        return "frozen" if block.kind == "variable" and not block.wants_gradient else ""
    if isinstance(block, PageBlock):
        page = block.page if block.page != name else ""
        return " · ".join(filter(None, [block.label() if isinstance(block, Scan) else "", page]))
    if isinstance(block, Formula):
        return ""
    if block.label() not in ("", type(block).symbol):
        return block.label()
    known = (name.lower().replace("_", "").replace(" ", ""), type(block).symbol)
    return "" if any(kind.lower() in text for text in known) else kind


def _course(page: Page, target: PortName) -> list[Json]:
    """The stretches of a square wire, or the corners of one with bends; nothing if straight."""
    if target in page.bends:
        return [[[round(x), round(y)] for x, y in page.bends[target]]]
    route = page.routes.get(target, ())
    return [[round(stretch) for stretch in route]] if route else []


def _note(note: Note, published: Callable[[TextSlot], str | None]) -> list[Json]:
    sides = (*note.at, note.width, note.height)
    text = text_parts(note.text, published) if asks(note.text) else note.text
    return [text, *map(round, sides), int(note.frame), note.colour]
