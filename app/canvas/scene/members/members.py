"""The blocks, ports and wires of a page, numbered from 0 in its order."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from gradwire.app.canvas.scene.arrays import distinct, runs
from gradwire.app.canvas.scene.members.changes import Changes, changes_of
from gradwire.app.canvas.scene.members.slots import (
    add_named_ports,
    least_rows,
    numbered_ports,
    port_counts,
    resolved_wires,
    slots_of,
    slots_of_block,
)
from gradwire.app.canvas.scene.obstacles import clearance
from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.library.pages import Composite
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import Page, PortName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices, Ints
    from gradwire.app.canvas.scene.members.slots import PortSlots
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import Diagram

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
