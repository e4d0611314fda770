"""The ports of each block of a page, in the order in which the canvas shows them, and its rows."""

from __future__ import annotations

from itertools import compress, count
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from gradwire.blocks.block import Block, Opaque, Source
from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Composite
from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime.diagram import (
    HEADER,
    PLAIN,
    ROW,
    WIDTH,
    block_height,
    collapsed_offset,
    view_size,
)
from gradwire.runtime.diagram import ports as ports_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Ints
    from gradwire.runtime.diagram import Diagram, Page


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
