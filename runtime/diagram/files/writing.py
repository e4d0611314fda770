"""Writes a diagram as canonical text, with one record per line.

Pages, blocks, wires and notes keep the user's order. In the layout, positions come first, in the
order of the blocks, then bends in the order of the wires, as are routes. Default values and plain
styles are omitted.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

from gradwire.blocks.block import Block, Opaque
from gradwire.blocks.errors import FileError, Location
from gradwire.blocks.limits import MAX_CONTRACTS
from gradwire.blocks.names import NAME_RULE, is_name, is_port
from gradwire.blocks.values import Json, Tensor
from gradwire.runtime.diagram.files.migrations import FIELD, VERSION
from gradwire.runtime.diagram.files.models import COMPARISON, LESSON, TRAINING
from gradwire.runtime.diagram.files.reading import (
    FARTHEST,
    MAX_BENDS,
    MAX_BLOCKS,
    MAX_ROUTE,
    MAX_STRETCHES,
    MAX_VIEWS,
    MAX_WIRES,
)
from gradwire.runtime.diagram.files.records import (
    large_tensors,
    record_of,
    type_of,
    with_arrays,
    without_arrays,
)
from gradwire.runtime.diagram.files.tensors import reference
from gradwire.runtime.diagram.model import (
    MAIN,
    PLAIN,
    Diagram,
    Note,
    Page,
    Point,
    Route,
    Style,
    View,
)
from gradwire.runtime.gc_pause import uncollected
from gradwire.runtime.limits import require_at_most

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradwire.blocks.values import Array

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_WHOLE = 1e15


@uncollected()
def write(diagram: Diagram, tensors: str | None = None) -> str:
    """The text of a diagram; ``tensors`` is the name of the file with its large arrays.

    Without ``tensors`` all arrays are inline. Raises FileError for a diagram that could not be
    read back: invalid names, or more blocks, wires, bends, routes, contracts or bookmarks than a
    file may have.
    """
    _check(diagram)
    head: dict[str, object] = {FIELD: VERSION}
    head |= {"title": diagram.title} if diagram.title else {}
    head |= {"description": diagram.description} if diagram.description else {}
    head |= {"tensors": tensors} if tensors else {}
    pages = [
        f"{_json(name)}: {_page(name, page, tensors is not None)}"
        for name, page in diagram.pages.items()
    ]
    fields = [f"{_json(key)}: {_json(value)}" for key, value in head.items()]
    if diagram.contracts:
        lines = ",\n".join(f"    {_json(line)}" for line in diagram.contracts)
        fields.append(f'"contracts": [\n{lines}\n  ]')
    if diagram.views:
        views = (f"{_json(view.name)}: {_json(_view(view))}" for view in diagram.views)
        fields.append(f'"views": {_braced(views, 1)}')
    if diagram.lesson is not None:
        lines_of_lesson = LESSON.lines(diagram.lesson.to_record())
        fields.append(f'"lesson": {_braced(lines_of_lesson, 1)}')
    if diagram.training is not None:
        lines_of_training = TRAINING.lines(diagram.training.to_record())
        fields.append(f'"training": {_braced(lines_of_training, 1)}')
    if diagram.comparison is not None:
        lines_of_comparison = COMPARISON.lines(diagram.comparison.to_record())
        fields.append(f'"comparison": {_braced(lines_of_comparison, 1)}')
    text = _braced([*fields, f'"pages": {_braced(pages, 1)}'], 0) + "\n"
    return _LONE_SURROGATE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", text)


def large_arrays(diagram: Diagram) -> dict[str, Array]:
    """The arrays for the array file: ``W1.value``, in other pages ``encoder/W1.value``."""
    return {
        _key(page_name, name, field): tensor.array
        for page_name, page in diagram.pages.items()
        for name, block in page.blocks.items()
        for field, tensor in large_tensors(block).items()
    }


def _key(page: str, block: str, field: str) -> str:
    return f"{block}.{field}" if page == MAIN else f"{page}/{block}.{field}"


def _page(name: str, page: Page, refers: bool) -> str:
    places = {block: page.layout[block] for block in page.blocks if block in page.layout}
    places |= page.layout
    bends = {target: page.bends[target] for target in page.wires if target in page.bends}
    bends |= page.bends
    layout = {block: _json(_point(at)) for block, at in places.items() if _is_finite(at)}
    layout |= {
        str(target): _json([_point(at) for at in points])
        for target, points in bends.items()
        if points and all(map(_is_finite, points))
    }
    routes = {target: page.routes[target] for target in page.wires if target in page.routes}
    routes |= page.routes
    sections = {
        "blocks": {
            block_name: _json(_record(name, block_name, block, refers))
            for block_name, block in page.blocks.items()
        },
        "wires": {str(target): _json(str(source)) for target, source in page.wires.items()},
        "layout": layout,
        "routes": {
            str(target): _json([*map(_number, route)])
            for target, route in routes.items()
            if _is_route(route) and target not in page.bends
        },
        "styles": {
            block: _json(_style(style)) for block, style in page.styles.items() if style != PLAIN
        },
        "notes": {note_name: _json(note_record(note)) for note_name, note in page.notes.items()},
    }
    return _braced(
        [
            f"{_json(key)}: {_braced((f'{_json(k)}: {v}' for k, v in records.items()), 3)}"
            for key, records in sections.items()
            if records
        ],
        2,
    )


def _record(page: str, name: str, block: Block, refers: bool) -> dict[str, object]:
    large = large_tensors(block) if refers else {}
    if isinstance(block, Opaque):
        record = {"type": type_of(block), **block.record}
    elif large:
        record = record_of(without_arrays(block, large))
    else:
        return record_of(block)
    refs = {field: reference(_key(page, name, field), each.array) for field, each in large.items()}
    for field, value in record.items():
        record[field] = _with_array(value, refs.pop(field, None))
    return with_arrays(record, refs)


def _with_array(value: object, ref: dict[str, object] | None) -> object:
    """A value of a record, with its array written out or replaced by a reference."""
    if isinstance(value, dict) and set(value) == {"variable"}:
        return {"variable": _with_value(value["variable"], ref)}
    if isinstance(value, dict) and set(value) == {"dtype", "value"}:
        return _with_value(value, ref)
    if ref is not None:
        return ref
    return value.to_json() if isinstance(value, Tensor) else value


def _with_value(record: object, ref: dict[str, object] | None) -> object:
    """A record whose array, if it has one, is under ``value``."""
    if not isinstance(record, dict) or "value" not in record:
        return record
    return record | {"value": _with_array(record["value"], ref)}


def _point(at: Point) -> list[float]:
    return [_number(at.x), _number(at.y)]


def _number(value: float) -> float:
    """Whole numbers without ``.0``."""
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < _MAX_WHOLE else value


def _is_finite(at: Point) -> bool:
    return math.isfinite(at.x) and math.isfinite(at.y)


def _is_route(route: Route) -> bool:
    """Whether a route can be read back."""
    sizes_fit = len(route) % 2 == 1 and len(route) <= MAX_ROUTE
    return sizes_fit and all(abs(at) <= FARTHEST for at in route)


def note_record(note: Note) -> dict[str, object]:
    """The note as a file stores it."""
    record = {
        "text": note.text,
        "at": _point(note.at),
        "width": _number(note.width),
        "height": _number(note.height),
    }
    record |= {"frame": True} if note.frame else {}
    return record | {"colour": note.colour} if note.colour else record


def _style(style: Style) -> dict[str, Json]:
    record: dict[str, Json] = {"colour": style.colour} if style.colour else {}
    record |= {"collapsed": True} if style.collapsed else {}
    return record | {"size": [_number(part) for part in style.size]} if style.size else record


def _view(view: View) -> dict[str, Json]:
    return {"page": view.page, "at": _point(view.at), "zoom": _number(view.zoom)}


def _json(value: object) -> str:
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(json_finite(value))


def json_finite(value: object) -> object:
    """JSON data with non-finite numbers as "nan", "inf" and "-inf"."""
    if isinstance(value, dict):
        return {key: json_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _braced(entries: Iterable[str], level: int) -> str:
    indent = "  " * (level + 1)
    inside = ",\n".join(f"{indent}{entry}" for entry in entries)
    return f"{{\n{inside}\n{indent[2:]}}}" if inside else "{}"


def _all_bends(diagram: Diagram) -> Iterator[tuple[Point, ...]]:
    return (bends for page in diagram.pages.values() for bends in page.bends.values())


def _stretches(diagram: Diagram) -> int:
    return sum(len(route) for page in diagram.pages.values() for route in page.routes.values())


def _check(diagram: Diagram) -> None:
    for count, most, what in (
        (sum(len(page.blocks) for page in diagram.pages.values()), MAX_BLOCKS, "blocks"),
        (sum(len(page.wires) for page in diagram.pages.values()), MAX_WIRES, "wires"),
        (sum(map(len, _all_bends(diagram))), MAX_BENDS, "bends"),
        (_stretches(diagram), MAX_STRETCHES, "stretches of routes"),
        (len(diagram.contracts), MAX_CONTRACTS, "lines of contracts"),
        (len(diagram.views), MAX_VIEWS, "bookmarks"),
    ):
        require_at_most(f"Too many {what} for one file.", count, most)
    for view in diagram.views:
        if not (is_name(view.name) and view.page in diagram.pages):
            raise FileError(f"{view.name!r} is not a valid bookmark.", location=Location(view.page))
    for page_name, page in diagram.pages.items():
        for name in (page_name, *page.blocks, *page.notes, *page.layout, *page.styles):
            if not is_name(name):
                raise FileError(
                    f"{name!r} is not a valid name.",
                    location=Location(page_name),
                    expected=NAME_RULE,
                )
        for port in (
            *(port for wire in page.wire_list() for port in wire),
            *page.bends,
            *page.routes,
        ):
            if not (is_name(port.block) and is_port(port.port)):
                raise FileError(
                    f"{str(port)!r} is not a valid port.",
                    location=Location(page_name),
                    expected="block.port, both valid names",
                )
