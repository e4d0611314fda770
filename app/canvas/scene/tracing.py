"""Follows a wire from end to end, into pages and out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput, PageOutput
from runtime.diagram.model import MAIN, Diagram
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.canvas.scene.arrays import Indices
    from app.canvas.scene.geometry import Scene
    from runtime.diagram.model import Page

_MAX_DEPTH = 64


def siblings(scene: Scene, key: str) -> Indices:
    """The other wires from the port that the wire ``key`` comes from."""
    wire = scene.wire_index[key]
    same = scene.wire_ports[:, 0] == scene.wire_ports[wire, 0]
    same[wire] = False
    return np.flatnonzero(same)


def origin(diagram: Diagram, trail: Sequence[str], port: PortName) -> str | None:
    """Path of the output whose value an output passes on, through pages in and out.

    ``trail`` names the page blocks that were entered. None where nothing drives it.
    """
    at, where = tuple(trail), port
    for _ in range(_MAX_DEPTH):
        page = _page(diagram, at)
        block = None if page is None else page.blocks.get(where.block)
        if page is None or block is None:
            return None
        if isinstance(block, PageBlock):
            at, inner = (*at, where.block), PortName(where.port, "x")
        elif isinstance(block, PageInput) and at:
            at, inner = at[:-1], PortName(at[-1], where.block)
        else:
            return "/".join((*at, str(where)))
        there = _page(diagram, at)
        source = None if there is None else there.wires.get(inner)
        if source is None:
            return None
        where = source
    return None


def readers(diagram: Diagram, trail: Sequence[str], port: PortName) -> list[str]:
    """Paths of the inputs that finally receive what arrives at an input."""
    return list(_readers(diagram, tuple(trail), port, 0))


def _readers(diagram: Diagram, trail: tuple[str, ...], port: PortName, depth: int) -> Iterator[str]:
    page = _page(diagram, trail)
    block = None if page is None else page.blocks.get(port.block)
    if isinstance(block, PageBlock):
        passed, within = PortName(port.port, "out"), (*trail, port.block)
    elif isinstance(block, PageOutput) and trail:
        passed, within = PortName(trail[-1], port.block), trail[:-1]
    else:
        yield "/".join((*trail, str(port)))
        return
    onward = _page(diagram, within)
    for target, source in onward.wires.items() if onward and depth < _MAX_DEPTH else ():
        if source == passed:
            yield from _readers(diagram, within, target, depth + 1)


def _page(diagram: Diagram, trail: Sequence[str]) -> Page | None:
    page = diagram.pages.get(MAIN)
    for name in trail:
        block = None if page is None else page.blocks.get(name)
        if not isinstance(block, PageBlock):
            return None
        page = diagram.pages.get(block.page)
    return page
