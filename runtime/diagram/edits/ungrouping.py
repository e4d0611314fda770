"""Ungroups a use of a page, or unfolds a Formula block, into blocks.

Each is one batch of plain changes, undone in one step. Values and gradients stay the same, except
that ungrouping a use separates variables which it shared with other uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.blocks.errors import ChangeError, Location
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.blocks.library.sources import Constant
from gradwire.blocks.names import FreshNames
from gradwire.blocks.terms import split_term
from gradwire.runtime.diagram.edits.changes import (
    AddBlock,
    Batch,
    Change,
    RemoveBlocks,
    RemovePage,
    SetNote,
    StyleBlocks,
)
from gradwire.runtime.diagram.edits.grouping import NewWire, centroid, use_of, uses
from gradwire.runtime.diagram.edits.routes import moved_route
from gradwire.runtime.diagram.files.records import changed_block
from gradwire.runtime.diagram.model import MAIN, Diagram, Note, Page, Point, Route, Style
from gradwire.runtime.diagram.pages import inside
from gradwire.runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from gradwire.blocks.block import Block


def ungroup(diagram: Diagram, page: str, name: str) -> Batch:
    """Replace a use of a page by copies of the page's blocks and notes, and rewire them.

    If this was the only use, the page is removed as well. Variables that the use shared with other
    uses become separate; uses inside an independent use become independent. Raises ChangeError
    unless ``name`` is a use of an existing page.
    """
    use = use_of(diagram, page, name)
    if isinstance(use, Scan):
        raise ChangeError(
            f"{name!r} runs its page once per step, so that no blocks stand for it.",
            location=Location(page, name),
            next_step="Ungroup blocks that use a page once.",
        )
    changes = _unpacking(diagram, page, name, diagram.pages[use.page])
    if uses(diagram, use.page) == ((page, name),):
        changes.append(RemovePage(use.page))
    return Batch(f"Ungroup {name}", tuple(changes))


def unfold(diagram: Diagram, page: str, name: str) -> Batch:
    """Replace a Formula block by the blocks of its expression, arranged in its place.

    A literal of the block becomes one of each input that it drove. Raises ChangeError for another
    block.
    """
    block = diagram.pages[page].blocks.get(name)
    if not isinstance(block, Formula):
        raise ChangeError(f"{name!r} is not a Formula block.", location=Location(page, name))
    inner = _with_literals(inside(block.expression), block)
    from gradwire.runtime.diagram.layout.arranging import arrange  # is slow to import

    arranged = arrange(Diagram({MAIN: inner}), MAIN).main
    return Batch(f"Unfold {name}", tuple(_unpacking(diagram, page, name, arranged)))


def _with_literals(inner: Page, formula: Formula) -> Page:
    """The page inside a Formula block with its literals at the inputs that they drive."""
    blocks, wires = dict(inner.blocks), dict(inner.wires)
    for target, source in inner.wires.items():
        literal = formula.literals.get(source.block)
        if literal is not None:
            blocks[target.block] = changed_block(
                blocks[target.block], {target.port: literal.to_json()}
            )
            del wires[target]
    return Page({n: b for n, b in blocks.items() if n not in formula.literals}, wires)


def _unpacking(diagram: Diagram, page: str, name: str, inner: Page) -> list[Change]:
    """The changes that put what is inside a block in its place, and remove it."""
    unpacked = _Unpacked(diagram.pages[page], name, inner)
    changes: list[Change] = [
        AddBlock(new, block, at, page=page) for new, block, at in unpacked.blocks()
    ]
    changes.append(StyleBlocks(unpacked.styles(), page))
    for wire in _in_order(unpacked.wires()):
        changes += wire.changes(page)
    changes += [SetNote(new, note, page=page) for new, note in unpacked.notes()]
    changes.append(RemoveBlocks((name,), page=page))
    return changes


class _Unpacked:
    """The content of the page ``inner`` as it will appear on ``here`` in place of a block."""

    def __init__(self, here: Page, name: str, inner: Page) -> None:
        self._here, self._name, self._use, self._inner = here, name, here.blocks[name], inner
        ports = (PageInput, PageOutput)
        own = [at for n, at in inner.layout.items() if not isinstance(inner.blocks.get(n), ports)]
        self._centre = centroid(own or list(inner.layout.values()))
        at = here.layout.get(name, Point(0.0, 0.0))
        self._shift = Point(at.x - self._centre.x, at.y - self._centre.y)
        self._names: dict[str, str] = {}
        fresh = FreshNames(here.blocks)
        for block_name, block in inner.blocks.items():
            constant = self._constant(block_name)
            if isinstance(block, PageInput | PageOutput) and constant is None:
                continue
            kind = type(constant or block).type_name()
            self._names[block_name] = fresh.like(block_name, kind)

    def blocks(self) -> Iterator[tuple[str, Block, Point]]:
        """New name, block and position of each; a page port with a literal becomes a Constant."""
        dx, dy = self._shift
        for name, new in self._names.items():
            place = self._inner.layout.get(name, self._centre)
            block = self._constant(name) or self._inner.blocks[name]
            if isinstance(self._use, PageBlock) and isinstance(block, PageBlock):
                independent = self._use.independent or block.independent
                block = block.with_parameters(independent=independent)
            yield new, block, Point(place.x + dx, place.y + dy)

    def styles(self) -> dict[str, Style]:
        """The styles of blocks, by new name."""
        return {
            self._names[name]: style
            for name, style in self._inner.styles.items()
            if name in self._names
        }

    def notes(self) -> Iterator[tuple[str, Note]]:
        """New id of each note, and the note at its new position."""
        dx, dy = self._shift
        fresh = FreshNames(self._here.notes)
        for name, note in self._inner.notes.items():
            kind = "frame" if note.frame else "note"
            yield fresh.like(name, kind), replace(note, at=Point(note.at.x + dx, note.at.y + dy))

    def wires(self) -> Iterator[NewWire]:
        """The inner wires, and the outer wires that read the use."""
        for target, source in self._inner.wires.items():
            outer = self._source(source)
            if outer is not None and target.block in self._names:
                end = PortName(self._names[target.block], target.port)
                bends = self._bends_to(source) + self._bends_inside(target)
                yield NewWire(end, outer, bends, self._route_inside(target))
        for target, source in self._here.wires.items():
            if source.block == self._name and target.block != self._name:
                driver = self._driver(source.port)
                if driver is not None:
                    bends = self._here.bends.get(target, ())
                    yield NewWire(target, driver, self._bends_to_output(source.port) + bends)

    def _route_inside(self, target: PortName) -> Route:
        """The route of an inner wire at its new position; empty if an end of it has none."""
        ends = {target.block, self._inner.wires[target].block}
        placed = ends <= self._inner.layout.keys() & self._names.keys()
        return moved_route(self._inner.routes.get(target, ()), self._shift) if placed else ()

    def _bends_inside(self, target: PortName) -> tuple[Point, ...]:
        """Bends of an inner wire at their new positions."""
        dx, dy = self._shift
        return tuple(Point(x + dx, y + dy) for x, y in self._inner.bends.get(target, ()))

    def _bends_to(self, source: PortName) -> tuple[Point, ...]:
        """Bends of the wires between ``source``, a port of the page, and the output behind it."""
        if source.block in self._names:
            return ()
        if isinstance(self._inner.blocks.get(source.block), PageOutput):
            return self._bends_to_output(source.block)
        return self._here.bends.get(PortName(self._name, source.block), ())

    def _bends_to_output(self, output: str) -> tuple[Point, ...]:
        target = PortName(output, "x")
        if output in self._names or target not in self._inner.wires:
            return ()
        return self._bends_to(self._inner.wires[target]) + self._bends_inside(target)

    def _constant(self, name: str) -> Block | None:
        """The Constant that replaces an unwired page port with a literal; else None."""
        block = self._inner.blocks[name]
        if isinstance(block, PageInput):
            if PortName(self._name, name) in self._here.wires:
                return None
            literal = self._use.literals.get(name) or block.literals.get("x")
        elif isinstance(block, PageOutput) and PortName(name, "x") not in self._inner.wires:
            literal = block.literals.get("x")
        else:
            return None
        return None if literal is None else Constant.model_validate({"value": literal.tensor})

    def _driver(self, output: str) -> PortName | None:
        """The outer port that will provide the value of an output of the use."""
        if output in self._names:
            return PortName(self._names[output], "out")
        source = self._inner.wires.get(PortName(output, "x"))
        return None if source is None else self._source(source)

    def _source(self, source: PortName) -> PortName | None:
        if source.block in self._names:
            return PortName(self._names[source.block], source.port)
        if isinstance(self._inner.blocks.get(source.block), PageOutput):
            return self._driver(source.block)
        return self._here.wires.get(PortName(self._name, source.block))


def _in_order(wires: Iterable[NewWire]) -> list[NewWire]:
    """Wires sorted so that the terms of each repeating port are connected in order."""

    def place(wire: NewWire) -> tuple[str, str, int]:
        port, term = split_term(wire.target.port)
        return wire.target.block, port, int(term) if term.isdigit() else 0

    return sorted(wires, key=place)
