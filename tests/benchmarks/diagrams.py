"""Large diagrams with made-up results, for benchmarks of the canvas."""

from __future__ import annotations

import tempfile
from functools import cached_property
from pathlib import Path

import numpy as np

from gradwire.app.evaluation.evaluator import EvaluationResult
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import Diagram, Page, Point, PortName, save
from gradwire.runtime.flow import State

ROWS = 25


def diagram_of(count: int) -> Diagram:
    """Columns of 25 blocks, each of which reads one or two blocks of the column before, with a loss
    of the last one.
    """
    get, last = registry().get, f"b{count - 3}"
    variable, one, two = get("Variable")(value=[[1.0, 2.0]]), get("Tanh")(), get("Mul")()
    blocks, wires, layout = {}, {}, {}
    for i in range(count - 2):
        column, row = divmod(i, ROWS)
        name = f"b{i}"
        layout[name] = Point(column * 240.0, row * 110.0)
        blocks[name] = variable if column == 0 else (one, two)[row % 2]
        if column:
            ports = ("x",) if row % 2 == 0 else ("a", "b")
            for step, port in enumerate(ports):
                source = (column - 1) * ROWS + (row + step * 2) % ROWS
                wires[PortName(name, port)] = PortName(f"b{source}", "out")
    end = layout[last]
    blocks |= {"mean": get("Mean")(), "loss": get("Loss")()}
    wires |= {PortName("mean", "x"): PortName(last, "out")}
    wires |= {PortName("loss", "x"): PortName("mean", "out")}
    layout |= {"mean": Point(end.x + 240.0, end.y), "loss": Point(end.x + 480.0, end.y)}
    return Diagram({"main": Page(blocks, wires, layout)})


def result_of(diagram: Diagram, shift: int = 0) -> EvaluationResult:
    """Small matrices everywhere, and the states by turns."""
    rng = np.random.default_rng(0)
    page, states = diagram.main, [State.CARRIES] * 8 + [State.STOPPED, State.NOTHING_TO_TRAIN]
    keys = [str(target) for target in page.wires]
    return EvaluationResult(
        diagram,
        {f"{name}.out": rng.normal(size=(1, 2)).astype(np.float32) for name in page.blocks},
        {name: rng.normal(size=(1, 2)).astype(np.float32) for name in list(page.blocks)[:ROWS]},
        {key: states[(i + shift) % len(states)] for i, key in enumerate(keys)},
        {key: float(10.0 ** rng.uniform(-4, 2)) for key in keys},
    )


class Drawing:
    """A diagram in a file, and as lists for editors that know no diagrams."""

    def __init__(self, count: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.diagram = diagram_of(count)
        self.path = Path(self._folder.name) / "drawing.gradwire.json"
        save(self.diagram, self.path)

    @cached_property
    def places(self) -> dict[str, Point]:
        """Top left corners by block."""
        return dict(self.diagram.main.layout)

    @cached_property
    def wires(self) -> list[tuple[str, int, str]]:
        """Source block, number of the input, target block of each wire."""
        return [
            (source.block, int(target.port == "b"), target.block)
            for target, source in self.diagram.main.wires.items()
        ]

    @cached_property
    def colours(self) -> list[list[int]]:
        """A number of a state by wire, for each of two results."""
        return [[(i + shift) % 10 for i in range(len(self.wires))] for shift in (0, 1)]
