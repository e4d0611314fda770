"""A page during an edit: mappings are copied on first write, everything else is shared.

A draft maintains the invariants between mappings: removing a block removes its wires, and terms of
a repeating port have no gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from gradwire.blocks.terms import term_index, term_name
from gradwire.runtime.diagram.model import PLAIN, Ends, Note, Page, Point, Route, Style
from gradwire.runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.values import PortLiteral


# A mapping that is copied on first write.

K = TypeVar("K")
V = TypeVar("V")


class CopyOnWrite(Generic[K, V]):
    """A mapping that is read as ``view`` and written as ``own``, a copy made on first use."""

    __slots__ = ("copied", "view")

    def __init__(self, base: Mapping[K, V]) -> None:
        self.view = base
        self.copied = False

    @property
    def own(self) -> dict[K, V]:
        """The writable copy."""
        if not self.copied:
            self.replace(dict(self.view))
        return cast("dict[K, V]", self.view)

    def replace(self, view: dict[K, V]) -> None:
        """Replace the mapping."""
        self.view = view
        self.copied = True

    def rename(self, old: K, new: K) -> None:
        """Change a key, keeping its place in the order."""
        if old in self.view:
            self.replace({(new if key == old else key): v for key, v in self.view.items()})


class PageDraft:
    """A page during an edit; implements PageView."""

    def __init__(self, page: Page) -> None:
        self._base = page
        self._blocks = CopyOnWrite(page.blocks)
        self._wires = CopyOnWrite(page.wires)
        self._layout = CopyOnWrite(page.layout)
        self._notes = CopyOnWrite(page.notes)
        self._bends = CopyOnWrite(page.bends)
        self._routes = CopyOnWrite(page.routes)
        self._styles = CopyOnWrite(page.styles)
        self._ends: _EndsDraft | None = None
        self.routed_layout: Mapping[str, Point] = page.layout
        """The positions that the routes are in line with."""
        self.given_routes: dict[PortName, tuple[Point, Point]] = {}
        """Where the source and the target block were when this edit gave a wire its route."""
        self.routed_styles: Mapping[str, Style] = page.styles
        """The styles that the routes are in line with."""

    @property
    def blocks(self) -> Mapping[str, Block]:
        """Blocks by name, as they are now."""
        return self._blocks.view

    @property
    def wires(self) -> Mapping[PortName, PortName]:
        """Wires as target → source, as they are now."""
        return self._wires.view

    @property
    def ends(self) -> Ends:
        """The wires by block, as they are now."""
        return self._base.ends if self._ends is None else self._ends.closed()

    def finish(self) -> Page:
        """The page as it is now; the original if nothing changed."""
        parts = (
            self._blocks, self._wires, self._layout, self._notes, self._bends, self._routes,
            self._styles,
        )  # fmt: skip
        if not any(part.copied for part in parts):
            return self._base
        page = Page(
            self.blocks, self.wires, self.layout, self.notes, self.bends, self.routes, self.styles
        )
        return page.with_ends(self.ends) if self._wires.copied else page.with_ends_of(self._base)

    @property
    def layout(self) -> Mapping[str, Point]:
        """Positions by block, as they are now."""
        return self._layout.view

    @property
    def notes(self) -> Mapping[str, Note]:
        """Notes by id, as they are now."""
        return self._notes.view

    @property
    def bends(self) -> Mapping[PortName, tuple[Point, ...]]:
        """Bends by the target of their wire, as they are now."""
        return self._bends.view

    @property
    def routes(self) -> Mapping[PortName, Route]:
        """Routes by the target of their wire, as they are now."""
        return self._routes.view

    @property
    def styles(self) -> Mapping[str, Style]:
        """Styles by block, as they are now."""
        return self._styles.view

    def put_block(self, name: str, block: Block) -> None:
        """Add a block at the end, or replace one."""
        self._blocks.own[name] = block

    def place(self, name: str, at: Point) -> None:
        """Set the position of a block."""
        self._layout.own[name] = at

    def put_style(self, name: str, style: Style) -> None:
        """Set the style of a block; a plain one is not stored."""
        if style != PLAIN:
            self._styles.own[name] = style
        elif name in self.styles:
            del self._styles.own[name]

    def put_note(self, name: str, note: Note | None) -> None:
        """Add or replace a note; None removes it."""
        if note is None:
            self._notes.own.pop(name, None)
        else:
            self._notes.own[name] = note

    def put_wire(self, source: PortName, target: PortName) -> None:
        """Drive the target from the source, replacing any other wire into it.

        A new wire is straight; if the same wire exists already it keeps its bends or its route.
        """
        old = self.wires.get(target)
        if old != source:
            self.bend(target, ())
            self.route(target, ())
        if old is not None:
            self._targets(False, old.block).pop(target, None)
        self._targets(True, target.block)[target] = None
        self._targets(False, source.block)[target] = None
        self._wires.own[target] = source

    def bend(self, target: PortName, bends: tuple[Point, ...]) -> None:
        """Lead a wire through these points, in place of a route; without points it is straight."""
        if bends:
            self._bends.own[target] = bends
            self.route(target, ())
        elif target in self.bends:
            del self._bends.own[target]

    def route(self, target: PortName, route: Route) -> None:
        """Lead a wire along a route, or with an empty one from port to port as it comes."""
        if route:
            if self.routes.get(target) != route:
                self._routes.own[target] = route
        elif target in self.routes:
            del self._routes.own[target]
            self.given_routes.pop(target, None)

    def give_route(self, target: PortName, route: Route) -> None:
        """Lead a wire along a route that fits where its blocks are now."""
        ends = self.layout.get(self.wires[target].block), self.layout.get(target.block)
        if ends[0] is not None and ends[1] is not None:
            self.route(target, route)
            self.given_routes[target] = ends[0], ends[1]

    def remove_wires(
        self,
        targets: Iterable[PortName],
        staying: Callable[[str], bool] = lambda block: True,
    ) -> None:
        """Remove wires, and renumber the repeating ports of blocks for which ``staying`` holds."""
        repeating: dict[tuple[str, str], set[PortName]] = {}
        for target in dict.fromkeys(targets):
            block = self.blocks.get(target.block)
            port = block.port(target.port) if block and staying(target.block) else None
            if port is not None and port.variadic:
                repeating.setdefault((target.block, port.name), set()).add(target)
            else:
                self._drop_wire(target)
        for (name, term), gone in repeating.items():
            self.renumber_terms(name, term, gone)

    def remove_block(self, name: str) -> None:
        """Remove a block; its wires must have been removed before."""
        del self._blocks.own[name]
        if name in self._layout.view:
            del self._layout.own[name]
        self.put_style(name, PLAIN)

    def rename_block(self, old: str, new: str) -> None:
        """Rename a block, keeping its order, wires and position."""
        targets = dict.fromkeys(self.wires_at([old]))
        ports = {port for target in targets for port in (target, self.wires[target])}
        self._blocks.rename(old, new)
        self._layout.rename(old, new)
        self._styles.rename(old, new)
        self.routed_layout = {
            (new if name == old else name): at for name, at in self.routed_layout.items()
        }
        self.routed_styles = {
            (new if name == old else name): style for name, style in self.routed_styles.items()
        }
        self.rename_ports({p: PortName(new, p.port) for p in ports if p.block == old})

    def rename_port(self, name: str, old: str, new: str) -> None:
        """Move the wires and the literal of a block's port to its new name."""
        self.rename_ports({PortName(name, old): PortName(name, new)})
        block = self.blocks[name]
        if old in block.literals:
            renamed = {(new if key == old else key): v for key, v in block.literals.items()}
            self.put_block(name, _with_literals(block, renamed))

    def renumber_terms(self, name: str, port: str, gone: Collection[PortName] = ()) -> None:
        """Remove wires of a repeating port and number its remaining terms from 0."""
        block = self.blocks[name]
        entering = self.ends.inward.get(name, ())
        wired = [target for target in entering if term_index(target.port, port) is not None]
        sources = {target.port: self.wires[target] for target in wired if target not in gone}
        given = [key for key in block.literals if term_index(key, port) is not None]
        left = sorted({*sources, *given}, key=lambda term: term_index(term, port) or 0)
        moved = {term: term_name(port, i) for i, term in enumerate(left)}
        driven = {PortName(name, moved[term]): source for term, source in sources.items()}
        bent = {new: self.bends.get(PortName(name, term), ()) for term, new in moved.items()}
        for target in wired:
            if target not in driven:
                self._drop_wire(target)
        for target, source in driven.items():
            if self.wires.get(target) != source:
                self.put_wire(source, target)
            self.bend(target, bent[target.port])
        renamed = {moved.get(key, key): v for key, v in block.literals.items()}
        if list(renamed) != list(block.literals):
            self.put_block(name, _with_literals(block, renamed))

    def keep_literals(self, name: str, keeps: Callable[[str], bool]) -> None:
        """Remove the literals of ports for which ``keeps`` is false."""
        block = self.blocks[name]
        literals = {port: v for port, v in block.literals.items() if keeps(port)}
        if len(literals) < len(block.literals):
            self.put_block(name, _with_literals(block, literals))

    def wires_at(self, names: Iterable[str]) -> Iterator[PortName]:
        """Targets of all wires that enter or leave these blocks."""
        inward, outward = self.ends
        for name in names:
            yield from inward.get(name, ())
            yield from outward.get(name, ())

    def _drop_wire(self, target: PortName) -> None:
        source = self._wires.own.pop(target)
        self.bend(target, ())
        self.route(target, ())
        self._targets(True, target.block).pop(target, None)
        self._targets(False, source.block).pop(target, None)

    def rename_ports(self, new: Mapping[PortName, PortName]) -> None:
        """Rename ends of wires, keeping the order of the wires."""
        blocks = {port.block for port in new}
        moved = {target: self.wires[target] for target in self.wires_at(blocks)}
        if not moved:
            return
        for target, source in moved.items():
            self._targets(True, target.block).pop(target, None)
            self._targets(False, source.block).pop(target, None)
        for target, source in moved.items():
            now, begin = new.get(target, target), new.get(source, source)
            self._targets(True, now.block)[now] = None
            self._targets(False, begin.block)[now] = None
        self._wires.replace({new.get(t, t): new.get(s, s) for t, s in self.wires.items()})
        if not moved.keys().isdisjoint(self.bends):
            self._bends.replace({new.get(t, t): bends for t, bends in self.bends.items()})
        if not moved.keys().isdisjoint(self.routes):
            self._routes.replace({new.get(t, t): route for t, route in self.routes.items()})

    def _targets(self, enters: bool, block: str) -> dict[PortName, None]:
        """The wires of one block, to be changed in place."""
        if self._ends is None:
            self._ends = _EndsDraft(self._base.ends)
        return self._ends.of(enters, block)


class _EndsDraft:
    """Ends during an edit: the wires of a block are copied on first write."""

    def __init__(self, base: Ends) -> None:
        self._inward, self._outward = CopyOnWrite(base.inward), CopyOnWrite(base.outward)
        self._opened: dict[tuple[bool, str], dict[PortName, None]] = {}

    def of(self, enters: bool, block: str) -> dict[PortName, None]:
        opened = self._opened.get((enters, block))
        if opened is None:
            side = self._inward if enters else self._outward
            opened = dict.fromkeys(side.view.get(block, ()))
            self._opened[enters, block] = opened
        return opened

    def closed(self) -> Ends:
        for (enters, block), targets in self._opened.items():
            side = self._inward if enters else self._outward
            if targets:
                side.own[block] = tuple(targets)
            else:
                side.own.pop(block, None)
        self._opened.clear()
        return Ends(self._inward.view, self._outward.view)


def _with_literals(block: Block, literals: Mapping[str, PortLiteral]) -> Block:
    return block.model_copy(update={"literals": MappingProxyType(literals)})
