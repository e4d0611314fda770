"""Folds what is staged into pages that a person can read, before blocks get their places.

Modules that hold nothing but another one become one page with it. What only prepares indices, masks
and labels gets a page beside the modules that it is for. Of a page with too many blocks, operations
of several blocks become pages, and blocks and modules whose names begin alike.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import TypeAlias

from gradwire.blocks.block import Source
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.runtime.interchange.importing.scopes import ModuleCall, ModuleScope
from gradwire.runtime.interchange.importing.staged import Operation, StagedBlock, is_trained

MANY = 20
"""Blocks on a page from which on it is folded further."""
_SOUGHT = frozenset({"Display", "Dropout", "Loss", "Recorded", "StopGradient", "StraightThrough"})
"""Blocks that a user looks for, and that so are not put away with indices and masks."""
_FEW = 3
"""The fewest blocks or modules of an operation or of a name that get a page."""
_NAMED = 2
"""The most inputs that the name of a page for indices and masks has."""
_LARGEST = 2_000
"""The most items on a page for which it is found what is between some of them."""
_PARTS = re.compile(r"[_./]+")
Item: TypeAlias = "StagedBlock | ModuleScope"
"""What stands on a page: a block, or a module."""


def fold(root: ModuleScope, kept: Sequence[StagedBlock]) -> None:
    """Fold the pages of a diagram of these blocks, which are in order."""
    plumbing = _plumbing(kept)
    _fold(_Page(root, kept), plumbing)
    _merge(root, set(kept))


def _fold(page: _Page, plumbing: dict[StagedBlock, list[str]]) -> None:
    _fold_plumbing(page, plumbing)
    if page.size > MANY and page.scope.parent is None:
        shown = [x for x in page.items if isinstance(x, StagedBlock) and _kind(x) == "Display"]
        if len(shown) > _FEW:
            page.move([(shown, "outputs")])
    if page.size > MANY:
        page.move_to_parameters()
    if page.size > MANY:
        _fold_operations(page)
    if page.size > MANY:
        _fold_names(page)
    for scope, blocks in page.inside():
        _fold(_Page(scope, blocks), plumbing)


class _Page:
    """A page to be: what stands on it, and how that depends on each other."""

    def __init__(self, scope: ModuleScope, blocks: Sequence[StagedBlock]) -> None:
        self.scope = scope
        self._blocks = blocks
        self._of: dict[StagedBlock, Item] = {}
        self._find()

    def _find(self) -> None:
        level = len(self.scope.line)
        bodies = {block.body: block for block in self._blocks if block.body}
        for block in self._blocks:
            line = block.scope.line
            item: Item = block if len(line) == level or _is_source(block) else line[level]
            self._of[block] = bodies.get(item, item) if isinstance(item, ModuleScope) else item
        self.items = list(
            dict.fromkeys(x for x in self._of.values() if not _is_source(x) and not _is_port(x))
        )
        self._order: tuple[dict[Item, set[Item]], dict[Item, set[Item]]] | None = None
        readers: dict[StagedBlock, set[Item]] = defaultdict(set)
        sources = [x for x in self._of.values() if isinstance(x, StagedBlock) and _is_source(x)]
        known = set(sources)
        for block, item in self._of.items():
            for x in block.inputs.values():
                if x.source in known:
                    readers[x.source].add(item)
        self._readers = readers
        own = (x for x in sources if len(readers[x]) != 1 or _kind(x) == "Input")
        self.size = len(self.items) + sum(1 for _ in own)

    @property
    def _neighbours(self) -> tuple[dict[Item, set[Item]], dict[Item, set[Item]]]:
        """What each item reads, and what reads it."""
        if self._order is None:
            before: dict[Item, set[Item]] = defaultdict(set)
            after: dict[Item, set[Item]] = defaultdict(set)
            for block, item in self._of.items():
                for x in block.inputs.values():
                    source = self._of.get(x.source) if x.source is not None else None
                    if source is not None and source is not item and not _is_source(source):
                        before[item].add(source)
                        after[source].add(item)
            self._order = before, after
        return self._order

    def inside(self) -> list[tuple[ModuleScope, list[StagedBlock]]]:
        """The modules on it, with the blocks inside them."""
        found: dict[ModuleScope, list[StagedBlock]] = defaultdict(list)
        level = len(self.scope.line)
        for block in self._blocks:
            line = block.scope.line
            if len(line) > level:
                found[line[level]].append(block)
        return list(found.items())

    def between(self, members: set[Item]) -> set[Item]:
        """What depends on some of these and is needed by others."""
        before, after = self._neighbours
        return (_reached(members, before) & _reached(members, after)) - members

    def move(self, groups: Iterable[tuple[Iterable[Item], str]]) -> None:
        """Put items, and the variables that only they read, on pages of their own by name."""
        pages: dict[Item, ModuleScope] = {}
        for members, name in groups:
            page = self.scope.at([_free(self.scope, name)])
            for item in members:
                pages[item] = page
                _move(item, page)
        for source, readers in self._readers.items():
            homes = {pages.get(reader) for reader in readers}
            home = homes.pop() if len(homes) == 1 else None
            if home is not None and source.scope is self.scope and _kind(source) != "Input":
                source.scope = home
        if pages:
            self._find()

    def move_to_parameters(self) -> None:
        """Put what alone reads a parameter in its module, where that holds nothing else."""
        modules: dict[Item, ModuleScope] = {}
        for source, readers in self._readers.items():
            if len(readers) == 1 and source.scope.parent and is_trained(source):
                (reader,) = readers
                if isinstance(reader, StagedBlock):
                    modules.setdefault(reader, source.scope)
        held = {
            scope for block in self._blocks if not _is_source(block) for scope in block.scope.line
        }
        moved = [(item, module) for item, module in modules.items() if module not in held]
        for item, module in moved:
            _move(item, module)
        if moved:
            self._find()
        self._move_between()

    def _move_between(self) -> None:
        """Put blocks between those of a module into it, and so on inside."""
        for scope in [item for item in self.items if isinstance(item, ModuleScope)]:
            if len(self.items) > _LARGEST:
                break
            between = self.between({scope})
            if all(isinstance(item, StagedBlock) for item in between):
                for item in between:
                    _move(item, scope)
                self._find()
        for scope, blocks in self.inside():
            _Page(scope, blocks)._move_between()


def _plumbing(kept: Sequence[StagedBlock]) -> dict[StagedBlock, list[str]]:
    """Blocks that depend on nothing but indices, masks and labels, each with the names of those.

    Operations that do other things too are left whole.
    """
    alone = _untouched(kept, set())
    mixed = {block.operation for block in kept if block not in alone}
    return _untouched(kept, mixed - {None})


def _untouched(
    kept: Iterable[StagedBlock], mixed: set[Operation | None]
) -> dict[StagedBlock, list[str]]:
    """Blocks of other operations that depend only on sources without gradient, with their names."""
    found: dict[StagedBlock, list[str]] = {}
    for block in kept:
        if block.body or block.operation in mixed or _kind(block) in _SOUGHT or _is_port(block):
            continue
        names: list[str] = []
        for x in block.inputs.values():
            if x.source is None:
                continue
            if x.source in found:
                names += found[x.source]
            elif _is_source(x.source) and not x.is_float:
                names.append(x.source.name)
            else:
                break
        else:
            if names:
                found[block] = list(dict.fromkeys(names))
    return found


def _fold_plumbing(page: _Page, plumbing: dict[StagedBlock, list[str]]) -> None:
    """Make pages of connected plumbing beside modules."""
    if not any(isinstance(item, ModuleScope) for item in page.items):
        return
    joined: dict[StagedBlock, StagedBlock] = {}

    def first(block: StagedBlock) -> StagedBlock:
        while joined.get(block, block) is not block:
            block = joined[block] = joined.get(joined[block], joined[block])
        return block

    ours = [item for item in page.items if isinstance(item, StagedBlock) and item in plumbing]
    for item in ours:
        for x in item.inputs.values():
            if x.source is not None:
                joined[first(item)] = first(x.source)
    groups: dict[StagedBlock, list[StagedBlock]] = defaultdict(list)
    for item in ours:
        groups[first(item)].append(item)
    page.move(
        (members, _prepared(name for block in members for name in plumbing[block]))
        for members in groups.values()
        if len(members) > 1
    )


def _prepared(names: Iterable[str]) -> str:
    return f"prepare_{'_and_'.join(list(dict.fromkeys(names))[:_NAMED])}"


def _fold_operations(page: _Page) -> None:
    """Make pages of operations of several blocks, the largest first, until the rest is few.

    Nothing stands between their blocks: those of one operation follow each other.
    """
    groups: dict[Operation, list[StagedBlock]] = defaultdict(list)
    for item in page.items:
        if isinstance(item, StagedBlock) and item.operation is not None:
            groups[item.operation].append(item)
    size, chosen = page.size, []
    for (name, _), members in sorted(groups.items(), key=lambda group: -len(group[1])):
        if size > MANY and _FEW <= len(members) < len(page.items):
            size -= len(members) - 1
            chosen.append((members, name))
    page.move(chosen)


def _fold_names(page: _Page) -> None:
    """Make pages of what has names that begin alike, where nothing else is between them."""
    if len(page.items) > _LARGEST:
        return
    named = {item: _PARTS.split(item.name) for item in page.items if item.name}
    groups: dict[tuple[str, ...], list[Item]] = defaultdict(list)
    for item, parts in named.items():
        for end in range(1, len(parts)):
            groups[tuple(parts[:end])].append(item)
    done: set[Item] = set()
    chosen: list[tuple[list[Item], str]] = []
    around = _PARTS.split(page.scope.name)
    for start, members in sorted(groups.items(), key=lambda group: len(group[0])):
        rest = ["".join(named[item][len(start) :]) for item in members]
        numbered = sum(not text or text.isdigit() for text in rest) * 2 > len(rest)
        if len(members) < _FEW or len(members) == len(named) or numbered:
            continue
        if done.isdisjoint(members):
            between = page.between({*members})
            if between.isdisjoint(named):
                chosen.append(([*members, *between], "_".join(_without(start, around))))
                done |= {*members, *between}
    page.move(chosen)


def _without(parts: Sequence[str], start: Sequence[str]) -> Sequence[str]:
    """What follows the start, where there is something."""
    same = len(parts) > len(start) and list(parts[: len(start)]) == list(start)
    return parts[len(start) :] if same else parts


def _merge(scope: ModuleScope, kept: set[StagedBlock]) -> None:
    """Make one page of modules that hold nothing but one another."""
    direct: dict[ModuleScope, list[StagedBlock]] = defaultdict(list)
    filled: set[ModuleScope] = set()
    for block in kept:
        direct[block.scope].append(block)
        filled |= {*block.scope.line}
    _merge_below(scope, direct, filled.__contains__)


def _merge_below(
    scope: ModuleScope,
    direct: dict[ModuleScope, list[StagedBlock]],
    filled: Callable[[ModuleScope], bool],
) -> None:
    for inside in list(scope.inside.values()):
        _merge_below(inside, direct, filled)
    around, own = scope.parent, direct[scope]
    inner = [inside for inside in scope.inside.values() if filled(inside)]
    if around is None or scope.is_loop or len(inner) != 1:
        return
    (only,) = inner
    if [block.body for block in own] == ([only] if only.is_loop else []):
        only.name = scope.name if only.is_loop else f"{scope.name}_{only.name}"
        only.number = scope.number
        _take(scope)
        _put(only, around)
        for block in own:
            block.scope = around


def _move(item: Item, page: ModuleScope) -> None:
    """Put a block or module on a page."""
    inner = item.body if isinstance(item, StagedBlock) else item
    if isinstance(item, StagedBlock):
        item.scope = page
    if inner is not None:
        _put(inner, page)


def _free(around: ModuleScope, name: str, number: int = 1) -> ModuleCall:
    """A call of this name that is not there yet."""
    return next(c for n in count(number) if (c := ModuleCall(name, n)) not in around.inside)


def _put(scope: ModuleScope, around: ModuleScope) -> None:
    """Put a module on the page of another one."""
    _take(scope)
    around.inside[_free(around, scope.name, scope.number)] = scope
    scope.parent = around


def _take(scope: ModuleScope) -> None:
    assert scope.parent is not None
    inside = scope.parent.inside
    for key in [call for call, inner in inside.items() if inner is scope]:
        del inside[key]


def _reached(start: Iterable[Item], further: dict[Item, set[Item]]) -> set[Item]:
    pending, found = list(start), set(start)
    while pending:
        for item in further.get(pending.pop(), ()):
            if item not in found:
                found.add(item)
                pending.append(item)
    return found


def _kind(block: StagedBlock) -> str:
    return block.block.type_name()


def _is_source(item: Item) -> bool:
    return isinstance(item, StagedBlock) and isinstance(item.block, Source)


def _is_port(item: Item) -> bool:
    return isinstance(item, StagedBlock) and isinstance(item.block, PageInput | PageOutput)
