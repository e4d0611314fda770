"""Follows a wire from end to end, into pages and out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput, PageOutput
from runtime.diagram.pages import page_at
from runtime.diagram.paths import InstancePath, PortName, PortPath, WirePath

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.canvas.scene.arrays import Indices
    from app.canvas.scene.geometry import Scene
    from runtime.diagram.model import Diagram, Page

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
        if isinstance(block, PageBlock):
            at, inner = at / where.block, PortName(where.port, "x")
        elif isinstance(block, PageInput) and at:
            at, inner = at.use, PortName(at.name, where.block)
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
    if isinstance(block, PageBlock):
        passed, within = PortName(port.port, "out"), use / port.block
    elif isinstance(block, PageOutput) and use:
        passed, within = PortName(use.name, port.block), use.use
    else:
        yield use.wire_inside(port)
        return
    onward = _page(diagram, within)
    for target, source in onward.wires.items() if onward and depth < _MAX_DEPTH else ():
        if source == passed:
            yield from _readers(diagram, within, target, depth + 1)


def _page(diagram: Diagram, use: InstancePath) -> Page | None:
    return diagram.pages.get(page_at(diagram, use) or "")
