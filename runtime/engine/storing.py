"""Stores the current values of variables in the diagram that they belong to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import RunError
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.names import fresh_names
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram.pages import resolve
from gradwire.runtime.diagram.paths import InstancePath

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.model import Diagram
    from gradwire.runtime.diagram.pages import Address
    from gradwire.runtime.engine.program import Program


def with_values(
    diagram: Diagram,
    program: Program,
    assigned: Collection[str],
    values: Mapping[str, Array],
) -> Diagram:
    """The diagram with the current values of those variables that were assigned, by path.

    A page stores one value for all its uses: an independent use with another one gets copies of its
    page and of all pages inside.
    """
    paths = [
        InstancePath(path)
        for path in dict.fromkeys((*assigned, *values))
        if isinstance(program.instances[InstancePath(path)].block, Variable)
    ]
    while True:
        chosen: dict[Address, InstancePath] = {}
        rival = _first_rival(diagram, paths, assigned, values, chosen)
        if rival is None:
            break
        diagram = _apart(diagram, *rival)
    for address, path in chosen.items():
        content = diagram.pages[address.page]
        variable = address.block(diagram).with_parameters(value=Tensor(values[path]))
        blocks = {**content.blocks, address.name: address.replaced(diagram, variable)}
        diagram = diagram.with_page(address.page, replace(content, blocks=blocks))
    return diagram


def _first_rival(
    diagram: Diagram,
    paths: Collection[InstancePath],
    assigned: Collection[str],
    values: Mapping[str, Array],
    chosen: dict[Address, InstancePath],
) -> tuple[InstancePath, InstancePath] | None:
    """Fill ``chosen`` with a path for each variable that is stored, until two paths of one have
    different values; return these.
    """
    for path in paths:
        address = resolve(diagram, path)
        if address is None or (path not in assigned and address not in chosen):
            continue
        first = chosen.setdefault(address, path)
        if not np.array_equal(values[first], values[path], equal_nan=True):
            return first, path
    return None


def _apart(diagram: Diagram, one: InstancePath, other: InstancePath) -> Diagram:
    """The diagram with copies of pages for an independent use that contains one of the paths."""
    for path, rival in ((other, one), (one, other)):
        passed = [resolve(diagram, use) for use in _uses(rival)]  # copies there keep both together
        for use in _uses(path):
            if resolve(diagram, use) not in passed and _is_independent(diagram, use):
                return _with_own_pages(diagram, use)
    raise RunError(
        f"{one} and {other} have different values, but the page can store only one.",
        next_step="Give one of the uses a page of its own.",
    )


def _uses(path: InstancePath) -> list[InstancePath]:
    """The uses of pages that contain a variable, from the outside in."""
    return [InstancePath.of(*path.names[:depth]) for depth in range(1, len(path.names))]


def _is_independent(diagram: Diagram, use: InstancePath) -> bool:
    address = resolve(diagram, use)
    block = None if address is None else address.block(diagram)
    return isinstance(block, PageBlock) and block.independent


def _with_own_pages(diagram: Diagram, use: InstancePath) -> Diagram:
    """Give a use copies of its page and of all pages inside, which it alone uses."""
    address = resolve(diagram, use)
    assert address is not None
    block = diagram.pages[address.page].blocks[address.name]
    assert isinstance(block, PageBlock)
    copies: dict[str, str] = {}
    waiting = [block.page]
    while waiting:
        page = waiting.pop()
        if page in copies or page not in diagram.pages:
            continue
        taken = {*diagram.pages, *copies.values()}
        copies[page] = next(fresh_names(page.rstrip("0123456789_ ") or page, taken))
        inner = diagram.pages[page].blocks.values()
        waiting += [each.page for each in inner if isinstance(each, PageBlock)]
    for page, copy in copies.items():
        content = diagram.pages[page]
        blocks = {
            name: each.with_parameters(page=copies.get(each.page, each.page))
            if isinstance(each, PageBlock)
            else each
            for name, each in content.blocks.items()
        }
        diagram = diagram.with_page(copy, replace(content, blocks=blocks))
    outer = diagram.pages[address.page]
    used = block.with_parameters(page=copies[block.page])
    return diagram.with_page(
        address.page, replace(outer, blocks={**outer.blocks, address.name: used})
    )
