"""Adds a formula to a page: the change, with shapes for the names that it leaves open."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import BuildError
from gradwire.blocks.formulas.expressions import Expression
from gradwire.blocks.formulas.nodes import FormulaNode, reached
from gradwire.blocks.formulas.page_calls import PageUse
from gradwire.blocks.formulas.reading import read
from gradwire.blocks.library.sources import Input, Variable
from gradwire.runtime.build import names_of
from gradwire.runtime.diagram.checks.dependencies import Dependencies
from gradwire.runtime.diagram.edits.changes import AddBlock, Arrange, Batch, Connect
from gradwire.runtime.diagram.layout.graph import ShownSizes
from gradwire.runtime.diagram.model import MAIN, Diagram, Page, Point, page_ports, ports
from gradwire.runtime.diagram.paths import InstancePath, PortName
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.formulas.shapes import with_shapes
from gradwire.runtime.formulas.writing import identifier_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.edits.changes import Change

_VARIABLE_LINES = 4
"""Lines of numbers that are expected on the face of a variable."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Addition:
    """The change that adds a formula, and the names of its blocks."""

    change: Batch
    blocks: tuple[str, ...]


def add_formula(
    diagram: Diagram, text: str, at: Point = Point(0.0, 0.0), page: str = MAIN
) -> Addition:
    """The change that adds the blocks of a formula to a page, the first with its corner ``at``.

    Names of blocks on the page mean those. A name of nothing becomes a Variable, or data: an Input
    with a value; shapes are inferred where possible. Raises FormulaError with the place in the
    text, BuildError if nothing would be added.
    """
    here = diagram.pages[page]
    words = {word for word in _WORD.findall(text) if word in here.blocks}
    known = {name: _output(diagram, page, name) for name in words}
    formula = read(
        text,
        {name: made for name, made in known.items() if made is not None},
        _pages(diagram, page),
    )
    present = {made.node for made in known.values() if made is not None}
    nodes = [node for node in reached([e.node for e in formula.results]) if node not in present]
    if not nodes:
        raise BuildError(
            "The formula adds no block.", expected="an operation, such as loss = mean(x ** 2)"
        )
    names = names_of(page, nodes, here.blocks)
    names |= {node: str(node.name) for node in present}
    blocks = {names[node]: node.block for node in nodes}
    wires = {
        PortName(names[node], port): PortName(names[value.node], value.port)
        for node in nodes
        for port, value in node.inputs.items()
    }
    blocks |= with_shapes(_alone(diagram, page, blocks, wires), formula)
    return Addition(_change(page, blocks, wires, at), tuple(blocks))


def _alone(
    diagram: Diagram, page: str, blocks: Mapping[str, Block], wires: Mapping[PortName, PortName]
) -> Diagram:
    """The new blocks as a diagram of their own: sources of equal shape replace what they read."""
    outside = {source for source in wires.values() if source.block not in blocks}
    known = lower(diagram).ports if outside and page == MAIN else {}
    sources: dict[PortName, PortName] = {}
    stubs: dict[str, Block] = {}
    for number, source in enumerate(sorted(outside)):
        value = known.get(InstancePath(source.block).port(source.port))
        name = f"outside {number}"
        stubs[name] = Input() if value is None else Input(shape=value.shape, dtype=value.dtype)
        sources[source] = PortName(name, "out")
    joined = {target: sources.get(source, source) for target, source in wires.items()}
    return Diagram({**diagram.pages, MAIN: Page({**stubs, **blocks}, joined)})


def _pages(diagram: Diagram, page: str) -> dict[str, PageUse]:
    """The pages of a diagram that a formula on ``page`` may call, by name and by identifier."""
    around = {MAIN, page, *Dependencies(diagram).users(page)}
    found: dict[str, PageUse] = {}
    for name, content in diagram.pages.items():
        refusal = "" if name not in around else f"Page {name!r} can't be used on this page."
        sides = page_ports(content)
        found[name] = PageUse(name, sides.inputs, sides.outputs, refusal)
        found.setdefault(identifier_of(name), found[name])
    return found


def _output(diagram: Diagram, page: str, name: str) -> Expression | None:
    """An expression for a block that exists; None if it has no output."""
    made, outputs = diagram.pages[page].blocks[name], ports(diagram, page, name).outputs
    node = FormulaNode(made, (), (), (), tuple(outputs), type(made).type_name(), name, None, "")
    return Expression(node, node.outputs[0]) if outputs else None


def _change(
    page: str, blocks: Mapping[str, Block], wires: Mapping[PortName, PortName], at: Point
) -> Batch:
    changes: list[Change] = [AddBlock(name, block, at, page) for name, block in blocks.items()]
    changes += [Connect(source, target, page) for target, source in wires.items()]
    variables = [name for name, block in blocks.items() if isinstance(block, Variable)]
    changes.append(
        Arrange(page, tuple(blocks), ShownSizes(dict.fromkeys(variables, _VARIABLE_LINES)))
    )
    return Batch("Add formula", tuple(changes))
