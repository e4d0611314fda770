"""The blocks, ports and wires of a page, numbered in its order, and how edits change them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, compress, count, pairwise
from operator import attrgetter, is_not, ne
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from gradwire.app.canvas.scene.arrays import distinct, runs
from gradwire.app.canvas.scene.obstacles import clearance
from gradwire.blocks.block import Block, Opaque, Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Composite
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime.diagram import (
    HEADER,
    PLAIN,
    ROW,
    WIDTH,
    Page,
    PortName,
    block_height,
    collapsed_offset,
    view_size,
)
from gradwire.runtime.diagram import ports as ports_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices, Ints
    from gradwire.runtime.diagram import Diagram

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Changes:
    """The entries (n,) of a mapping, and those (o,) that it had before."""

    before: Indices
    """The number that each entry had (n,); -1 for new ones."""
    now: Indices
    """The number that each of those before has (o,); -1 for those that are gone."""
    fresh: list[int]
    """Numbers of the entries that are new, or other objects."""
    first: int
    """How many of the first entries are the same as before."""
    last: int
    """How many of the last ones."""

    @property
    def gone(self) -> Indices:
        """The numbers that those which are gone had."""
        return np.flatnonzero(self.now < 0)

    @property
    def are_numbered_alike(self) -> bool:
        """Whether all that were there have kept their numbers."""
        return self.first == len(self.now)

    def __len__(self) -> int:
        return len(self.fresh) + int(np.count_nonzero(self.now < 0))

    def rows(self, known: NDArray[T], default: Any = 0) -> NDArray[T]:
        """The rows ``known`` (o, …) of what is still there (n, …), and of new ones ``default``."""
        parts = [  # far fewer than rows
            known[at : at + count]
            if at >= 0
            else np.full((1, *known.shape[1:]), default, known.dtype)
            for at, count in self._runs
        ]
        return np.concatenate([known[:0], *parts])

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        """The numbers that the first of entries had which follow each other as before, and how many
        these are; -1 for each new one.
        """
        if not len(self.before):
            return []
        ends = (np.diff(self.before) != 1) | (self.before[1:] == 0)
        edges = [0, *(np.flatnonzero(ends) + 1).tolist(), len(self.before)]
        begin = self.before[edges[:-1]].tolist()
        return [(at, high - low) for at, (low, high) in zip(begin, pairwise(edges), strict=True)]

    def listed(self, known: Sequence[V]) -> Iterator[V | None]:
        """Those ``known`` (o,) that are still there (n,), and None for new ones."""
        middle = self.before[self.first : len(self.before) - self.last].tolist()
        between = (known[number] if number >= 0 else None for number in middle)
        return chain(known[: self.first], between, known[len(known) - self.last :])


def changes_of(was: Mapping[K, V], now: Mapping[K, V]) -> Changes:
    """The difference between two versions of a mapping."""
    if was is now:
        same = np.arange(len(now))
        return Changes(same, same, [], len(now), 0)
    old, new = list(was), list(now)
    fewest = min(len(old), len(new))
    first = next(compress(count(), map(ne, old, new)), fewest)
    last = next(compress(count(), map(ne, reversed(old), reversed(new))), fewest)
    last = min(last, fewest - first)
    numbers = {key: first + i for i, key in enumerate(old[first : len(old) - last])}
    before = np.arange(len(new))
    end = len(new) - last
    before[first:end] = [numbers.get(key, -1) for key in new[first:end]]
    before[end:] += len(old) - len(new)
    after = np.full(len(old), -1)
    kept = np.flatnonzero(before >= 0)
    after[before[kept]] = kept
    found = Changes(before, after, [], first, last)
    values = found.listed(list(was.values()))
    found.fresh.extend(compress(count(), map(is_not, values, now.values())))
    return found


_INPUTS, _OUTPUTS = attrgetter("inputs"), attrgetter("outputs")


class PortSlots:
    """The names of a block's ports, and their numbers on the block, inputs first."""

    def __init__(
        self, inputs: tuple[str, ...], outputs: tuple[str, ...], free: tuple[str, ...] = ()
    ) -> None:
        self.inputs = inputs
        """Those in use, then the free port of a repeating input."""
        self.outputs = outputs
        self.free = frozenset(free)
        self.input_at = {name: i for i, name in enumerate(inputs)}
        self.output_at = {name: i + len(inputs) for i, name in enumerate(outputs)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PortSlots):
            return NotImplemented
        ports = self.inputs, self.outputs, self.free
        return ports == (other.inputs, other.outputs, other.free)

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs, self.free))


def slots_of(diagram: Diagram, name: str, page: Page) -> list[PortSlots]:
    """Slots of every block of the page."""
    kinds = list(map(type, page.blocks.values()))
    by_type = {kind: _fixed_slots(kind) for kind in set(kinds)}
    found = list(map(by_type.__getitem__, kinds))
    if None not in by_type.values():
        return cast("list[PortSlots]", found)
    for i, block_name in enumerate(page.blocks):
        if found[i] is None:
            found[i] = _own_slots(diagram, name, block_name)
    return cast("list[PortSlots]", found)


def slots_of_block(diagram: Diagram, page: str, name: str) -> PortSlots:
    """Slots of one block of a page."""
    fixed = _fixed_slots(type(diagram.pages[page].blocks[name]))
    return _own_slots(diagram, page, name) if fixed is None else fixed


def _own_slots(diagram: Diagram, page: str, name: str) -> PortSlots:
    ports = ports_of(diagram, page, name)
    return PortSlots((*ports.inputs, *ports.free), ports.outputs, ports.free)


def _fixed_slots(kind: type[Block]) -> PortSlots | None:
    """The slots of a type whose blocks all have the same ports; None if they differ."""
    if issubclass(kind, Composite | Opaque) or any(port.variadic for port in kind.inputs):
        return None
    if kind.output_names is not Block.output_names or kind.input_ports is not Block.input_ports:
        return None  # as Unpack, whose parameters name its outputs
    return PortSlots(tuple(port.name for port in kind.inputs), kind.outputs)


def changed_parameters(before: Diagram, after: Diagram, name: str) -> list[int] | None:
    """The blocks of a page, by number, whose parameters differ between two diagrams.

    None if anything else on the page differs, or if their ports or rows may.
    """
    was, now = before.pages.get(name), after.pages.get(name)
    if was is None or now is None or (was.blocks is now.blocks and was is not now):
        return None
    if not _same_but_blocks(was, now) or not _same_others(before, after, name):
        return None
    if was is now:
        return None if before.pages == after.pages else []
    pairs = zip(was.blocks.values(), now.blocks.values(), strict=True)
    changed = [(i, old, new) for i, (old, new) in enumerate(pairs) if old is not new]
    if any(
        type(old) is not type(new) or _fixed_slots(type(new)) is None for _, old, new in changed
    ):
        return None
    rows_before = least_rows([old for _, old, _ in changed])
    rows_after = least_rows([new for _, _, new in changed])
    return [i for i, _, _ in changed] if np.array_equal(rows_before, rows_after) else None


def _same_others(before: Diagram, after: Diagram, name: str) -> bool:
    """Whether all pages but one are the same but for the numbers of their variables."""
    return before.pages.keys() == after.pages.keys() and all(
        page is after.pages[other] or _same_but_numbers(page, after.pages[other])
        for other, page in before.pages.items()
        if other != name
    )


def _same_but_blocks(was: Page, now: Page) -> bool:
    """Whether two versions of a page differ in nothing but what its blocks are."""
    kept = ("wires", "layout", "notes", "bends", "routes", "styles")
    return [*was.blocks] == [*now.blocks] and all(
        getattr(was, field) is getattr(now, field) for field in kept
    )


def _same_but_numbers(was: Page, now: Page) -> bool:
    """Whether two versions of a page differ in nothing but the numbers of its variables."""
    return _same_but_blocks(was, now) and all(
        old is new or _numbers_apart(old) == _numbers_apart(new)
        for old, new in zip(was.blocks.values(), now.blocks.values(), strict=True)
    )


def _numbers_apart(block: Block) -> Block:
    """The block, with none of the numbers of its variables."""
    if isinstance(block, Source):
        return block.model_copy(update={"value": None}) if hasattr(block, "value") else block
    owned = {port: _numbers_apart(own) for port, own in block.owned.items()}
    return block.model_copy(update={"owned": owned})


@by_identity
class NumberedPorts(NamedTuple):
    """The ports of a page's blocks, block by block, inputs first."""

    rows: Ints
    """Rows of ports on each block (n,)."""
    counts: Ints
    """Number of ports of each block (n,)."""
    first: Ints
    """Number of the first port of each block (n,)."""
    block: Ints
    """The block of each port (p,)."""
    is_input: Flags
    places: Ints
    """Row of each port, and the number of ports on its side of the block (p, 2)."""


def port_counts(slots: Sequence[PortSlots]) -> tuple[Ints, Ints]:
    """Numbers of inputs and of outputs (n,) of blocks with these slots."""
    inputs = np.fromiter(map(len, map(_INPUTS, slots)), np.int32, len(slots))
    outputs = np.fromiter(map(len, map(_OUTPUTS, slots)), np.int32, len(slots))
    return inputs, outputs


def numbered_ports(inputs: Ints, outputs: Ints) -> NumberedPorts:
    """Numbers of the ports of blocks with so many inputs and outputs (n,)."""
    counts = inputs + outputs
    first = (np.cumsum(counts) - counts).astype(np.int32)
    block = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    local = np.arange(len(block)) - first[block]
    is_input = local < inputs[block]
    row = np.where(is_input, local, local - inputs[block])
    side = np.where(is_input, inputs[block], outputs[block])
    places = np.column_stack([row, side])
    return NumberedPorts(np.maximum(inputs, outputs), counts, first, block, is_input, places)


def resolved_wires(
    page: Page, index: Mapping[str, int], slots: Sequence[PortSlots]
) -> tuple[list[str], Ints]:
    """Keys of the wires (m,), and source block, target block and their port numbers (m, 4).

    Ports are numbered on their block. Wires of blocks that are not on the page are left out.
    Raises KeyError for an unknown port.
    """
    keys: list[str] = []
    ends: list[int] = []
    for target, (origin, out) in page.wires.items():
        a, b = index.get(origin), index.get(target.block)
        if a is not None and b is not None:
            keys.append(str(target))
            ends += (a, b, slots[a].output_at[out], slots[b].input_at[target.port])
    return keys, np.fromiter(ends, np.int32, len(ends)).reshape(-1, 4)


def add_named_ports(page: Page, index: Mapping[str, int], slots: list[PortSlots]) -> None:
    """Add ports that wires name but blocks lack, so that every wire has two ends."""
    for target, source in page.wires.items():
        i = index.get(target.block)
        if i is not None and target.port not in slots[i].input_at:
            old = slots[i]
            slots[i] = PortSlots((*old.inputs, target.port), old.outputs, tuple(old.free))
        i = index.get(source.block)
        if i is not None and source.port not in slots[i].output_at:
            old = slots[i]
            slots[i] = PortSlots(old.inputs, (*old.outputs, source.port), tuple(old.free))


def is_collapsed(page: Page, names: list[str]) -> Flags:
    """Which of the blocks (n,) are collapsed."""
    styles = page.styles
    found = (styles.get(name, PLAIN).collapsed for name in names)
    return np.fromiter(found, bool, len(names)) if styles else np.zeros(len(names), bool)


def block_sizes(page: Page, names: list[str], rows: Ints, lines: Ints, collapsed: Flags) -> Floats:
    """Width and height of each block (n, 2), with so many ``rows`` of ports and ``lines`` of text
    (n,); a view has the size that it was given.
    """
    found = np.empty((len(names), 2))
    found[:, 0] = WIDTH
    found[:, 1] = np.where(collapsed, HEADER, block_height(0) + ROW * np.maximum(rows, lines))
    kinds = list(map(type, map(page.blocks.__getitem__, names)))
    views = {kind for kind in set(kinds) if issubclass(kind, ViewBlock)}
    for i, name in enumerate(names) if views else ():
        if kinds[i] in views and not collapsed[i]:
            style = page.styles.get(name, PLAIN)
            found[i] = view_size(page.blocks[name], style, int(rows[i])) or found[i]
    return found


def port_offsets(is_input: Flags, places: Ints, collapsed: Flags) -> Floats:
    """From the top left of its block to each port (p, 2).

    ``places`` has the port's row and the number of ports on its side (p, 2); ``collapsed`` says of
    which ports (p,) the block is collapsed.
    """
    found = np.column_stack([np.where(is_input, 0.0, WIDTH), HEADER + ROW * (places[:, 0] + 0.5)])
    for port in np.flatnonzero(collapsed).tolist():
        found[port, 1] = collapsed_offset(*places[port].tolist())
    return found


def least_rows(blocks: list[Block]) -> Ints:
    """Text lines (n,) on faces before values are known."""
    kinds = list(map(type, blocks))
    tall = {kind for kind in set(kinds) if issubclass(kind, Formula | Source)}
    found = np.ones(len(blocks), np.int32)
    for i in compress(count(), map(tall.__contains__, kinds)):
        found[i] = _least(blocks[i])
    return found


def _least(block: Block) -> int:
    """A variable has a line for its gradient, a Formula block one for its expression."""
    if isinstance(block, Formula):
        return max(len(block.input_ports()), len(block.output_names())) + 1
    return 2 if isinstance(block, Source) and block.wants_gradient else 1


FEW = 64
"""Blocks or wires of an edit; after one of more the whole page is read anew."""
NO_PAGE = Page()


@by_identity
class MembersEdit(NamedTuple):
    """What an edit has changed of a page's blocks and wires."""

    blocks: Changes
    wires: Changes
    touched: Indices
    """Numbers of the blocks that are new, or may have other ports or another size."""


@by_identity
class Renumbered(NamedTuple):
    """The last small edit of a page, and what was numbered before it, by which it is known."""

    wire_keys: list[str]
    slots: list[PortSlots]
    """Those of the blocks."""
    edit: MembersEdit


class Incidence:
    """The wires between blocks (m, 2: source and target) of a page of ``count`` blocks."""

    def __init__(self, wire_blocks: Ints, count: int) -> None:
        ends = wire_blocks.T.ravel()
        order = np.argsort(ends, kind="stable")
        self._wires = order % max(len(wire_blocks), 1)
        self._first = np.searchsorted(ends[order], np.arange(count + 1))

    def of(self, blocks: Indices) -> Indices:
        """The wires that begin or end at one of ``blocks`` (k,), in order."""
        first = self._first[blocks]
        return distinct(self._wires[runs(first, self._first[blocks + 1] - first)])


class Members:
    """The blocks, ports and wires of a page."""

    def __init__(self, diagram: Diagram, page: str) -> None:
        self.diagram = diagram
        self.page_name = page
        self.page = diagram.pages.get(page, NO_PAGE)
        self._read_blocks()

    def wires_of(self, blocks: Indices) -> Indices:
        """Wires that begin or end at one of ``blocks``."""
        return self._incidence.of(blocks)

    def ports_of(self, blocks: Indices) -> Indices:
        """The ports of ``blocks`` (k,), block by block."""
        return runs(self.first_port[blocks], self._ports_by_block.counts[blocks])

    def clearance(self) -> Floats:
        """The distance that the detour of each wire (m,) keeps from blocks."""
        return clearance(self.groups[self.wire_blocks[:, 0]])

    def port(self, block: str, port: str, *, is_input: bool | None = None) -> int | None:
        """Number of a port by name; of an input and an output of the same name, the input's."""
        number = self.index.get(block)
        if number is None:
            return None
        slots = self.slots[number]
        local = None if is_input is False else slots.input_at.get(port)
        if local is None and is_input is not True:
            local = slots.output_at.get(port)
        return None if local is None else int(self.first_port[number]) + local

    def port_name(self, port: int) -> PortName:
        """``block.port`` of a port."""
        number = int(self.port_block[port])
        slots = self.slots[number]
        local = port - int(self.first_port[number])
        names = (*slots.inputs, *slots.outputs)
        return PortName(self.names[number], names[local])

    def _read_blocks(self) -> None:
        page = self.page
        self.names: list[str] = list(page.blocks)
        self.blocks: list[Block] = list(page.blocks.values())
        self.index: dict[str, int] = dict(zip(self.names, range(len(self.names)), strict=True))
        self.slots = slots_of(self.diagram, self.page_name, page)
        kinds = set(map(type, self.blocks))
        self.has_pages = any(issubclass(kind, PageBlock) for kind in kinds)
        self.has_insides = any(issubclass(kind, Composite) for kind in kinds)
        self.least_rows: Ints = least_rows(self.blocks)
        """Text lines (n,) before values are known: a variable has a line for its gradient."""
        try:
            keys, ends = resolved_wires(page, self.index, self.slots)
        except KeyError:
            add_named_ports(page, self.index, self.slots)
            keys, ends = resolved_wires(page, self.index, self.slots)
        self.wire_keys: list[str] = keys
        self.wire_index: dict[str, int] = dict(zip(keys, range(len(keys)), strict=True))
        self.groups: Ints = _groups(self.names)
        """One of a few groups (n,), whose wires keep different distances from blocks."""
        self._counts = port_counts(self.slots)
        self._number_ports(ends)

    def _number_ports(self, ends: Ints) -> None:
        """Number the ports, and find those that wires have at their ``ends``: source block, target
        block, and numbers of ports on these (m, 4).
        """
        self._ports_by_block = ports = numbered_ports(*self._counts)
        self.port_rows: Ints = ports.rows
        self.first_port: Ints = ports.first
        self.port_block: Ints = ports.block
        self.port_is_input: Flags = ports.is_input
        self._ends = ends
        self.wire_blocks: Ints = ends[:, :2]
        """Source and target block of each wire (m, 2)."""
        self.wire_ports: Ints = self.first_port[self.wire_blocks] + ends[:, 2:]
        """Source and target port of each wire (m, 2)."""
        readers = np.bincount(self.wire_ports[:, 0], minlength=1)
        self._incidence = Incidence(self.wire_blocks, len(self.names))
        self._is_forked: Flags = readers[self.wire_ports[:, 0]] > 1
        """Wires (m,) that others share their port with."""
        self.is_driven: Flags = np.zeros(len(self.port_block), bool)
        """Ports that a wire ends at."""
        self.is_driven[self.wire_ports[:, 1]] = True

    def _follow_edit(self, diagram: Diagram) -> MembersEdit | None:
        """Follow an edit of a few blocks and wires; None, and nothing is done, if it is none."""
        page = diagram.pages[self.page_name]
        blocks = changes_of(self.page.blocks, page.blocks)
        wires = changes_of(self.page.wires, page.wires)
        few = max(len(blocks), len(wires)) <= FEW
        if not few or len(self.wire_keys) < len(self.page.wires):
            return None
        return _Following(self, diagram, blocks, wires).edit()


class _Following:
    """One step of the members of a page from the version that they have to the next."""

    def __init__(self, members: Members, diagram: Diagram, blocks: Changes, wires: Changes) -> None:
        self._members, self._diagram = members, diagram
        self._page = diagram.pages[members.page_name]
        self._changes, self._wire_changes = blocks, wires
        self._names, self._blocks = list(self._page.blocks), list(self._page.blocks.values())
        self._index = _numbered(members.index, self._names, blocks)
        self._wires = list(self._page.wires.items())

    def edit(self) -> MembersEdit | None:
        members, changes = self._members, self._changes
        if self._has_insides() or not self._are_known():
            return None
        touched = self._touched()
        slots = cast("list[PortSlots]", list(changes.listed(members.slots)))
        counts = [changes.rows(known) for known in members._counts]
        others = self._find_slots(touched, slots, counts)
        ends = self._resolved(slots, others)
        if ends is None:
            return None
        rows = changes.rows(members.least_rows)
        rows[changes.fresh] = least_rows([self._blocks[i] for i in changes.fresh])
        members.diagram, members.page = self._diagram, self._page
        members.names, members.blocks, members.index = self._names, self._blocks, self._index
        members.slots, members.least_rows = slots, rows
        members.groups = changes.rows(members.groups)
        new = np.flatnonzero(changes.before < 0)
        members.groups[new] = _groups([self._names[i] for i in new.tolist()])
        members._counts = counts[0], counts[1]
        if len(self._wire_changes) or not self._wire_changes.are_numbered_alike:
            self._name_wires()
        members._number_ports(ends)
        return MembersEdit(changes, self._wire_changes, np.array(touched, np.intp))

    def _has_insides(self) -> bool:
        """Whether a page or a formula has come, gone or changed."""
        old = (self._members.blocks[i] for i in self._old(self._changes))
        new = (self._blocks[i] for i in self._changes.fresh)
        return any(isinstance(block, Composite) for block in chain(old, new))

    def _old(self, changes: Changes) -> list[int]:
        """The numbers before of what is gone, or another object."""
        fresh = changes.before[changes.fresh]
        return [*changes.gone.tolist(), *fresh[fresh >= 0].tolist()]

    def _are_known(self) -> bool:
        """Whether all new wires have blocks of the page at both ends."""
        fresh = (self._wires[i] for i in self._wire_changes.fresh)
        return all(end.block in self._index for wire in fresh for end in wire)

    def _touched(self) -> list[int]:
        """Blocks that are new, or others, or at the end of a wire that has come or gone."""
        was = self._members.wire_blocks[self._old(self._wire_changes)].ravel()
        ends = (self._index[end.block] for i in self._wire_changes.fresh for end in self._wires[i])
        found = {*self._changes.fresh, *ends, *self._changes.now[was].tolist()}
        return sorted(found - {-1})

    def _find_slots(
        self, touched: list[int], slots: list[PortSlots], counts: list[Ints]
    ) -> list[int]:
        """Find the ports of these blocks anew; returns those that have others."""
        others = []
        for number in touched:
            name = self._names[number]
            found = slots_of_block(self._diagram, self._members.page_name, name)
            if slots[number] is None or slots[number] != found:
                slots[number] = found
                counts[0][number], counts[1][number] = len(found.inputs), len(found.outputs)
                others.append(number)
        return others

    def _resolved(self, slots: list[PortSlots], others: list[int]) -> Ints | None:
        """The ends of all wires (m, 4), where ``others`` are blocks with other ports; None if a
        wire names a port that there is not.
        """
        changes, ends = self._wire_changes, self._wire_changes.rows(self._members._ends)
        ends[:, :2] = self._changes.now[ends[:, :2]]
        has_others = np.zeros(len(slots), bool)
        has_others[others] = True
        again = np.flatnonzero(has_others[ends[:, :2]].any(axis=1)).tolist()
        for wire in {*changes.fresh, *again}:
            target, source = self._wires[wire]
            a, b = self._index[source.block], self._index[target.block]
            out, into = slots[a].output_at.get(source.port), slots[b].input_at.get(target.port)
            if out is None or into is None:
                return None
            ends[wire] = a, b, out, into
        return None if (ends < 0).any() else ends

    def _name_wires(self) -> None:
        members, changes = self._members, self._wire_changes
        keys = cast("list[str]", list(changes.listed(members.wire_keys)))
        for wire in changes.fresh:
            keys[wire] = str(self._wires[wire][0])
        members.wire_index = _numbered(members.wire_index, keys, changes)
        members.wire_keys = keys


def _numbered(known: dict[str, int], names: list[str], changes: Changes) -> dict[str, int]:
    """The numbers of ``names``, of which those ``known`` had some."""
    if not changes.are_numbered_alike:
        return dict(zip(names, range(len(names)), strict=True))
    new: Iterable[int] = range(changes.first, len(names))
    return known if len(names) == changes.first else {**known, **{names[i]: i for i in new}}


def _groups(names: list[str]) -> Ints:
    """By name, so that they stay the same when other blocks come or go."""
    return np.fromiter(map(sum, map(str.encode, names)), np.int32, len(names))
