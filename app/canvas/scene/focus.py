"""The keyboard focus on a page, and where an arrow key moves it: along wires, port by port."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.geometry import Bend
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram import PortName

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.scene.geometry import Scene

Direction = tuple[int, int]
"""One step right or down: (1, 0), (-1, 0), (0, 1) or (0, -1)."""


class FocusKind(Enum):
    """What can have the focus."""

    BLOCK = auto()
    INPUT = auto()
    OUTPUT = auto()
    WIRE = auto()
    BEND = auto()
    NOTE = auto()


@dataclass(frozen=True, slots=True)
class Focus:
    """A block or note by name, a port as ``block.port``, a wire by its key, or one of its bends."""

    kind: FocusKind
    name: str
    number: int = 0
    """Number of the bend on its wire."""


def port_focus(scene: Scene, port: int) -> Focus:
    """The focus on the port of that number."""
    kind = FocusKind.INPUT if scene.port_is_input[port] else FocusKind.OUTPUT
    return Focus(kind, str(scene.port_name(port)))


def port_number(scene: Scene, focus: Focus) -> int | None:
    """The number of the port that has the focus; None if it is not a port of the page."""
    if focus.kind not in (FocusKind.INPUT, FocusKind.OUTPUT):
        return None
    return scene.port(*PortName.parse(focus.name), is_input=focus.kind is FocusKind.INPUT)


def number_of(scene: Scene, focus: Focus) -> int | None:
    """The number of the focused item among those of its kind; None if it is not on the page."""
    match focus.kind:
        case FocusKind.BLOCK:
            return scene.index.get(focus.name)
        case FocusKind.WIRE:
            return scene.wire_index.get(focus.name)
        case FocusKind.BEND:
            return scene.bend(Bend(focus.name, focus.number))
        case FocusKind.NOTE:
            notes = list(scene.page.notes)
            return notes.index(focus.name) if focus.name in notes else None
        case _:
            return port_number(scene, focus)


def exists(scene: Scene, focus: Focus) -> bool:
    """Whether the focused item is still on the page."""
    return number_of(scene, focus) is not None


def focus_bounds(scene: Scene, focus: Focus) -> Floats:
    """Left, top, right, bottom of the focused item, scene units."""
    match focus.kind:
        case FocusKind.BLOCK:
            x, y, width, height = scene.rects[scene.index[focus.name]].tolist()
        case FocusKind.NOTE:
            note = scene.page.notes[focus.name]
            x, y, width, height = *note.at, note.width, note.height
        case FocusKind.WIRE:
            return np.asarray(scene.wire_bounds[scene.wire_index[focus.name]])
        case FocusKind.BEND:
            number = scene.bend(Bend(focus.name, focus.number))
            x, y = (scene.bends[number].ravel() - 8.0).tolist()
            width = height = 16.0
        case _:
            port = port_number(scene, focus)
            assert port is not None
            x, y = (scene.port_points(np.array([port]))[0] - 8.0).tolist()
            width = height = 16.0
    return np.array([x, y, x + width, y + height])


def nearest_block(scene: Scene, at: Floats) -> Focus | None:
    """The block or note whose centre is nearest to the scene point ``at``; None without any."""
    places = _centres(scene)
    if not len(places):
        return None
    return _item(scene, int(np.hypot(*(places - at).T).argmin()))


def move_focus(scene: Scene, focus: Focus, by: Direction) -> Focus:
    """Where an arrow key moves the focus; it stays where there is nothing in that direction.

    Left and right follow the flow: block, output, wire, its bends, input, block. Up and down go to
    the next port of the same side, the next wire at the same end, or the nearest block or note.
    """
    match focus.kind:
        case FocusKind.BLOCK:
            found = _from_block(scene, focus, by)
        case FocusKind.NOTE:
            found = _neighbour(scene, focus, by)
        case FocusKind.WIRE:
            found = _from_wire(scene, scene.wire_index[focus.name], by)
        case FocusKind.BEND:
            wire = scene.wire_index[focus.name]
            found = _along(scene, wire, focus.number + by[0]) if by[0] else None
        case _:
            found = _from_port(scene, focus, by)
    return found or focus


def _from_block(scene: Scene, focus: Focus, by: Direction) -> Focus | None:
    if by[0]:
        number = scene.index[focus.name]
        first, slots = int(scene.first_port[number]), scene.slots[number]
        count = len(slots.inputs)
        if by[0] < 0 and count:
            return port_focus(scene, first)
        if by[0] > 0 and slots.outputs:
            return port_focus(scene, first + count)
    return _neighbour(scene, focus, by)


def _from_port(scene: Scene, focus: Focus, by: Direction) -> Focus | None:
    port = port_number(scene, focus)
    assert port is not None
    outward = 1 if focus.kind is FocusKind.OUTPUT else -1
    if by[0] == -outward:
        return Focus(FocusKind.BLOCK, PortName.parse(focus.name).block)
    if by[0]:
        wires = np.flatnonzero(scene.wire_ports[:, 0 if outward > 0 else 1] == port)
        if not len(wires):
            return None
        wire = _top_to_bottom(scene, wires)[0]
        return _along(scene, wire, -1 if outward > 0 else int(scene.bend_counts[wire]) - 1)
    other = port + by[1]
    if not 0 <= other < len(scene.port_block):
        return None
    same_block = scene.port_block[other] == scene.port_block[port]
    same_side = scene.port_is_input[other] == scene.port_is_input[port]
    return port_focus(scene, other) if same_block and same_side else None


def _from_wire(scene: Scene, wire: int, by: Direction) -> Focus | None:
    source = int(scene.wire_ports[wire, 0])
    if by[0]:
        return _along(scene, wire, 0) if by[0] > 0 else port_focus(scene, source)
    ends = scene.wire_ports
    same = np.flatnonzero(
        (ends[:, 0] == source) | (scene.wire_blocks[:, 1] == _target_block(scene, wire))
    )
    order = _top_to_bottom(scene, same)
    place = order.index(wire) + by[1]
    return _wire(scene, order[place]) if 0 <= place < len(order) else None


def _along(scene: Scene, wire: int, number: int) -> Focus:
    """Bend ``number`` of a wire; before the first the wire itself, after the last its input."""
    if number < 0:
        return _wire(scene, wire)
    if number < scene.bend_counts[wire]:
        return Focus(FocusKind.BEND, scene.wire_keys[wire], number)
    return port_focus(scene, int(scene.wire_ports[wire, 1]))


def _target_block(scene: Scene, wire: int) -> int:
    return int(scene.wire_blocks[wire, 1])


def _top_to_bottom(scene: Scene, wires: Indices) -> list[int]:
    """Wires from top to bottom, by their middle."""
    middle = scene.wire_ends[wires][:, [1, 3]].sum(axis=1)
    return [int(wire) for wire in wires[np.argsort(middle, kind="stable")]]


def _wire(scene: Scene, wire: int) -> Focus:
    return Focus(FocusKind.WIRE, scene.wire_keys[wire])


def _centres(scene: Scene) -> Floats:
    """Centres of the blocks, then of the notes (k, 2)."""
    rects = np.concatenate([scene.rects, scene.note_rects()])
    return np.asarray(rects[:, :2] + rects[:, 2:] / 2.0)


def _item(scene: Scene, place: int) -> Focus:
    if place < len(scene.names):
        return Focus(FocusKind.BLOCK, scene.names[place])
    return Focus(FocusKind.NOTE, list(scene.page.notes)[place - len(scene.names)])


def _neighbour(scene: Scene, focus: Focus, by: Direction) -> Focus | None:
    """The nearest block or note in a direction; those straight ahead are preferred."""
    left, top, right, bottom = focus_bounds(scene, focus).tolist()
    here = np.array([(left + right) / 2.0, (top + bottom) / 2.0])
    found = next_point(_centres(scene), here, by)
    return None if found is None else _item(scene, found)


def next_point(points: Floats, here: Floats, by: Direction) -> int | None:
    """Which of ``points`` (k, 2) is next from ``here`` (2,) in a direction; None if none is."""
    apart = points - here
    forward = apart @ np.array(by, float)
    aside = np.abs(apart @ np.array([by[1], by[0]], float))
    cost = np.where(forward > 1.0, forward + 2.0 * aside, np.inf)
    best = int(cost.argmin()) if len(cost) else 0
    return best if len(cost) and np.isfinite(cost[best]) else None
