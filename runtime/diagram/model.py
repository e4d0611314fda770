"""What a diagram is: pages of named blocks joined by wires. Frozen; edits make new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from blocks.block import Block
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput, PageOutput

K = TypeVar("K")
V = TypeVar("V")

MAIN = "main"
"""The page that runs."""

EMPTY: Mapping[str, object] = MappingProxyType({})


class Point(NamedTuple):
    """A position on the canvas in scene units (px at 100 %), y downwards."""

    x: float
    y: float


class PortName(NamedTuple):
    """``block.port``, both in one page: ``mul1.a``, ``sum1.terms.2``."""

    block: str
    port: str

    def __str__(self) -> str:
        return f"{self.block}.{self.port}"

    @classmethod
    def parse(cls, text: str) -> PortName:
        """Split at the first dot (block names have none); raises ValueError without one."""
        block, dot, port = text.partition(".")
        if not (block and dot and port):
            raise ValueError(f"{text!r} is not block.port")
        return cls(block, port)


class Wire(NamedTuple):
    """A wire of one page. The target is its identity: an input is driven by one wire at most."""

    source: PortName
    target: PortName


@dataclass(frozen=True, slots=True)
class Note:
    """A text on the page, at ``at``, ``width`` × ``height`` px; a frame when ``frame``."""

    text: str
    at: Point = Point(0.0, 0.0)
    width: float = 200.0
    height: float = 60.0
    frame: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Blocks by name, wires as target → source, places by block name, notes by id."""

    blocks: Mapping[str, Block] = field(default_factory=dict)
    wires: Mapping[PortName, PortName] = field(default_factory=dict)
    layout: Mapping[str, Point] = field(default_factory=dict)
    notes: Mapping[str, Note] = field(default_factory=dict)

    def wire_list(self) -> Iterator[Wire]:
        """The wires, in order."""
        return (Wire(source, target) for target, source in self.wires.items())


@dataclass(frozen=True, slots=True)
class Diagram:
    """Pages by name, ``main`` among them. Immutable and shared freely between threads."""

    pages: Mapping[str, Page] = field(default_factory=lambda: {MAIN: Page()})
    title: str = ""
    description: str = ""

    @property
    def main(self) -> Page:
        return self.pages[MAIN]

    def with_page(self, name: str, page: Page) -> Diagram:
        """The diagram with one page put in place; all else is shared."""
        return replace(self, pages={**self.pages, name: page})


@dataclass(frozen=True, slots=True)
class Ports:
    """Names of a block's ports as they stand in one diagram, in order.

    ``inputs`` of a repeating port are those in use plus, in ``free``, the next one.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    free: tuple[str, ...] = ()


def ports(diagram: Diagram, page: str, name: str) -> Ports:
    """The ports of block ``name`` of ``page``: from its class, or from the page it stands for."""
    block = diagram.pages[page].blocks[name]
    if isinstance(block, PageBlock):
        inner = diagram.pages.get(block.page, Page())
        return Ports(
            tuple(n for n, b in inner.blocks.items() if isinstance(b, PageInput)),
            tuple(n for n, b in inner.blocks.items() if isinstance(b, PageOutput)),
        )
    inputs: list[str] = []
    free: list[str] = []
    wires = diagram.pages[page].wires
    for port in block.inputs:
        if not port.variadic:
            inputs.append(port.name)
            continue
        count = 0
        while (
            PortName(name, f"{port.name}.{count}") in wires
            or f"{port.name}.{count}" in block.literals
        ):
            count += 1
        inputs += [f"{port.name}.{i}" for i in range(count)]
        free.append(f"{port.name}.{count}")
    return Ports(tuple(inputs), block.outputs, tuple(free))
