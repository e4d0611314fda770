"""Diagrams of any number of blocks, as files have them and as expressions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.registry import registry
from gradwire.runtime.build import block, build, loss, variable
from gradwire.runtime.diagram import Diagram, Page, PortName

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.formulas.expressions import Expression

ROWS = 25


def mesh(count: int) -> Diagram:
    """Columns of 25 blocks: each block reads one or two of the column before it, the loss all of
    the last one.
    """
    get = registry().get
    columns = max(count // ROWS - 1, 2)
    ends = [f"b{(columns - 1) * ROWS + row}" for row in range(ROWS)]
    blocks: dict[str, Block] = {}
    wires: dict[PortName, PortName] = {}
    for i in range(columns * ROWS):
        column, row = divmod(i, ROWS)
        name = f"b{i}"
        if not column:
            blocks[name] = get("Variable")(value=[[1.0, 2.0]])
            continue
        blocks[name] = get("Mul" if row % 2 else "Tanh")()
        for step, port in enumerate(("a", "b") if row % 2 else ("x",)):
            source = (column - 1) * ROWS + (row + 1 + step) % ROWS
            wires[PortName(name, port)] = PortName(f"b{source}", "out")
    blocks |= {"sum": get("AddN")(), "mean": get("Mean")(), "loss": get("Loss")()}
    wires |= {PortName("sum", f"terms.{i}"): PortName(end, "out") for i, end in enumerate(ends)}
    wires[PortName("mean", "x")] = PortName("sum", "out")
    wires[PortName("loss", "x")] = PortName("mean", "out")
    return Diagram({"main": Page(blocks, wires)})


def chains(count: int) -> Diagram:
    """One variable through chains of four blocks, side by side, into one loss."""
    get, number = registry().get, max((count - 3) // 4, 2)
    blocks: dict[str, Block] = {"w": get("Variable")(value=[0.5, 1.0, 1.5, 2.0])}
    wires: dict[PortName, PortName] = {}
    for i in range(number):
        before = "w"
        for kind, port in (("Mul", "a"), ("Tanh", "x"), ("Square", "x"), ("Sum", "x")):
            name = f"{kind.lower()}{i}"
            given = {"b": 0.5 + i / number} if kind == "Mul" else {}
            blocks[name] = get(kind)(**given)
            wires[PortName(name, port)] = PortName(before, "out")
            before = name
        wires[PortName("sum", f"terms.{i}")] = PortName(before, "out")
    blocks |= {"sum": get("AddN")(), "loss": get("Loss")()}
    wires[PortName("loss", "x")] = PortName("sum", "out")
    return Diagram({"main": Page(blocks, wires)})


def chain(count: int) -> Diagram:
    """One variable through a single chain of blocks into a loss."""
    get, before = registry().get, "w"
    blocks: dict[str, Block] = {"w": get("Variable")(value=[0.5, 1.0])}
    wires: dict[PortName, PortName] = {}
    kinds = [("Tanh", "Neg")[i % 2] for i in range(count - 3)]
    for i, kind in enumerate([*kinds, "Mean", "Loss"]):
        name = f"b{i}"
        blocks[name] = get(kind)()
        wires[PortName(name, "x")] = PortName(before, "out")
        before = name
    return Diagram({"main": Page(blocks, wires)})


DRAWINGS: dict[str, Callable[[int], Diagram]] = {"mesh": mesh, "chains": chains, "chain": chain}


def onnx_chain(count: int, path: Path) -> Path:
    """A file with a chain of so many nodes without names."""
    from onnx import TensorProto, helper, save

    nodes = [
        helper.make_node(("Tanh", "Relu")[i % 2], [f"v{i}"], [f"v{i + 1}"]) for i in range(count)
    ]
    ends = [helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, [2, 3]) for i in (0, count)]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


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
