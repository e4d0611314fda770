"""What determines the fields of a block's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.importing.kinds import is_dataset
from gradwire.blocks.library.pages import Scan
from gradwire.blocks.library.views import Field as FieldBlock
from gradwire.runtime.diagram import Diagram, PortName, page_ports, ports
from gradwire.runtime.views import choices

if TYPE_CHECKING:
    from collections.abc import Collection

    from gradwire.blocks.block import Block


def offered(diagram: Diagram, block: Block) -> dict[str, tuple[str, ...]]:
    """The values offered for parameters that name parts of the diagram."""
    if isinstance(block, Scan) and block.page in diagram.pages:
        return {"condition": ("", *page_ports(diagram.pages[block.page]).outputs)}
    return choices(block, diagram) if isinstance(block, FieldBlock) else {}


def idle_parameters(diagram: Diagram, block: Block) -> Collection[str]:
    """Parameters without a field: of a Scan, those that the roles of its inputs stand for."""
    if isinstance(block, Scan) and block.page in diagram.pages:
        return ("carry", "over")
    return block.idle_parameters if is_dataset(block) else ()


def form_shape(diagram: Diagram, page: str, name: str) -> object:
    """What determines the fields of a form; equal for two diagrams if one form fits both."""
    names = ports(diagram, page, name)
    wires = diagram.pages[page].wires
    driven = tuple(wires.get(PortName(name, port)) for port in names.inputs)
    block = diagram.pages[page].blocks[name]
    idle = idle_parameters(diagram, block)
    choices_now = tuple(offered(diagram, block).items())
    return page, name, type(block), names, driven, frozenset(block.owned), idle, choices_now
