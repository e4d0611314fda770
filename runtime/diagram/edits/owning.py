"""Changes that move variables into the blocks that they belong to, and out again."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from gradwire.blocks.errors import ChangeError, Location
from gradwire.runtime.diagram.edits.changes import (
    AddBlock,
    Batch,
    Change,
    Connect,
    RemoveBlocks,
    SetParameters,
)
from gradwire.runtime.diagram.edits.draft import no_block
from gradwire.runtime.diagram.model import Point
from gradwire.runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from collections.abc import Collection

    from gradwire.blocks.block import Block, Source
    from gradwire.runtime.diagram.model import Diagram, Page

_BESIDE = Point(-220.0, 90.0)
"""Where a variable goes: this far from its block, and that far below the one before it, px."""


def own_variables(diagram: Diagram, page: str, targets: Collection[PortName]) -> Batch:
    """The change that gives inputs variables of their own.

    A Variable that drives nothing else moves into the block with its numbers; numbers drawn
    without a seed are drawn anew, as they are for a new name. Raises ChangeError.
    """
    here = diagram.pages[page]
    changes: list[Change] = []
    for target in targets:
        block = _block(here, page, target)
        if target.port not in block.ownable:
            raise ChangeError(
                f"{target} can't own a variable.",
                location=Location(page, *target),
                expected=" or ".join(block.ownable) or None,
            )
        if target.port in block.owned and target not in here.wires:
            raise ChangeError(
                f"{target} owns a variable already.", location=Location(page, *target)
            )
        variable = block.ownable[target.port]
        if (source := here.wires.get(target)) is not None:
            variable = _only_for(here, page, source, target)
            changes.append(RemoveBlocks([source.block], page))
        changes.append(SetParameters(target.block, {target.port: variable}, page))
    return Batch("Own Parameter", tuple(changes))


def move_out(
    diagram: Diagram, page: str, targets: Collection[PortName], at: Point | None = None
) -> Batch:
    """The change that puts the own variables of inputs into Variable blocks, wired to them.

    The first has its corner ``at``, by default beside the block, the others are below it.
    Numbers drawn without a seed are drawn anew, as they are for a new name. Raises ChangeError.
    """
    here = diagram.pages[page]
    changes: list[Change] = []
    taken = {*here.blocks}
    for row, target in enumerate(targets):
        block = _block(here, page, target)
        if target.port not in block.owned or target in here.wires:
            raise ChangeError(f"{target} owns no variable.", location=Location(page, *target))
        name = _fresh(f"{target.block}_{target.port}", taken)
        taken.add(name)
        corner = here.layout.get(target.block, Point(0.0, 0.0))
        first = at or Point(corner.x + _BESIDE.x, corner.y)
        place = Point(first.x, first.y + row * _BESIDE.y)
        changes += [
            AddBlock(name, block.owned[target.port], place, page),
            SetParameters(target.block, {target.port: None}, page),
            Connect(PortName(name, "out"), target, page),
        ]
    return Batch("Move Out to Variable", tuple(changes))


def ownable_inputs(page: Page, name: str) -> list[PortName]:
    """The inputs of a block that ``own_variables`` takes: unwired, or wired to their Variable."""
    block = page.blocks[name]
    found = []
    for port in block.ownable:
        target = PortName(name, port)
        source = page.wires.get(target)
        alone = source is not None and _is_only_for(page, source, type(block.ownable[port]))
        if alone or (source is None and not block.is_given(port)):
            found.append(target)
    return found


def owned_inputs(page: Page, name: str) -> list[PortName]:
    """The inputs of a block that its own variables drive."""
    targets = (PortName(name, port) for port in page.blocks[name].owned)
    return [target for target in targets if target not in page.wires]


def _block(here: Page, page: str, target: PortName) -> Block:
    if target.block not in here.blocks:
        raise no_block(target.block, here.blocks, Location(page, target.block))
    return here.blocks[target.block]


def _only_for(here: Page, page: str, source: PortName, target: PortName) -> Source:
    """The Variable that drives an input and nothing else; raises ChangeError for others."""
    block = here.blocks[target.block]
    kind = type(block.ownable[target.port])
    found = here.blocks.get(source.block)
    if not isinstance(found, kind) or not _is_only_for(here, source, kind):
        raise ChangeError(
            f"{target} is wired to {source}, which can't move into the block.",
            location=Location(page, *target),
            expected=f"a {kind.type_name()} that drives nothing else",
            next_step="Remove the wire.",
        )
    return found


def _is_only_for(page: Page, source: PortName, kind: type[Source]) -> bool:
    return (
        isinstance(page.blocks.get(source.block), kind)
        and len(page.ends.outward.get(source.block, ())) == 1
    )


def _fresh(base: str, taken: Collection[str]) -> str:
    names = (base if number == 1 else f"{base}{number}" for number in count(1))
    return next(name for name in names if name not in taken)
