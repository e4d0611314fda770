"""Diagrams whose layout is measured: networks, random graphs, a chain, and the shipped examples."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from gradwire.blocks.library.activations import Tanh
from gradwire.blocks.library.linear import Linear
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import Diagram, Note, Page, Point, Style, load
from gradwire.runtime.diagram.files.records import changed_block
from gradwire.runtime.diagram.paths import PortName

ASSETS = Path(__file__).parents[2] / "assets" / "diagrams"

_LINEAR = changed_block(Linear(units=2), dict(Linear(units=2).ownable))
"""A block with own parameters."""
_CELL = Point(300.0, 220.0)
"""Distance of blocks of a page with frames."""


class Maker:
    """One page, block by block; an output is named by its block."""

    def __init__(self) -> None:
        self.page = Page({}, {})

    def source(self, name: str, kind: str = "Variable") -> str:
        """Add a block without inputs."""
        self.page.blocks[name] = registry().get(kind)(value=[[1.0]])
        return name

    def add(self, kind: str, *tails: str, name: str = "") -> str:
        """Add a block that reads ``tails``, in the order of its inputs."""
        cls = registry().get(kind)
        name = name or f"{kind.lower()}{len(self.page.blocks)}"
        self.page.blocks[name] = cls()
        declared = cls.inputs
        if declared[0].variadic:
            names = [f"{declared[0].name}.{i}" for i in range(len(tails))]
        else:
            names = [port.name for port in declared]
        for port, tail in zip(names, tails, strict=False):
            self.page.wires[PortName(name, port)] = PortName(tail, "out")
        return name

    def diagram(self) -> Diagram:
        """The diagram of this page."""
        return Diagram({"main": self.page})


def perceptron(layers: int) -> Diagram:
    """Layers of ``relu(x @ w + b)``, and a loss."""
    made = Maker()
    x = made.source("x", "Constant")
    for i in range(layers):
        x = made.add("Add", made.add("MatMul", x, made.source(f"w{i}")), made.source(f"b{i}"))
        x = made.add("Relu", x) if i < layers - 1 else x
    error = made.add("MeanSquaredError", x, made.source("target", "Constant"))
    made.add("Loss", error, name="loss")
    return made.diagram()


def transformer() -> Diagram:
    """One block with two heads, residual connections and normalisation before each half."""
    made = Maker()

    def normalised(x: str, tag: str) -> str:
        centred = made.add("Sub", x, made.add("Mean", x))
        shifted = made.add("Add", made.add("Variance", x), made.source(f"eps_{tag}", "Constant"))
        scaled = made.add("Div", centred, made.add("Sqrt", shifted))
        scaled = made.add("Mul", scaled, made.source(f"gain_{tag}"))
        return made.add("Add", scaled, made.source(f"shift_{tag}"))

    def head(x: str, tag: int, mask: str, root: str) -> str:
        q, k, v = (made.add("MatMul", x, made.source(f"w{letter}{tag}")) for letter in "qkv")
        scores = made.add("Div", made.add("MatMul", q, made.add("Transpose", k)), root)
        return made.add("MatMul", made.add("Softmax", made.add("Add", scores, mask)), v)

    def linear(x: str, tag: str) -> str:
        return made.add(
            "Add", made.add("MatMul", x, made.source(f"w{tag}")), made.source(f"b{tag}")
        )

    x, mask, root = (made.source(name, "Constant") for name in ("x", "mask", "root_d"))
    first = normalised(x, "1")
    heads = [head(first, tag, mask, root) for tag in range(2)]
    x = made.add("Add", x, made.add("MatMul", made.add("Concat", *heads), made.source("w_out")))
    hidden = made.add("Gelu", linear(normalised(x, "2"), "1"))
    x = made.add("Add", x, linear(hidden, "2"))
    error = made.add("MeanSquaredError", x, made.source("target", "Constant"))
    made.add("Loss", error, name="loss")
    return made.diagram()


def lstm(steps: int) -> Diagram:
    """An unrolled LSTM, whose four gates share weights and biases over all steps."""
    made = Maker()
    weights = {gate: (made.source(f"w_{gate}"), made.source(f"b_{gate}")) for gate in "ifog"}
    h, c = made.source("h0", "Constant"), made.source("c0", "Constant")
    for step in range(steps):
        both = made.add("Concat", made.source(f"x{step}", "Constant"), h)
        i, f, o, g = (
            made.add(kind, made.add("Add", made.add("MatMul", both, w), b))
            for kind, (w, b) in zip(
                ("Sigmoid", "Sigmoid", "Sigmoid", "Tanh"), weights.values(), strict=True
            )
        )
        c = made.add("Add", made.add("Mul", f, c), made.add("Mul", i, g))
        h = made.add("Mul", o, made.add("Tanh", c))
    made.add("Loss", made.add("Mean", h), name="loss")
    return made.diagram()


def side_trees(layers: int) -> Diagram:
    """A perceptron whose weights are computed first, from sources of their own."""
    made = Maker()
    x = made.source("x", "Constant")
    for i in range(layers):
        w = made.add("Mul", made.source(f"w{i}"), made.source(f"scale{i}", "Constant"))
        w = made.add("Transpose", made.add("Tanh", w))
        x = made.add("Relu", made.add("Add", made.add("MatMul", x, w), made.source(f"b{i}")))
    made.add("Loss", made.add("Mean", x), name="loss")
    return made.diagram()


def fan(readers: int) -> Diagram:
    """One variable with many readers, and one block that reads them all."""
    made = Maker()
    w = made.source("w")
    made.add("Loss", made.add("AddN", *[made.add("Tanh", w) for _ in range(readers)]), name="loss")
    return made.diagram()


def chain(count: int) -> Diagram:
    """``tanh(w * x)`` again and again; a third of the blocks are weights."""
    made = Maker()
    x = made.source("x", "Constant")
    for i in range((count - 2) // 3 + 1):
        x = made.add("Tanh", made.add("Mul", made.source(f"w{i}"), x))
    made.add("Loss", x, name="loss")
    return made.diagram()


def random_graph(count: int, seed: int = 0) -> Diagram:
    """Blocks that read one or two earlier ones, most of them among the last 30."""
    chance, made, names = random.Random(seed), Maker(), []
    for i in range(count):
        if i < max(4, count // 25):
            names.append(made.source(f"v{i}"))
            continue
        two = chance.random() < 0.5
        tails = [
            names[chance.randrange(max(0, i - 30) if chance.random() < 0.95 else 0, i)]
            for _ in range(1 + two)
        ]
        names.append(made.add("Mul" if two else "Tanh", *tails, name=f"n{i}"))
    return made.diagram()


def with_cycles(diagram: Diagram, seed: int) -> Diagram:
    """A random graph with some wires replaced so that they may close cycles."""
    chance, wires = random.Random(seed), dict(diagram.main.wires)
    inner = [name for name in diagram.main.blocks if name.startswith("n")]
    for target in chance.sample(list(wires), min(3, len(wires))) if inner else ():
        source = chance.choice(inner)
        if source != target.block:
            wires[target] = PortName(source, "out")
    return Diagram({"main": Page(diagram.main.blocks, wires)})


def fuzzed(seed: int) -> Diagram:
    """A random graph of 5 to 120 blocks; every fourth may have cycles."""
    diagram = random_graph(random.Random(seed).choice((5, 12, 30, 60, 120)), seed)
    return with_cycles(diagram, seed) if seed % 4 == 3 else diagram


def framed(seed: int) -> Diagram:
    """A fuzzed graph with its blocks on a grid, with frames, some of them nested, and notes."""
    diagram, chance = fuzzed(seed), random.Random(seed)
    names = chance.sample(list(diagram.main.blocks), len(diagram.main.blocks))
    columns = chance.randint(2, 9)
    layout = {
        name: Point(_CELL.x * (i % columns), _CELL.y * (i // columns))
        for i, name in enumerate(names)
    }
    notes: dict[str, Note] = {}
    _add_frames(notes, chance, (0, 0, columns, -(-len(names) // columns)), 0)
    for i in range(chance.randint(0, 6)):
        at = Point(*(float(chance.randrange(-300, 2_000)) for _ in "xy"))
        notes[f"note{i}"] = Note("A note.", at, chance.choice((120.0, 376.0)), 60.0)
    page = Page(diagram.main.blocks, diagram.main.wires, layout, notes)
    return Diagram({"main": page})


def varied(seed: int) -> Diagram:
    """A page with frames, some of whose blocks are collapsed or own their parameters."""
    page, chance = framed(seed).main, random.Random(seed)
    blocks = {
        name: _LINEAR if isinstance(block, Tanh) and chance.random() < 0.4 else block
        for name, block in page.blocks.items()
    }
    styles = {name: Style(collapsed=True) for name in blocks if chance.random() < 0.25}
    return Diagram({"main": replace(page, blocks=blocks, styles=styles)})


def _add_frames(
    notes: dict[str, Note], chance: random.Random, cells: tuple[int, int, int, int], depth: int
) -> None:
    """Divide these cells (left, top, right, bottom), and frame some of the parts."""
    left, top, right, bottom = cells
    if depth > 4 or left >= right or top >= bottom:
        return
    if depth and chance.random() < 0.4:
        inset = 8.0 * depth - 60.0
        at = Point(_CELL.x * left + inset, _CELL.y * top + inset)
        width, height = (right - left) * _CELL.x - 90.0, (bottom - top) * _CELL.y - 20.0
        title = "A title that is longer than the frame may be wide. " * chance.choice((0, 1, 3))
        notes[f"frame{len(notes)}"] = Note(
            title, at, width - 16.0 * depth + 90.0, height - 16.0 * depth + 25.0, frame=True
        )
    if right - left > bottom - top:
        middle = chance.randint(left + 1, right)
        halves = (left, top, middle, bottom), (middle, top, right, bottom)
    else:
        middle = chance.randint(top + 1, bottom)
        halves = (left, top, right, middle), (left, middle, right, bottom)
    for half in halves:
        _add_frames(notes, chance, half, depth + 1)


def made_graphs() -> dict[str, Diagram]:
    """The networks and graphs, by name."""
    return {
        "perceptron 3": perceptron(3),
        "perceptron 6": perceptron(6),
        "perceptron 12": perceptron(12),
        "transformer": transformer(),
        "lstm 16": lstm(16),
        "side trees 6": side_trees(6),
        "fan 16": fan(16),
        "chain 300": chain(300),
        "random 100": random_graph(100),
        "random 1000": random_graph(1000),
    }


def example_pages() -> dict[str, tuple[Diagram, str]]:
    """The pages of the shipped examples that have wires, by the name of their file."""
    found = {}
    for path in sorted(ASSETS.glob("*.json")):
        diagram = load(path)
        for page, content in diagram.pages.items():
            if content.wires:
                found[f"{path.name.removesuffix('.gradwire.json')}/{page}"] = diagram, page
    return found
