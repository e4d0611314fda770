"""Turns staged blocks into pages: a page for each module, ports where values cross its edge.

A module that is one block with variables of its own becomes that block, named like the module; a
module that is called again, and computes the same, is another use of its page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.names import MAIN, MAX_LENGTH, FreshNames, is_name
from gradwire.blocks.registry import registry
from gradwire.blocks.values import PortLiteral
from gradwire.runtime.diagram.layout.later import arranged_later
from gradwire.runtime.diagram.model import Diagram, Page
from gradwire.runtime.diagram.paths import InstancePath, PortName
from gradwire.runtime.interchange.importing.folding import fold
from gradwire.runtime.interchange.importing.scopes import ModuleScope, common
from gradwire.runtime.interchange.importing.staged import Staged, StagedBlock, is_trained
from gradwire.runtime.interchange.importing.twins import Twin, find_twins, source_key

if TYPE_CHECKING:
    from gradwire.blocks.block import Block

_SEPARATORS = str.maketrans({c: "_" for c in './:="'})


def name_like(text: str) -> str:
    """A valid name of a block or page that reads like ``text``, which may be anything."""
    shown = "".join(c if c.isprintable() else "_" for c in text.translate(_SEPARATORS)).strip()
    shown = shown[: MAX_LENGTH - 8].strip()  # room for a number behind it
    return shown if is_name(shown) else "unnamed"


@dataclass
class _Sheet:
    """A page under construction."""

    scope: ModuleScope
    blocks: dict[str, Block] = field(default_factory=dict)
    wires: dict[PortName, PortName] = field(default_factory=dict)
    inlets: dict[object, str] = field(default_factory=dict)
    outlets: dict[object, str] = field(default_factory=dict)
    uses: list[tuple[ModuleScope, ModuleScope]] = field(default_factory=list)
    """The scopes that use it, each with the scope around it."""
    _names: FreshNames = field(default_factory=FreshNames)

    def fresh(self, wanted: str, kind: str = "") -> str:
        """A name that no block has: ``wanted``, or the next for its type, or numbered."""
        return self._names.like(name_like(wanted)) if wanted else self._names.of(kind)

    def page(self) -> Page:
        """The page, its inputs first and its outputs last."""
        order = sorted(
            self.blocks,
            key=lambda name: (
                0 if isinstance(self.blocks[name], PageInput)
                else 2 if isinstance(self.blocks[name], PageOutput)
                else 1
            ),
        )  # fmt: skip
        return Page({name: self.blocks[name] for name in order}, self.wires)


class Paging:
    """Assigns staged blocks to pages, names them and wires them up."""

    def __init__(self, root: ModuleScope, blocks: Sequence[StagedBlock]) -> None:
        self._root = root
        self._all = blocks
        self._home: dict[StagedBlock, ModuleScope] = {}
        """The scope on whose page a block stands."""
        self._names: dict[StagedBlock, str] = {}
        self._uses: dict[ModuleScope, str] = {}
        """The name of the block that stands for a scope, on the page around it."""
        self._owners: dict[StagedBlock, tuple[StagedBlock, str]] = {}
        """Variables that a block owns: the block and the input."""
        self._owned: dict[StagedBlock, dict[str, Block]] = {}
        """The same by block: what it owns, by input."""
        self._constants: dict[int, StagedBlock] = {}
        self._sheets: dict[ModuleScope, _Sheet] = {}
        self._twins: dict[ModuleScope, Twin] = {}
        self._twins_of: dict[ModuleScope, list[ModuleScope]] = defaultdict(list)
        """The twins by the scope that they are like."""
        self._titles: dict[ModuleScope, str] = {root: MAIN}
        self._fresh_titles = FreshNames([MAIN])

    def diagram(self, title: str, targets: Iterable[Staged]) -> Diagram:
        """The diagram of all variables and inputs, and of what the targets need."""
        kept = self._kept(targets)
        fold(self._root, kept)
        arithmetic: dict[ModuleScope, list[StagedBlock]] = defaultdict(list)
        for block in kept:
            if not isinstance(block.block, Source):
                for scope in block.scope.line:
                    arithmetic[scope].append(block)
        self._twins = find_twins(self._root, arithmetic)
        for scope, twin in self._twins.items():
            self._twins_of[twin.first].append(scope)
        placed = [block for block in kept if self._twin_around(block.scope) is None]
        readers = self._readers(placed)
        placed += self._constants_of(placed, readers)
        for block in placed:
            lines = [block.scope, *(reader.scope for reader in readers[block])]
            self._home[block] = common(lines) if isinstance(block.block, Source) else block.scope
            if block.parameter and self._home[block] is not block.scope:
                between = block.scope.names[len(self._home[block].names) :]
                block.name = "_".join([*between, block.name])
        self._own(placed, readers, arithmetic)
        placed = self._in_order(placed, readers)
        self._put(placed)
        self._wire(placed)
        pages = self._pages()
        return arranged_later(Diagram(pages, title))

    def path(self, block: StagedBlock) -> str:
        """The path of a block in the diagram; empty where nothing needs it."""
        if block in self._owners:
            owner, port = self._owners[block]
            return InstancePath(self.path(owner)) / port
        twin = self._twin_around(block.scope)
        like = self._twins[twin].blocks.get(block) if twin else block
        if like is None or like not in self._names:
            return ""
        home, line = self._home[like], self._home[like].line
        if twin:
            below = home.line[len(self._twins[twin].first.line) :]
            line = [*twin.line, *below]
        path = InstancePath.of(*(name for scope in line[1:] for name in self._steps_into(scope)))
        return path / self._names[like] if path else self._names[like]

    def _steps_into(self, scope: ModuleScope) -> tuple[str, ...]:
        """What leads to a scope in a path: for a loop, its first step."""
        return (self._uses[scope], "0") if scope.is_loop else (self._uses[scope],)

    def port(self, x: Staged) -> str:
        """The path of the port that gives a value."""
        assert x.source is not None
        block = self.path(x.source)
        return InstancePath(block).port(x.port) if block else ""

    def _kept(self, targets: Iterable[Staged]) -> list[StagedBlock]:
        """All inputs, all variables that are trained, and all that the targets depend on, in order.

        What nothing reads of the other variables, such as a count of batches, is left out.
        """
        ports: dict[ModuleScope, list[StagedBlock]] = defaultdict(list)
        for block in self._all:
            if block.scope.is_loop and isinstance(block.block, PageInput | PageOutput):
                ports[block.scope].append(block)
        pending = [x.source for x in targets if x.source is not None]
        pending += [block for block in self._all if block.parameter and not _is_buffer(block)]
        found = set(pending)
        while pending:
            block = pending.pop()
            before = [x.source for x in block.inputs.values() if x.source is not None]
            for source in before + (ports[block.body] if block.body else []):
                if source not in found:
                    found.add(source)
                    pending.append(source)
        return [block for block in self._all if block in found]

    def _twin_around(self, scope: ModuleScope) -> ModuleScope | None:
        """The outermost scope around this one that is another use of a page."""
        return next((outer for outer in scope.line if outer in self._twins), None)

    def _readers(self, placed: Sequence[StagedBlock]) -> dict[StagedBlock, list[StagedBlock]]:
        """The blocks that read each source, also those in scopes that use a page again."""
        readers: dict[StagedBlock, list[StagedBlock]] = defaultdict(list)
        for block in placed:
            for x in block.inputs.values():
                if x.source is not None:
                    readers[x.source].append(block)
        return readers

    def _constants_of(
        self, placed: Sequence[StagedBlock], readers: dict[StagedBlock, list[StagedBlock]]
    ) -> list[StagedBlock]:
        """Blocks for the constants that are no single numbers; their readers are added."""
        reading: dict[int, list[StagedBlock]] = defaultdict(list)
        constants: dict[int, Staged] = {}
        for block in placed:
            for x in block.inputs.values():
                if x.source is None and x.ndim:
                    constants[id(x)] = x
                    reading[id(x)].append(block)
        for key, x in constants.items():
            constant = registry().get("Constant")(value=x.array, dtype=x.dtype)
            scope = common(reader.scope for reader in reading[key])
            self._constants[key] = made = StagedBlock(constant, {}, scope)
            readers[made] = reading[key]
        return list(self._constants.values())

    def _own(
        self,
        placed: Sequence[StagedBlock],
        readers: dict[StagedBlock, list[StagedBlock]],
        arithmetic: dict[ModuleScope, list[StagedBlock]],
    ) -> None:
        """Let blocks that are a module stand for it, and own its variables."""
        firsts = {twin.first for twin in self._twins.values()}
        sources: dict[ModuleScope, list[StagedBlock]] = defaultdict(list)
        for block in placed:
            if isinstance(block.block, Source):
                sources[self._home[block]].append(block)
        for scope, inside in arithmetic.items():
            if len(inside) != 1 or scope.parent is None or scope.is_loop or scope in firsts:
                continue
            (block,) = inside
            if block.body or self._twin_around(scope):
                continue
            owned = {x.source: port for port, x in block.inputs.items() if x.source is not None}
            variables = sources[scope]
            fits = block.scope is scope and all(
                source in owned
                and owned[source] in block.block.ownable
                and readers[source] == [block]
                and (source.name == owned[source] or not is_trained(source))
                for source in variables
            )
            if fits:
                self._owners |= {source: (block, owned[source]) for source in variables}
                self._owned[block] = {owned[source]: source.block for source in variables}
                self._home[block] = scope.parent
                block.name = scope.name if scope.number == 1 else f"{scope.name}_{scope.number}"

    def _in_order(
        self, placed: Sequence[StagedBlock], readers: dict[StagedBlock, list[StagedBlock]]
    ) -> list[StagedBlock]:
        """Inputs first, then each variable and constant before the first block that reads it."""
        index = {block: float(i) for i, block in enumerate(placed)}
        place = dict(index)
        for source in placed:
            if isinstance(source.block, Source):
                first = min((index[block] for block in readers[source]), default=len(placed))
                place[source] = -1.0 if source.block.kind == "input" else first - 0.5
        return sorted(placed, key=lambda block: place[block])

    def _put(self, placed: Sequence[StagedBlock]) -> None:
        """Give every block its name on its page, and every scope its page."""
        for block in placed:  # other blocks must not have the names of ports
            if isinstance(block.block, PageInput | PageOutput):
                self._place(block)
        for block in placed:
            if block not in self._names and block not in self._owners:
                self._place(block)

    def _place(self, block: StagedBlock) -> None:
        sheet = self._sheet(self._home[block])
        if block.body is None:
            name = sheet.fresh(block.name, block.block.type_name())
        else:
            name = self._uses[block.body]  # its body has put it on the page already
        self._names[block] = name
        literals = {
            port: _literal(x, block.inputs.values())
            for port, x in block.inputs.items()
            if x.source is None and not x.ndim
        }
        owned = self._owned.get(block, {})
        made = block.block
        if literals or owned:
            made = made.model_copy(update={"literals": literals, "owned": owned})
        if block.body is not None:
            made = made.model_copy(update={"page": self._titles[block.body]})
        sheet.blocks[name] = made

    def _sheet(self, scope: ModuleScope) -> _Sheet:
        """The page of a scope; a new one is put on the page around it as a block."""
        if scope not in self._sheets:
            self._sheets[scope] = _Sheet(scope)
            if scope.parent is not None:
                self._use(scope, scope)
                for twin in self._twins_of.get(scope, ()):
                    self._use(twin, scope)
        return self._sheets[scope]

    def _use(self, scope: ModuleScope, first: ModuleScope) -> None:
        assert scope.parent is not None
        around = self._sheet(scope.parent)
        self._uses[scope] = name = around.fresh(scope.name)
        if scope is first:
            self._titles[scope] = self._fresh_title([self._uses[inner] for inner in scope.line[1:]])
        around.blocks[name] = PageBlock(page=self._titles[first])
        self._sheets[first].uses.append((scope, scope.parent))

    def _fresh_title(self, names: Sequence[str]) -> str:
        """A name for the page of a scope, from the names around it: ``encoder-layers-0``."""
        return self._fresh_titles.like(name_like("-".join(names)[-MAX_LENGTH:]))

    def _wire(self, placed: Sequence[StagedBlock]) -> None:
        for block in placed:
            if block in self._owners:
                continue
            sheet = self._sheets[self._home[block]]
            for port, x in block.inputs.items():
                if (x.source is None and not x.ndim) or x.source in self._owners:
                    continue
                target = PortName(self._names[block], port)
                sheet.wires[target] = self._at(x, sheet.scope)

    def _at(self, x: Staged, scope: ModuleScope) -> PortName:
        """The port on the page of a scope that gives a value."""
        source = x.source or self._constants[id(x)]
        home = self._twin_around(source.scope) or self._home[source]
        if home is scope:
            return PortName(self._names[source], x.port)
        if not home.is_inside(scope):
            return PortName(self._inlet(scope, x), "out")
        child = first = home.line[len(scope.line)]
        if child in self._twins:
            twin = self._twins[child]
            x, first = replace(x, source=twin.blocks[source]), twin.first
        return PortName(self._uses[child], self._outlet(first, x))

    def _outlet(self, scope: ModuleScope, x: Staged) -> str:
        """The output of a page that gives a value computed inside."""
        sheet, key = self._sheets[scope], source_key(x)
        if key not in sheet.outlets:
            inside = self._at(x, scope)
            stem = "out" if "out" not in sheet.blocks else f"{inside.block}_out"
            sheet.outlets[key] = name = sheet.fresh(stem)
            sheet.blocks[name] = PageOutput()
            sheet.wires[PortName(name, "x")] = inside
        return sheet.outlets[key]

    def _inlet(self, scope: ModuleScope, x: Staged) -> str:
        """The input of a page that brings a value from around it; all its uses get a wire."""
        sheet, key = self._sheets[scope], source_key(x)
        if key not in sheet.inlets:
            source = x.source or self._constants[id(x)]
            named = isinstance(source.block, Source) and source.name
            stem = source.name.rpartition(".")[2] if named else "x"
            sheet.inlets[key] = name = sheet.fresh(stem)
            sheet.blocks[name] = PageInput()
            for use, around in sheet.uses:
                given = self._twins[use].outside.get(key, x) if use in self._twins else x
                self._sheets[around].wires[PortName(self._uses[use], name)] = self._at(
                    given, around
                )
        return sheet.inlets[key]

    def _pages(self) -> dict[str, Page]:
        return {self._titles[scope]: sheet.page() for scope, sheet in self._all_sheets()}

    def _all_sheets(self) -> Iterator[tuple[ModuleScope, _Sheet]]:
        self._sheet(self._root)
        ordered = sorted(self._sheets, key=lambda scope: scope is not self._root)
        return ((scope, self._sheets[scope]) for scope in ordered)


def _is_buffer(block: StagedBlock) -> bool:
    return isinstance(block.block, Variable) and not is_trained(block)


def _literal(x: Staged, operands: Iterable[Staged]) -> PortLiteral:
    """A single number as the literal of an input: a bare one where its dtype follows."""
    others = {other.dtype for other in operands if other.source is not None} - {"bool"}
    assert x.array is not None
    return PortLiteral(x.array.item()) if others == {x.dtype} else PortLiteral(x.array, x.dtype)
