"""Diagrams of any number of blocks, as files have them and as expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradwire.blocks.registry import registry
from gradwire.runtime.build import block, build, loss, variable
from gradwire.runtime.diagram import Diagram, Page, Point, PortName

if TYPE_CHECKING:
    from gradwire.blocks.formulas.expressions import Expression

ROWS = 25


def mesh(count: int) -> Diagram:
    """Columns of 25 blocks: each block reads one or two of the column before it, the loss all of
    the last one.
    """
    get = registry().get
    columns = max(count // ROWS - 1, 2)
    ends = [f"b{(columns - 1) * ROWS + row}" for row in range(ROWS)]
    blocks, wires, layout = {}, {}, {}
    for i in range(columns * ROWS):
        column, row = divmod(i, ROWS)
        name = f"b{i}"
        layout[name] = Point(column * 240.0, row * 110.0)
        if not column:
            blocks[name] = get("Variable")(value=[[1.0, 2.0]])
            continue
        blocks[name] = get("Mul" if row % 2 else "Tanh")()
        for step, port in enumerate(("a", "b") if row % 2 else ("x",)):
            source = (column - 1) * ROWS + (row + 1 + step) % ROWS
            wires[PortName(name, port)] = PortName(f"b{source}", "out")
    after = layout[ends[-1]].x + 240.0
    for place, (name, kind) in enumerate((("sum", "AddN"), ("mean", "Mean"), ("loss", "Loss"))):
        blocks[name], layout[name] = get(kind)(), Point(after + place * 240.0, 0.0)
    wires |= {PortName("sum", f"terms.{i}"): PortName(end, "out") for i, end in enumerate(ends)}
    wires[PortName("mean", "x")] = PortName("sum", "out")
    wires[PortName("loss", "x")] = PortName("mean", "out")
    return Diagram({"main": Page(blocks, wires, layout)})


def chains(count: int) -> Diagram:
    """One variable through chains of four blocks, side by side, into one loss."""
    get, number = registry().get, max((count - 3) // 4, 2)
    blocks = {"w": get("Variable")(value=[0.5, 1.0, 1.5, 2.0])}
    wires, layout = {}, {"w": Point(0.0, 0.0)}
    for i in range(number):
        before = "w"
        for place, (kind, port) in enumerate(
            (("Mul", "a"), ("Tanh", "x"), ("Square", "x"), ("Sum", "x"))
        ):
            name = f"{kind.lower()}{i}"
            given = {"b": 0.5 + i / number} if kind == "Mul" else {}
            blocks[name], layout[name] = get(kind)(**given), Point(240.0 * place, 110.0 * i)
            wires[PortName(name, port)] = PortName(before, "out")
            before = name
        wires[PortName("sum", f"terms.{i}")] = PortName(before, "out")
    for place, (name, kind) in enumerate((("sum", "AddN"), ("loss", "Loss"))):
        blocks[name], layout[name] = get(kind)(), Point(240.0 * (4 + place), 0.0)
    wires[PortName("loss", "x")] = PortName("sum", "out")
    return Diagram({"main": Page(blocks, wires, layout)})


DRAWINGS: dict[str, Callable[[int], Diagram]] = {"mesh": mesh, "chains": chains}


def built(count: int) -> Diagram:
    """What ``mesh`` draws, from expressions."""
    column: list[Expression] = [variable(f"w{row}", [[1.0, 2.0]]) for row in range(ROWS)]
    for _ in range(max(count // ROWS - 1, 2) - 1):
        column = [
            block("Mul", column[(row + 1) % ROWS], column[(row + 2) % ROWS])
            if row % 2
            else block("Tanh", column[(row + 1) % ROWS])
            for row in range(ROWS)
        ]
    return build(loss(block("Mean", block("AddN", *column))))
