"""Classes of blocks that have the same ports in every diagram, asked once for all of their blocks.

Large diagrams have many blocks of few classes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from blocks.block import Block, Opaque
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput

if TYPE_CHECKING:
    from runtime.diagram.model import PageView
    from runtime.diagram.paths import PortName

_METHODS = frozenset({"input_ports", "output_names", "port"})
"""What a class has of its own if the ports of its blocks differ."""


class PlainPorts(NamedTuple):
    """The names of the inputs, of those that must be given, and of the outputs."""

    inputs: tuple[str, ...]
    required: tuple[str, ...]
    outputs: tuple[str, ...]


@cache
def plain_ports(cls: type[Block]) -> PlainPorts | None:
    """The ports that all blocks of a class have, wherever they are; None if they may differ.

    They do if an input repeats, or is an input of a page, which is given from outside.
    """
    above = cls.__mro__.index(Block)
    own = {name for base in cls.__mro__[:above] for name in base.__dict__}
    varied = issubclass(cls, Opaque | PageBlock | PageInput) or not own.isdisjoint(_METHODS)
    if varied or any(port.variadic for port in cls.inputs):
        return None
    required = tuple(port.name for port in cls.inputs if port.required)
    return PlainPorts(tuple(port.name for port in cls.inputs), required, cls.outputs)


def is_complete(page: PageView, name: str, block: Block) -> bool:
    """Whether a block has all that its class requires, and no literal too many, as far as its class
    alone shows.
    """
    plain = plain_ports(type(block))
    if plain is None or block.bypassed or block.owned:
        return False
    literals = block.literals
    wired = [target.port for target in page.ends.inward.get(name, ())]
    return all(port in wired or port in literals for port in plain.required) and all(
        port in plain.inputs for port in literals
    )


def is_joined(page: PageView, source: PortName, target: PortName) -> bool:
    """Whether the ends of a wire exist, as far as the classes of their blocks alone show."""
    start, end = page.blocks.get(source.block), page.blocks.get(target.block)
    if start is None or end is None:
        return False
    before, behind = plain_ports(type(start)), plain_ports(type(end))
    if before is None or behind is None:
        return False
    return source.port in before.outputs and target.port in behind.inputs
