"""Reads a diagram from the text of a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from gradwire.blocks.errors import FileError, Location
from gradwire.blocks.names import PORT_RULE, is_port
from gradwire.runtime.diagram.files.fields import (
    described,
    limit,
    only_fields,
    read_each,
    read_flag,
    read_lines,
    read_name,
    read_number,
    read_object,
    read_point,
    read_text,
    shown,
)
from gradwire.runtime.diagram.files.migrations import FIELD, Notice, ignore_notice, migrate
from gradwire.runtime.diagram.files.models import COMPARISON, LESSON, TRAINING
from gradwire.runtime.diagram.files.parsing import Flaw, Path, parse
from gradwire.runtime.diagram.files.records import lenient_block
from gradwire.runtime.diagram.files.tensors import (
    SUFFIX,
    TensorFile,
    is_file_name,
    is_reference,
)
from gradwire.runtime.diagram.model import (
    COLOURS,
    LEAST_SIZE,
    MAIN,
    MOST_SIZE,
    Diagram,
    Note,
    Page,
    Point,
    Route,
    Size,
    Style,
    View,
    is_size,
)
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from gradwire.blocks.block import Block

MAX_BLOCKS = 100_000
"""Maximum number of blocks in all pages together."""
MAX_WIRES = 400_000
"""Maximum number of wires in all pages together."""
MAX_BENDS = 400_000
"""Maximum number of bends of all wires together."""
MAX_STRETCHES = 4_000_000
"""Maximum number of stretches of the routes of all wires together."""
MAX_ROUTE = 99
"""Maximum number of stretches of one route."""
MAX_VIEWS = 1_000
"""Maximum number of bookmarks."""
FARTHEST = 1e9
"""Largest coordinate of a stretch of a route, px."""
_BLOCKS_PER_PULSE = 64
_NUMBERS = frozenset({int, float})


@uncollected()
def read(
    text: str,
    source: str | None = None,
    open_arrays: Callable[[str], TensorFile] | None = None,
    pulse: Callable[[float], object] | None = None,
    notice: Notice = ignore_notice,
) -> Diagram:
    """Read the text of a diagram file.

    ``source`` is the file's path for messages. ``open_arrays`` opens the array file by its name;
    ``pulse`` is called with the fraction of blocks read so far, ``notice`` with what was changed
    to migrate an older file. Raises FileError with line and column. A block of an unknown type, or
    with a record that does not fit its type, becomes opaque.
    """
    try:
        return _Reader(open_arrays, pulse).diagram(
            migrate(read_object(parse(text, source), ()), notice)
        )
    except Flaw as flaw:
        found, cause = flaw.with_traceback(None), flaw.__cause__
    raise found.in_text(text, source) from cause  # here, where the document is forgotten


class _Reader:
    def __init__(
        self,
        open_arrays: Callable[[str], TensorFile] | None,
        pulse: Callable[[float], object] | None,
    ) -> None:
        self._open_arrays = open_arrays
        self._pulse = pulse
        self._read = 0
        self._records: dict[str, dict[str, tuple[str, dict[str, object]]]] = {}
        self._tensors: TensorFile | None = None
        self._blocks = 0
        self._wires = 0
        self._bends = 0
        self._stretches = 0

    def diagram(self, document: dict[str, Any]) -> Diagram:
        only_fields(document, _FIELDS, ())
        if "pages" not in document:
            raise Flaw((), "The diagram has no pages.", expected='a field "pages"')
        if "tensors" in document:
            self._tensors = self._open(document["tensors"])
        title = read_text(document.get("title", ""), ("title",))
        description = read_text(document.get("description", ""), ("description",))
        contracts = read_lines(document.get("contracts", []), ("contracts",))
        pages = {
            read_name(name, ("pages", name), "page"): self.page(name, record)
            for name, record in read_object(document["pages"], ("pages",)).items()
        }
        views = tuple(
            _view(name, record, pages)
            for name, record in read_object(document.get("views", {}), ("views",)).items()
        )
        limit(len(views), MAX_VIEWS, "bookmarks", ("views",))
        lesson = LESSON.read_from(document, "lesson")
        training = TRAINING.read_from(document, "training")
        comparison = COMPARISON.read_from(document, "comparison")
        # The blocks come last, since making them takes longer than finding all flaws of the rest.
        made = {name: replace(page, blocks=self.blocks(name)) for name, page in pages.items()}
        return Diagram(made, title, description, contracts, views, lesson, training, comparison)

    def page(self, name: str, record: object) -> Page:
        path: Path = ("pages", name)
        fields = read_object(record, path)
        only_fields(fields, _SECTIONS, path)
        sections = {key: read_object(fields.get(key, {}), (*path, key)) for key in _SECTIONS}
        self._blocks += len(sections["blocks"])
        self._wires += len(sections["wires"])
        limit(self._blocks, MAX_BLOCKS, "blocks", path)
        limit(self._wires, MAX_WIRES, "wires", path)
        layout = (*path, "layout")
        bends = {
            target: points
            for key, value in sections["layout"].items()
            if _is_bends(value)
            for target, points in [_bends(key, value, (*layout, key))]
        }
        self._bends += sum(map(len, bends.values()))
        limit(self._bends, MAX_BENDS, "bends", layout)
        self._records[name] = {
            read_name(block, (*path, "blocks", block), "block"): self.record(name, block, value)
            for block, value in sections["blocks"].items()
        }
        routes = dict(
            _route(target, value, (*path, "routes", target))
            for target, value in sections["routes"].items()
        )
        self._stretches += sum(map(len, routes.values()))
        limit(self._stretches, MAX_STRETCHES, "stretches of routes", (*path, "routes"))
        read = _Ports(self._records[name]).wire
        return Page(
            {},
            dict(read(t, s, (*path, "wires", t)) for t, s in sections["wires"].items()),
            _places(sections["layout"], self._records[name], layout),
            read_each(sections["notes"], "note", _note, (*path, "notes")),
            bends,
            {target: route for target, route in routes.items() if target not in bends},
            read_each(sections["styles"], "block", _style, (*path, "styles")),
        )

    def record(self, page: str, name: str, value: object) -> tuple[str, dict[str, object]]:
        if isinstance(value, dict) and isinstance(type_name := value.pop("type", None), str):
            return type_name, value
        path: Path = ("pages", page, "blocks", name)
        read_object(value, path)
        expected = 'a field "type" with the name of a block type'
        where = Location(page, name)
        raise Flaw(path, f"Block {name!r} has no type.", location=where, expected=expected)

    def blocks(self, page: str) -> dict[str, Block]:
        made = {}
        for name, (type_name, record) in self._records.pop(page).items():
            self._read += 1
            if self._pulse is not None and self._read % _BLOCKS_PER_PULSE == 0:
                self._pulse(self._read / self._blocks)
            if self._tensors is not None:
                path: Path = ("pages", page, "blocks", name)
                record = {key: self._resolved(v, (*path, key)) for key, v in record.items()}
            made[name] = lenient_block(type_name, record)
        return made

    def _open(self, name: Any) -> TensorFile:
        if not is_file_name(name):
            raise Flaw(
                ("tensors",),
                "This is not the name of an array file.",
                expected=f"the name of a {SUFFIX} file, without a folder",
                got=repr(name)[:80],
            )
        if self._open_arrays is None:
            raise Flaw(
                ("tensors",),
                f"The arrays of this text are in a separate file, {name}, and can't be read here.",
                next_step="Open the diagram's file instead.",
            )
        return self._open_arrays(name)

    def _resolved(self, value: Any, path: Path) -> object:
        """The value with its array reference replaced by the array, also in a typed literal or an
        own variable.
        """
        if isinstance(value, dict) and set(value) == {"variable"}:
            own = value["variable"]
            if not isinstance(own, dict) or "value" not in own:
                return value
            array = self._resolved(own["value"], (*path, "variable", "value"))
            return {"variable": own | {"value": array}}
        if isinstance(value, dict) and set(value) == {"dtype", "value"}:
            return value | {"value": self._resolved(value["value"], (*path, "value"))}
        if self._tensors is None:
            return value
        if not is_reference(value):
            has_some = isinstance(value, dict) and any(map(is_reference, value.values()))
            if not has_some:
                return value
            return {key: self._resolved(each, (*path, key)) for key, each in value.items()}
        try:
            return self._tensors.get(value)
        except FileError as error:
            raise Flaw(
                path,
                error.what,
                expected=error.expected,
                got=error.got,
                next_step=error.next_step,
            ) from error


class _Ports:
    """Reads the wires of a page. Equal names become one string, also of the ``blocks``, and equal
    sources one port: that takes less memory, and look-ups compare nothing but addresses.
    """

    def __init__(self, blocks: Iterable[str]) -> None:
        self._blocks = {name: name for name in blocks}
        self._ports: dict[str, str] = {}
        self._sources: dict[str, PortName] = {}

    def wire(self, target: str, source: object, path: Path) -> tuple[PortName, PortName]:
        try:
            end, text = self._port(target, path), read_text(source, path)
            if (start := self._sources.get(text)) is None:
                start = self._sources[text] = self._port(text, path)
            return end, start
        except ValueError as error:
            raise Flaw(path, f"A wire joins two ports: {error}.", expected="block.port") from None

    def _port(self, text: str, path: Path) -> PortName:
        name, port = PortName.parse(text)
        block, known = self._blocks.get(name), self._ports.get(port)
        if block is not None and known is not None:
            return PortName(block, known)
        name, port = _port(text, path)
        return PortName(self._blocks.get(name, name), self._ports.setdefault(port, port))


def _port(text: str, path: Path) -> PortName:
    """A port of a block; both have names. Raises ValueError where a part is missing."""
    port = PortName.parse(text)
    read_name(port.block, path, "block")
    if not is_port(port.port):
        raise Flaw(path, f"{port.port[:120]!r} is not a valid port name.", expected=PORT_RULE)
    return port


def _places(entries: Mapping[str, object], blocks: Container[str], path: Path) -> dict[str, Point]:
    """The positions in a layout."""
    found: dict[str, Point] = {}
    for block, value in entries.items():
        if type(value) is list and len(value) == 2 and block in blocks:
            x, y = value
            if type(x) in _NUMBERS and type(y) in _NUMBERS and abs(x) + abs(y) < FARTHEST:
                found[block] = Point(float(x), float(y))
                continue
        if not _is_bends(value):
            at = read_point(value, (*path, block))
            found[read_name(block, (*path, block), "block")] = at
    return found


def _is_bends(value: object) -> TypeGuard[list[object]]:
    """Whether an entry of the layout has the form of bends (a list of points)."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], list)


def _bends(target: str, value: list[object], path: Path) -> tuple[PortName, tuple[Point, ...]]:
    try:
        port = _port(target, path)
    except ValueError as error:
        raise Flaw(
            path, f"Only a wire has bends: {error}.", expected="block.port, or a position [x, y]"
        ) from None
    return port, tuple(read_point(point, (*path, i)) for i, point in enumerate(value))


def _route(target: str, value: object, path: Path) -> tuple[PortName, Route]:
    try:
        port = _port(target, path)
    except ValueError as error:
        raise Flaw(path, f"Only a wire has a route: {error}.", expected="block.port") from None
    if not isinstance(value, list) or len(value) % 2 == 0 or len(value) > MAX_ROUTE:
        raise Flaw(
            path,
            described(path, "is not a route"),
            expected=f"an odd number of coordinates [x, y, x, …], at most {MAX_ROUTE}",
            got=shown(value),
        )
    return port, tuple(_coordinate(at, (*path, i)) for i, at in enumerate(value))


def _coordinate(value: object, path: Path) -> float:
    number = read_number(value, path)
    if not abs(number) <= FARTHEST:
        raise Flaw(
            path,
            described(path, "is out of range"),
            expected=f"-{FARTHEST:,.0f} … {FARTHEST:,.0f}",
            got=shown(value),
        )
    return number


def _view(name: str, value: object, pages: Mapping[str, Page]) -> View:
    path: Path = ("views", name)
    read_name(name, path, "bookmark")
    record = read_object(value, path)
    only_fields(record, ("page", "at", "zoom"), path)
    page = read_text(record.get("page", MAIN), (*path, "page"))
    if page not in pages:
        raise Flaw((*path, "page"), f"There is no page {page[:120]!r}.")
    zoom = read_number(record.get("zoom", 1.0), (*path, "zoom"))
    if not 0.0 < zoom < math.inf:
        raise Flaw((*path, "zoom"), described((*path, "zoom"), "is not positive"), got=shown(zoom))
    return View(name, page, read_point(record.get("at", [0, 0]), (*path, "at")), zoom)


def _note(value: object, path: Path) -> Note:
    record = read_object(value, path)
    only_fields(record, tuple(_NOTE_FIELDS), path)
    return Note(**{key: _NOTE_FIELDS[key](v, (*path, key)) for key, v in record.items()})


def _style(value: object, path: Path) -> Style:
    record = read_object(value, path)
    only_fields(record, tuple(_STYLE_FIELDS), path)
    return Style(**{key: _STYLE_FIELDS[key](v, (*path, key)) for key, v in record.items()})


def _size(value: object, path: Path) -> Size:
    size = Size(*read_point(value, path))
    if not is_size(size):
        (least, lowest), (most, highest) = LEAST_SIZE, MOST_SIZE
        raise Flaw(
            path,
            described(path, "is out of range"),
            expected=f"a width of {least:g} … {most:g} and a height of {lowest:g} … {highest:g}",
            got=shown(value),
        )
    return size


def _colour(value: object, path: Path) -> str:
    if value not in COLOURS:
        expected = "one of " + ", ".join(COLOURS)
        raise Flaw(path, described(path, "is not a colour"), expected=expected, got=shown(value))
    return str(value)


_FIELDS = (
    FIELD,
    "title",
    "description",
    "contracts",
    "views",
    "lesson",
    "training",
    "comparison",
    "tensors",
    "pages",
)
"""The fields of a diagram."""
_SECTIONS = ("blocks", "wires", "layout", "routes", "styles", "notes")
"""The fields of a page."""
_NOTE_FIELDS: dict[str, Callable[[Any, Path], Any]] = {
    "text": read_text,
    "at": read_point,
    "width": read_number,
    "height": read_number,
    "frame": read_flag,
    "colour": _colour,
}
_STYLE_FIELDS: dict[str, Callable[[Any, Path], Any]] = {
    "colour": _colour,
    "collapsed": read_flag,
    "size": _size,
}
