"""Drawings and edits by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.diagram import (
    AddBlock,
    BendWire,
    Change,
    Connect,
    Diagram,
    Disconnect,
    MoveBlocks,
    Point,
    PortName,
    RemoveBlocks,
    RenameBlock,
    SetParameters,
    Style,
    StyleBlocks,
    ports,
)
from tests.app.canvas.pages import block, diagram

if TYPE_CHECKING:
    from random import Random

KINDS = ("Variable", "Tanh", "Mul", "Add", "AddN", "Histogram", "Loss")


def place(random: Random) -> Point:
    return Point(random.randrange(-20, 60) * 20.0, random.randrange(-10, 20) * 20.0)


def drawn(random: Random, count: int) -> Diagram:
    names = [f"b{i}" for i in range(count)]
    blocks = {name: block(random.choice(KINDS)) for name in names}
    return diagram(blocks, {}, {name: place(random) for name in names})


def edit(random: Random, shown: Diagram, number: int) -> Change:
    page = shown.main
    name, other = (random.choice(list(page.blocks)) for _ in range(2))
    inputs, outputs = ports(shown, "main", name), ports(shown, "main", other).outputs
    target = PortName(name, random.choice([*inputs.inputs, *inputs.free, "none"]))
    if random.random() < 0.5:
        return Connect(PortName(other, random.choice([*outputs, "none"])), target)
    wire = random.choice([*page.wires, target])
    return random.choice([
        AddBlock(f"n{number}", block(random.choice(KINDS)), place(random)),
        RemoveBlocks(tuple({name, other})),
        MoveBlocks({name: place(random), other: place(random)}),
        MoveBlocks({each: Point(at.x + 20, at.y) for each, at in page.layout.items()}),
        StyleBlocks({name: Style(collapsed=random.random() < 0.5)}),
        Disconnect(wire),
        BendWire(wire, (place(random),)[: random.randrange(2)]),
        RenameBlock(name, f"r{number}"),
        SetParameters(name, {"trainable": False}),
    ])  # fmt: skip
