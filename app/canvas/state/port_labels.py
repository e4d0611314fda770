"""Follows a wire from end to end, into pages and out of them; labels of ports and of both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.state.formatting import dimensions, readout
from gradwire.app.services.translation import editor
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.runtime.diagram import InstancePath, PortName, PortPath, WirePath, page_at, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.app.canvas.scene.arrays import Indices
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.annotations import PageResult
    from gradwire.runtime.diagram import Diagram, Page

_MAX_DEPTH = 64


def siblings(scene: Scene, key: str) -> Indices:
    """The other wires from the port that the wire ``key`` comes from."""
    wire = scene.wire_index[key]
    same = scene.wire_ports[:, 0] == scene.wire_ports[wire, 0]
    same[wire] = False
    return np.flatnonzero(same)


def origin(diagram: Diagram, use: InstancePath, port: PortName) -> PortPath | None:
    """Path of the output whose value an output passes on, through pages in and out.

    ``port`` is in the page used at ``use``. None if nothing drives it.
    """
    at, where = use, port
    for _ in range(_MAX_DEPTH):
        page = _page(diagram, at)
        block = None if page is None else page.blocks.get(where.block)
        if page is None or block is None:
            return None
        if isinstance(block, PageBlock) and not isinstance(block, Scan):
            at, inner = at / where.block, PortName(where.port, "x")
        elif isinstance(block, PageInput) and at:
            at, inner = _source_outside(diagram, at, where.block)
        else:
            return at.port_inside(where)
        there = _page(diagram, at)
        source = None if there is None else there.wires.get(inner)
        if source is None:
            return None
        where = source
    return None


def readers(diagram: Diagram, use: InstancePath, port: PortName) -> list[WirePath]:
    """Paths of the inputs that finally receive what arrives at an input."""
    return list(_readers(diagram, use, port, 0))


def _readers(diagram: Diagram, use: InstancePath, port: PortName, depth: int) -> Iterator[WirePath]:
    page = _page(diagram, use)
    block = None if page is None else page.blocks.get(port.block)
    if isinstance(block, PageBlock) and not isinstance(block, Scan):
        ends = [(use / port.block, PortName(port.port, "out"))]
    elif isinstance(block, PageOutput) and use:
        ends = list(_ends_outside(diagram, use, port.block))
    else:
        yield use.wire_inside(port)
        return
    for within, passed in ends if depth < _MAX_DEPTH else ():
        onward = _page(diagram, within)
        for target, source in onward.wires.items() if onward else ():
            if source == passed:
                yield from _readers(diagram, within, target, depth + 1)


def _source_outside(
    diagram: Diagram, use: InstancePath, port: str
) -> tuple[InstancePath, PortName]:
    """Where what arrives at a PageInput comes from: the use and the input that it enters.

    What a Scan carries comes from the step before, all else from outside the Scan.
    """
    whole, scan = _scan_of(diagram, use)
    before = None if scan is None else _neighbour(scan, use, -1)
    if scan is not None and before is not None and port in scan.carry:
        return whole / before, PortName(scan.carry[port], "x")
    return whole.use, PortName(whole.name, port)


def _ends_outside(
    diagram: Diagram, use: InstancePath, port: str
) -> Iterator[tuple[InstancePath, PortName]]:
    """Where what a PageOutput gives out goes: uses, and the outputs that it leaves there."""
    whole, scan = _scan_of(diagram, use)
    yield whole.use, PortName(whole.name, port)
    after = None if scan is None else _neighbour(scan, use, 1)
    if scan is None or after is None:
        return
    for name, output in scan.carry.items():
        if output == port:
            yield whole / after, PortName(name, "out")


def _scan_of(diagram: Diagram, use: InstancePath) -> tuple[InstancePath, Scan | None]:
    """The Scan that the use is a step of, or else the use itself."""
    if page_at(diagram, use.use) is not None:
        return use, None
    found = resolve(diagram, use.use)
    block = None if found is None else found.block(diagram)
    return use.use, block if isinstance(block, Scan) else None


def _neighbour(scan: Scan, step: InstancePath, by: int) -> str | None:
    """The step that runs before or after one."""
    name = str(int(step.name) + (-by if scan.reverse else by))
    return name if scan.has_step(name) else None


def _page(diagram: Diagram, use: InstancePath) -> Page | None:
    return diagram.pages.get(page_at(diagram, use) or "")


MAX_NAMED = 3
"""Largest number of targets that are named; the others are counted."""
_SHORT = {"f": "f", "i": "i", "u": "u"}


def value_type(page: PageResult, block: int, port: str) -> str:
    """``2 × 3 f32`` for an output; empty while its value is unknown.

    Also empty for an array too large to be shown in full, since its face shows the shape.
    """
    value = page.value(page.scene.names[block], port)
    if not isinstance(value, np.ndarray) or readout(value).prose:
        return ""
    dtype = _SHORT.get(value.dtype.kind, "") + str(8 * value.dtype.itemsize)
    dtype = "bool" if value.dtype == bool else dtype
    return f"{dimensions(value.shape)} {dtype}" if value.ndim else dtype


def wire_ends(page: PageResult, key: str) -> tuple[str, str]:
    """The source and the target of a wire, with what lies behind them.

    ``enc.y ← enc/mul1.out · 2 × 3 float32`` and ``dec.x → dec/mul1.a, dec/mul2.b``.
    """
    scene, target = page.scene, PortName.parse(key)
    source, use = scene.page.wires[target], page.use
    behind = origin(scene.diagram, use, source)
    head = str(source)
    if behind is not None and behind != use.port_inside(source):
        head = f"{head} ← {behind}"
    value = page.value(source.block, source.port)
    if isinstance(value, np.ndarray):
        head = f"{head} · {dimensions(value.shape)} {value.dtype}"
    beyond = readers(scene.diagram, use, target)
    if beyond == [use.wire_inside(target)]:
        return head, key
    named = ", ".join(beyond[:MAX_NAMED])
    if len(beyond) > MAX_NAMED:
        more = editor.tr("{0} and {1} more")
        named = more.format(named, len(beyond) - MAX_NAMED)
    return head, f"{key} → {named}" if named else key
