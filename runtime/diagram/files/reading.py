"""Reads a diagram from the text of a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from reprlib import Repr
from typing import TYPE_CHECKING, Any

from blocks.errors import FileError, Location
from blocks.limits import MAX_CONTRACTS
from runtime.diagram.files.migrations import FIELD, Notice, ignore_notice, migrate
from runtime.diagram.files.parsing import Flaw, Path, parse
from runtime.diagram.files.records import lenient_block
from runtime.diagram.files.tensors import FORBIDDEN, SUFFIX, TensorFile, is_reference
from runtime.diagram.model import MAIN, Diagram, Note, Page, Point, Route, View
from runtime.diagram.names import NAME_RULE, PORT_RULE, is_name, is_port
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from blocks.block import Block

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
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxdict, _SHORT.maxlist = 6, 20, 20
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 200
_BLOCKS_PER_PULSE = 64


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
            migrate(_object(parse(text, source), ()), notice)
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
        self._records: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {}
        self._tensors: TensorFile | None = None
        self._blocks = 0
        self._wires = 0
        self._bends = 0
        self._stretches = 0

    def diagram(self, document: dict[str, Any]) -> Diagram:
        _only(document, _FIELDS, ())
        if "pages" not in document:
            raise Flaw((), "The diagram has no pages.", expected='a field "pages"')
        if "tensors" in document:
            self._tensors = self._open(document["tensors"])
        title = _text(document.get("title", ""), ("title",))
        description = _text(document.get("description", ""), ("description",))
        contracts = _lines(document.get("contracts", []), ("contracts",))
        pages = {
            _name(name, ("pages", name), "page"): self.page(name, record)
            for name, record in _object(document["pages"], ("pages",)).items()
        }
        views = tuple(
            _view(name, record, pages)
            for name, record in _object(document.get("views", {}), ("views",)).items()
        )
        _limit(len(views), MAX_VIEWS, "bookmarks", ("views",))
        # The blocks come last, since making them takes longer than finding all flaws of the rest.
        made = {name: replace(page, blocks=self.blocks(name)) for name, page in pages.items()}
        return Diagram(made, title, description, contracts, views)

    def page(self, name: str, record: Any) -> Page:
        path: Path = ("pages", name)
        fields = _object(record, path)
        _only(fields, _SECTIONS, path)
        sections = {key: _object(fields.get(key, {}), (*path, key)) for key in _SECTIONS}
        self._blocks += len(sections["blocks"])
        self._wires += len(sections["wires"])
        _limit(self._blocks, MAX_BLOCKS, "blocks", path)
        _limit(self._wires, MAX_WIRES, "wires", path)
        layout = (*path, "layout")
        bends = {
            target: points
            for key, value in sections["layout"].items()
            if _is_bends(value)
            for target, points in [_bends(key, value, (*layout, key))]
        }
        self._bends += sum(map(len, bends.values()))
        _limit(self._bends, MAX_BENDS, "bends", layout)
        self._records[name] = {
            _name(block, (*path, "blocks", block), "block"): self.record(name, block, value)
            for block, value in sections["blocks"].items()
        }
        routes = dict(
            _route(target, value, (*path, "routes", target))
            for target, value in sections["routes"].items()
        )
        self._stretches += sum(map(len, routes.values()))
        _limit(self._stretches, MAX_STRETCHES, "stretches of routes", (*path, "routes"))
        return Page(
            {},
            dict(_wire(t, s, (*path, "wires", t)) for t, s in sections["wires"].items()),
            dict(
                _place(block, value, (*layout, block))
                for block, value in sections["layout"].items()
                if not _is_bends(value)
            ),
            {
                _name(note, (*path, "notes", note), "note"): _note(value, (*path, "notes", note))
                for note, value in sections["notes"].items()
            },
            bends,
            {target: route for target, route in routes.items() if target not in bends},
        )

    def record(self, page: str, name: str, value: Any) -> tuple[str, dict[str, Any]]:
        path: Path = ("pages", page, "blocks", name)
        record = _object(value, path)
        type_name = record.pop("type", None)
        if not isinstance(type_name, str):
            raise Flaw(
                path,
                f"Block {name!r} has no type.",
                location=Location(page, name),
                expected='a field "type" with the name of a block type',
            )
        return type_name, record

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
        if not isinstance(name, str) or not name.endswith(SUFFIX) or FORBIDDEN.search(name):
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

    def _resolved(self, value: Any, path: Path) -> Any:
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
        if self._tensors is None or not is_reference(value):
            return value
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


def _shown(value: Any) -> str:
    """The beginning of a value, however large it is."""
    return _SHORT.repr(value)[:40]


def _object(value: Any, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Flaw(path, _here(path, "is not an object"), expected="{…}", got=_shown(value))
    return value


def _only(record: dict[str, Any], known: tuple[str, ...], path: Path) -> None:
    for key in record:
        if key not in known:
            raise Flaw(
                (*path, key),
                f"There is no field {key!r} here.",
                expected="one of " + ", ".join(known),
            )


def _text(value: Any, path: Path) -> str:
    if not isinstance(value, str):
        raise Flaw(path, _here(path, "is not a string"), expected='"…"', got=_shown(value))
    return value


def _lines(value: Any, path: Path) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Flaw(path, _here(path, "is not a list"), expected='["…"]', got=_shown(value))
    _limit(len(value), MAX_CONTRACTS, "lines", path)
    return tuple(_text(line, (*path, i)) for i, line in enumerate(value))


def _name(name: str, path: Path, kind: str) -> str:
    if not is_name(name):
        raise Flaw(path, f"{name[:120]!r} is not a valid {kind} name.", expected=NAME_RULE)
    return name


def _limit(count: int, most: int, what: str, path: Path) -> None:
    if count > most:
        raise Flaw(path, f"Too many {what}.", expected=f"at most {most:,}", got=f"{count:,}")


def _wire(target: str, source: Any, path: Path) -> tuple[PortName, PortName]:
    try:
        return _port(target, path), _port(_text(source, path), path)
    except ValueError as error:
        raise Flaw(path, f"A wire joins two ports: {error}.", expected="block.port") from None


def _port(text: str, path: Path) -> PortName:
    """A port of a block; both have names. Raises ValueError where a part is missing."""
    port = PortName.parse(text)
    _name(port.block, path, "block")
    if not is_port(port.port):
        raise Flaw(path, f"{port.port[:120]!r} is not a valid port name.", expected=PORT_RULE)
    return port


def _number(value: Any, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Flaw(path, _here(path, "is not a number"), got=_shown(value))
    try:
        return float(value)
    except OverflowError:
        raise Flaw(path, _here(path, "is too large")) from None


def _point(value: Any, path: Path) -> Point:
    if not isinstance(value, list) or len(value) != 2:
        raise Flaw(path, _here(path, "is not a position"), expected="[x, y]", got=_shown(value))
    return Point(_number(value[0], (*path, 0)), _number(value[1], (*path, 1)))


def _place(block: str, value: Any, path: Path) -> tuple[str, Point]:
    at = _point(value, path)
    return _name(block, path, "block"), at


def _is_bends(value: Any) -> bool:
    """Whether an entry of the layout has the form of bends (a list of points)."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], list)


def _bends(target: str, value: list[Any], path: Path) -> tuple[PortName, tuple[Point, ...]]:
    try:
        port = _port(target, path)
    except ValueError as error:
        raise Flaw(
            path, f"Only a wire has bends: {error}.", expected="block.port, or a position [x, y]"
        ) from None
    return port, tuple(_point(point, (*path, i)) for i, point in enumerate(value))


def _route(target: str, value: Any, path: Path) -> tuple[PortName, Route]:
    try:
        port = _port(target, path)
    except ValueError as error:
        raise Flaw(path, f"Only a wire has a route: {error}.", expected="block.port") from None
    if not isinstance(value, list) or len(value) % 2 == 0 or len(value) > MAX_ROUTE:
        raise Flaw(
            path,
            _here(path, "is not a route"),
            expected=f"an odd number of coordinates [x, y, x, …], at most {MAX_ROUTE}",
            got=_shown(value),
        )
    return port, tuple(_coordinate(at, (*path, i)) for i, at in enumerate(value))


def _coordinate(value: Any, path: Path) -> float:
    number = _number(value, path)
    if not abs(number) <= FARTHEST:
        raise Flaw(
            path,
            _here(path, "is out of range"),
            expected=f"-{FARTHEST:,.0f} … {FARTHEST:,.0f}",
            got=_shown(value),
        )
    return number


def _view(name: str, value: Any, pages: Mapping[str, Page]) -> View:
    path: Path = ("views", name)
    _name(name, path, "bookmark")
    record = _object(value, path)
    _only(record, ("page", "at", "zoom"), path)
    page = _text(record.get("page", MAIN), (*path, "page"))
    if page not in pages:
        raise Flaw((*path, "page"), f"There is no page {page[:120]!r}.")
    zoom = _number(record.get("zoom", 1.0), (*path, "zoom"))
    if not 0.0 < zoom < math.inf:
        raise Flaw((*path, "zoom"), _here((*path, "zoom"), "is not positive"), got=_shown(zoom))
    return View(name, page, _point(record.get("at", [0, 0]), (*path, "at")), zoom)


def _note(value: Any, path: Path) -> Note:
    record = _object(value, path)
    _only(record, tuple(_NOTE_FIELDS), path)
    return Note(**{key: _NOTE_FIELDS[key](v, (*path, key)) for key, v in record.items()})


def _flag(value: Any, path: Path) -> bool:
    if not isinstance(value, bool):
        raise Flaw(path, _here(path, "is neither true nor false"), got=_shown(value))
    return value


def _here(path: Path, verdict: str) -> str:
    if not path:
        return f"The document {verdict}."
    entry = [str(last + 1) for last in path if isinstance(last, int)]
    key = repr(path[-1 - len(entry)])
    return f"Entry {'.'.join(entry)} of {key} {verdict}." if entry else f"{key} {verdict}."


_FIELDS = (FIELD, "title", "description", "contracts", "views", "tensors", "pages")
"""The fields of a diagram."""
_SECTIONS = ("blocks", "wires", "layout", "routes", "notes")
"""The fields of a page."""
_NOTE_FIELDS: dict[str, Callable[[Any, Path], Any]] = {
    "text": _text,
    "at": _point,
    "width": _number,
    "height": _number,
    "frame": _flag,
}
