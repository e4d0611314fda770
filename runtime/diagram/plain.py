"""Classes of blocks that have the same ports in every diagram, asked once for all of their blocks.

Large diagrams have many blocks of few classes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from gradwire.blocks.block import Block, Opaque
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput
from gradwire.runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.runtime.diagram.model import PageView

B = TypeVar("B", bound=Block)
_class_of = cast("Callable[[Block], type[Block]]", type)
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


class PageSurvey(NamedTuple):
    """What the classes of a page's blocks alone leave open."""

    blocks: list[str]
    """The blocks that may lack an input, or have a literal too many."""
    wires: list[PortName]
    """The targets of the wires whose ends may not exist."""
    in_order: bool
    """Whether each block comes after those that it reads, as in most files."""


def survey(page: PageView) -> PageSurvey:
    """What is to be looked at more closely; with every name looked up once for each of its wires.

    In a large diagram, a look-up takes longer than what is done with the block.
    """
    kinds = {cls: plain_ports(cls) for cls in classes_of(page)}
    plain = [kinds[type(block)] for block in page.blocks.values()]
    places = dict(zip(page.blocks, range(len(plain)), strict=True))
    lacking = [0 if kind is None else len(kind.required) for kind in plain]
    loose: list[PortName] = []
    in_order, name, end, behind = True, None, -1, None
    for target, source in page.wires.items():
        if target.block is not name:  # wires into a block mostly follow one another
            name = target.block
            end = places.get(name, -1)
            behind = plain[end] if end >= 0 else None
        start = places.get(source.block, -1)
        if start >= end:
            in_order = False
        before = plain[start] if start >= 0 else None
        if before is None or behind is None or source.port not in before.outputs:
            loose.append(target)
        elif target.port in behind.required:
            lacking[end] -= 1
        elif target.port not in behind.inputs:
            loose.append(target)
    unclear = [
        name
        for (name, block), kind, missing in zip(page.blocks.items(), plain, lacking, strict=True)
        if kind is None or not _is_complete(page, name, block, kind, missing)
    ]
    return PageSurvey(unclear, loose, in_order)


def _is_complete(page: PageView, name: str, block: Block, kind: PlainPorts, lacking: int) -> bool:
    """Whether a block has all that its class requires, and no literal too many."""
    if block.bypassed or block.owned:
        return False
    if not (literals := block.literals):
        return not lacking
    wires = page.wires
    return all(port in kind.inputs for port in literals) and all(
        port in literals or PortName(name, port) in wires for port in kind.required
    )


def classes_of(page: PageView) -> set[type[Block]]:
    """The classes of the blocks of a page."""
    return set(map(_class_of, page.blocks.values()))


def blocks_of(page: PageView, *classes: type[B]) -> dict[str, B]:
    """The blocks of these classes, by name; without looking at each where there are none."""
    wanted = {cls for cls in classes_of(page) if issubclass(cls, classes)}
    if not wanted:
        return {}
    found = {name: block for name, block in page.blocks.items() if type(block) in wanted}
    return cast("dict[str, B]", found)
