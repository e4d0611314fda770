"""Random diagrams of real blocks, and what they become when one thing about them is changed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradwire.blocks import Block
from gradwire.blocks.library.gradient import Gradient, StopGradient, StraightThrough
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.sources import Constant, Input, Variable
from gradwire.blocks.library.views import Display
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.paths import PortName

Array = np.ndarray[Any, Any]

VECTOR, SCALAR = "float (3)", "float ()"
MASK, INDEX, PLACES, WHOLE = "bool (3)", "0 to 2 ()", "0 to 2 (3)", "integer (3)"
FLOAT = (VECTOR, SCALAR)
ANY = (VECTOR, SCALAR, MASK, INDEX, PLACES)


@dataclass(frozen=True)
class Recipe:
    """A block, what each of its inputs takes, and what it makes (by default, as its inputs)."""

    make: Callable[..., Block]
    takes: Mapping[str, tuple[str, ...]]
    makes: str | None = None


def _recipes() -> Iterator[Recipe]:
    def block(name: str, takes: Any, makes: str | None = None, **parameters: Any) -> Recipe:
        cls = registry().get(name)
        return Recipe(lambda **literals: cls(**parameters, **literals), takes, makes)

    for name in ("Tanh", "Relu", "Sin", "Square", "Abs", "Round", "GradientReversal"):
        yield block(name, {"x": FLOAT})
    for name in ("Add", "Mul", "Sub", "Maximum"):
        yield block(name, {"a": FLOAT, "b": FLOAT})
        yield block(name, {"a": FLOAT, "b": FLOAT})
    yield block("AddN", {"terms.0": FLOAT, "terms.1": FLOAT, "terms.2": FLOAT})
    for name in ("Softmax", "LogSoftmax", "Sort"):
        yield block(name, {"x": (VECTOR,)})
    for name in ("Sum", "Mean", "Max", "LogSumExp", "Norm"):
        yield block(name, {"x": (VECTOR,)}, SCALAR)
    for _ in range(4):
        yield block("StopGradient", {"x": FLOAT})
    yield block("StopGradient", {"x": ANY})
    yield block("Display", {"x": ANY})
    yield block("StraightThrough", {"hard": (VECTOR, MASK), "soft": (VECTOR,)}, VECTOR)
    yield block("StraightThrough", {"hard": (VECTOR, MASK), "soft": (VECTOR,)}, VECTOR)
    yield block("GradientScale", {"x": FLOAT}, scale=0.5)
    yield block("Greater", {"a": (VECTOR,), "b": FLOAT}, MASK)
    yield block("IsFinite", {"x": (VECTOR,)}, MASK)
    yield block("And", {"a": (MASK,), "b": (MASK,)}, MASK)
    yield block("Not", {"x": (MASK,)}, MASK)
    yield block("Where", {"condition": (MASK,), "a": FLOAT, "b": FLOAT}, VECTOR)
    yield block("Where", {"condition": (MASK,), "a": FLOAT, "b": FLOAT}, VECTOR)
    yield block("ArgMax", {"x": (VECTOR,)}, INDEX)
    yield block("Gather", {"x": (VECTOR,), "indices": (INDEX,)}, SCALAR)
    yield block("Gather", {"x": (VECTOR,), "indices": (PLACES,)}, VECTOR)
    yield block("PickAlong", {"x": (VECTOR,), "indices": (INDEX,)}, SCALAR)
    yield block("OneHot", {"indices": (INDEX,)}, VECTOR, depth=3, dtype="float64")
    yield block("Cast", {"x": (MASK, PLACES, VECTOR)}, VECTOR, dtype="float64")
    yield block("Cast", {"x": (VECTOR,)}, VECTOR, dtype="float32")
    yield block("Cast", {"x": (VECTOR,)}, WHOLE, dtype="int64")
    yield block("Clip", {"x": (WHOLE,)}, PLACES, min=0, max=2)
    yield block("MeanSquaredError", {"prediction": (VECTOR,), "target": (VECTOR,)}, SCALAR)
    yield block("CrossEntropy", {"logits": (VECTOR,), "labels": (INDEX, VECTOR)}, SCALAR)


RECIPES = tuple(_recipes())
DIFFERENTIATE = Recipe(Gradient, {"of": FLOAT, "wrt": FLOAT})


@dataclass
class Sketch:
    """A page in the making, and its ports by what they are."""

    rng: random.Random
    blocks: dict[str, Block] = field(default_factory=dict)
    wires: dict[PortName, PortName] = field(default_factory=dict)
    pool: dict[str, list[PortName]] = field(default_factory=dict)

    def add(self, name: str, block: Block, *kinds: str, outputs: tuple[str, ...] = ("out",)) -> str:
        self.blocks[name] = block
        for output, kind in zip(outputs, kinds, strict=True):
            self.pool.setdefault(kind, []).append(PortName(name, output))
        return name

    def pick(self, kinds: tuple[str, ...]) -> tuple[str, PortName] | None:
        """A port of one of the kinds, rather a late one."""
        kinds = tuple(kind for kind in kinds if self.pool.get(kind))
        if not kinds:
            return None
        kind = self.rng.choice(kinds)
        ports = self.pool[kind]
        return kind, ports[max(self.rng.randrange(len(ports)) for _ in range(2))]

    def sources(self) -> None:
        """Variables of all sorts and some data; at least one vector."""
        vector = np.random.default_rng(self.rng.randrange(2**16)).normal(size=(9, 3))
        self.add("w0", Variable(value=vector[0], dtype="float64"), VECTOR)
        for i in range(self.rng.randint(1, 5)):
            given = vector[i + 1]
            name, sort = f"v{i}", self.rng.randrange(8)
            if sort < 3:
                trainable = sort < 2
                self.add(name, Variable(value=given, dtype="float64", trainable=trainable), VECTOR)
            elif sort == 3:
                self.add(name, Variable(value=given[0], dtype="float64", trainable=False), SCALAR)
            elif sort == 4:
                self.add(name, Variable(value=[2, 0, 1], dtype="int64"), PLACES)
            elif sort == 5:
                self.add(name, Constant(value=given, dtype="float64"), VECTOR)
            elif sort == 6:
                self.add(name, Constant(value=[True, False, True]), MASK)
            else:
                self.add(name, Input(value=given[0], dtype="float64"), SCALAR)

    def operation(self, name: str, recipe: Recipe) -> None:
        """One block, wired; an input of a float is now and then a literal."""
        literals: dict[str, float] = {}
        wired: dict[str, tuple[str, PortName]] = {}
        for port, kinds in recipe.takes.items():
            found = self.pick(kinds)
            if found is None:
                return
            may_be_literal = kinds is FLOAT and wired and recipe is not DIFFERENTIATE
            if may_be_literal and self.rng.random() < 0.2:
                literals[port] = 0.5
            else:
                wired[port] = found
        taken = [kind for kind, _ in wired.values()]
        made = recipe.makes or (VECTOR if VECTOR in taken else taken[-1])
        if recipe is DIFFERENTIATE:
            made = wired["wrt"][0]
        self.add(name, recipe.make(**literals), made)
        for port, (_, source) in wired.items():
            self.wires[PortName(name, port)] = source

    def operations(self, count: int, prefix: str, gradients: bool) -> None:
        for i in range(count):
            special = gradients and self.rng.random() < 0.2
            recipe = DIFFERENTIATE if special else self.rng.choice(RECIPES)
            self.operation(f"{prefix}{i}", recipe)

    def loss(self, name: str) -> None:
        found = self.pick(FLOAT)
        assert found is not None  # there is a vector from the beginning
        self.wires[PortName(self.add(name, Loss(), found[0]), "x")] = found[1]

    def use(self, name: str, page: str, outputs: tuple[str, ...]) -> None:
        """A page as a block: inputs ``p`` and ``q``, vectors out."""
        vector, scalar = self.pick((VECTOR,)), self.pick((SCALAR,))
        assert vector is not None  # there is one from the beginning
        self.wires[PortName(name, "p")] = vector[1]
        wired = scalar is not None and self.rng.random() < 0.8
        if wired and scalar is not None:
            self.wires[PortName(name, "q")] = scalar[1]
        block = PageBlock(page=page, **({} if wired else {"q": 0.25}))
        self.add(name, block, *[VECTOR] * len(outputs), outputs=outputs)

    def page(self) -> Page:
        return Page(self.blocks, self.wires)


def _subpage(rng: random.Random, below: str | None, gradients: bool) -> Page:
    """A page of inputs p, q and outputs y, z."""
    sketch = Sketch(rng)
    sketch.add("p", PageInput(), VECTOR)
    sketch.add("q", PageInput(), SCALAR)
    if rng.random() < 0.7:
        trainable = rng.random() < 0.7
        sketch.add("w", Variable(value=[0.3, -0.2, 0.1], dtype="float64", trainable=trainable),
                   VECTOR)  # fmt: skip
    sketch.operations(rng.randint(1, 4), "s", gradients)
    if below is not None:
        sketch.use("inner", below, ("y", "z"))
    for output in ("y", "z"):
        found = sketch.pick((VECTOR,))
        assert found is not None  # p is one
        sketch.blocks[output] = PageOutput()
        sketch.wires[PortName(output, "x")] = found[1]
    if rng.random() < 0.1:
        sketch.loss("aside")
    return sketch.page()


def specimen(seed: int, gradients: bool = False) -> Diagram:
    """A random diagram that traces and runs: one to three losses, and pages now and then."""
    rng = random.Random(seed)
    pages: dict[str, Page] = {}
    for depth in range(rng.choice((0, 0, 1, 2))):
        below = f"page{depth - 1}" if depth else None
        pages[f"page{depth}"] = _subpage(rng, below, gradients)
    main = Sketch(rng)
    main.sources()
    main.operations(rng.randint(1, 6), "a", gradients)
    for i, name in enumerate([*pages, *pages][: rng.randint(0, 3)]):
        main.use(f"use{i}", name, ("y", "z"))
    main.operations(rng.randint(1, 7), "b", gradients)
    for i in range(rng.choice((1, 1, 2, 3))):
        main.loss(f"loss{i}")
        main.operations(rng.choice((0, 0, 1)), f"c{i}", gradients)
    return Diagram({MAIN: main.page(), **pages})


# ---- the same diagram with one thing changed ----------------------------------------------


def changed(diagram: Diagram, change: Callable[[Block], Block]) -> Diagram:
    """Every block of every page changed; the diagram itself where nothing was."""
    pages = {}
    for name, page in diagram.pages.items():
        blocks = {key: change(block) for key, block in page.blocks.items()}
        same = all(blocks[key] is block for key, block in page.blocks.items())
        pages[name] = page if same else replace(page, blocks=blocks)
    unchanged = all(pages[name] is page for name, page in diagram.pages.items())
    return diagram if unchanged else Diagram(pages)


def stops_opened(diagram: Diagram) -> Diagram:
    """Every StopGradient is a Display."""
    return changed(diagram, lambda b: Display() if isinstance(b, StopGradient) else b)


def unfrozen(diagram: Diagram) -> Diagram:
    """Every variable is trainable."""

    def thaw(block: Block) -> Block:
        frozen = isinstance(block, Variable) and not block.trainable
        return block.with_parameters(trainable=True) if frozen else block

    return changed(diagram, thaw)


class Blend(Block):
    """A differentiable stand-in for any block: the sum of its inputs, a scalar or of length 3."""

    length: int | None = None

    def forward(self, xp: Any, *terms: Any) -> Any:
        total = sum(xp.astype(xp.mean(term), "float64") for term in terms)
        return total if self.length is None else xp.broadcast_to(total, (self.length,))


def all_opened(diagram: Diagram, values: Mapping[str, Array]) -> Diagram:
    """Stops are open, and every block that takes or makes other than floats is a Blend.

    ``values`` are those of the diagram's ports. Wires keep their keys but for the port: see
    ``renamed``.
    """
    opened = stops_opened(diagram)
    where = _a_use_of_each_page(diagram)
    pages = {}
    for name, page in opened.pages.items():
        blocks, wires = dict(page.blocks), dict(page.wires)
        for key, block in page.blocks.items():
            out = values.get(f"{where.get(name)}{key}.out")
            if out is None or isinstance(block, Variable | Constant | Input):
                continue
            inputs = [t for t in page.wires if t.block == key]
            dtypes = [values[_resolved(diagram, name, where[name], page.wires[t])].dtype
                      for t in inputs] + [out.dtype]  # fmt: skip
            rough = any(dtype.kind != "f" for dtype in dtypes)
            if rough or isinstance(block, StraightThrough):
                blocks[key] = Blend(length=out.shape[0] if out.shape else None)
                for i, target in enumerate(inputs):
                    wires[PortName(key, f"terms.{i}")] = wires.pop(target)
        pages[name] = Page(blocks, wires)
    return Diagram(pages)


def renamed(before: Diagram, after: Diagram) -> Callable[[str], str]:
    """Where ``all_opened`` has put a wire, by its key."""
    where = {
        (name, old): new
        for name, page in before.pages.items()
        for old, new in _new_targets(page, after.pages[name]).items()
    }
    prefixes = _uses(before)

    def find(wire: str) -> str:
        prefix, _, local = wire.rpartition("/")
        prefix = f"{prefix}/" if prefix else ""
        return f"{prefix}{where[prefixes[prefix], PortName.parse(local)]}"

    return find


def _new_targets(old: Page, new: Page) -> dict[PortName, PortName]:
    result = {}
    for name in old.blocks:
        before = [target for target in old.wires if target.block == name]
        after = [target for target in new.wires if target.block == name]
        result |= dict(zip(before, after, strict=True))
    return result


def _uses(diagram: Diagram) -> dict[str, str]:
    """The page by the prefix of each of its uses."""
    found = {"": MAIN}
    pending = [("", MAIN)]
    while pending:
        prefix, page = pending.pop()
        for name, block in diagram.pages[page].blocks.items():
            if isinstance(block, PageBlock):
                found[f"{prefix}{name}/"] = block.page
                pending.append((f"{prefix}{name}/", block.page))
    return found


def _a_use_of_each_page(diagram: Diagram) -> dict[str, str]:
    return {page: prefix for prefix, page in _uses(diagram).items()}


def _resolved(diagram: Diagram, page: str, prefix: str, source: PortName) -> str:
    """The port of a block with a value that a source stands for, in one use of a page."""
    block = diagram.pages[page].blocks[source.block]
    if isinstance(block, PageBlock):
        return f"{prefix}{source.block}/{source.port}.out"
    return f"{prefix}{source}"


# ---- every path walked --------------------------------------------------------------------


@dataclass(frozen=True)
class Arrow:
    """A wire with pages opened: its key, the block it leaves and the block and port it enters."""

    key: str
    source: str
    target: str
    port: str


def arrows(diagram: Diagram) -> list[Arrow]:
    """All wires of all uses of pages, between blocks that compute."""
    found = []
    for prefix, page in _uses(diagram).items():
        for target, source in diagram.pages[page].wires.items():
            start = _resolved(diagram, page, prefix, source).partition(".")[0]
            block = diagram.pages[page].blocks[target.block]
            if isinstance(block, PageBlock):
                end, port = f"{prefix}{target.block}/{target.port}", "x"
            else:
                end, port = f"{prefix}{target.block}", target.port
            found.append(Arrow(f"{prefix}{target}", start, end, port))
    return found


def blocks_of(diagram: Diagram) -> dict[str, Block]:
    """All blocks that compute, by path."""
    return {
        f"{prefix}{name}": block
        for prefix, page in _uses(diagram).items()
        for name, block in diagram.pages[page].blocks.items()
        if not isinstance(block, PageBlock)
    }


CLOSED = {(StopGradient, "x"), (StraightThrough, "hard")}
"""Inputs that pass no gradient though all is float."""


class Walk:
    """Answers by walking every path, one block after the other, in a diagram without Gradient."""

    def __init__(self, diagram: Diagram, values: Mapping[str, Array], losses: tuple[str, ...]):
        self.blocks = blocks_of(diagram)
        self.arrows = arrows(diagram)
        self.values = values
        self.losses = losses

    def passes(self, arrow: Arrow) -> bool:
        floats = all(self.values[f"{path}.out"].dtype.kind == "f"
                     for path in (arrow.source, arrow.target))  # fmt: skip
        return floats and (type(self.blocks[arrow.target]), arrow.port) not in CLOSED

    def leads(self, arrow: Arrow) -> bool:
        """Whether a loss can be reached from this wire at all."""
        return f"{arrow.target}.out" in self.losses or any(
            self.leads(ahead) for ahead in self.arrows if ahead.source == arrow.target
        )

    def arrives(self, arrow: Arrow) -> bool:
        """S: whether gradient of a loss comes to this wire."""
        return self.passes(arrow) and (
            f"{arrow.target}.out" in self.losses
            or any(self.arrives(ahead) for ahead in self.arrows if ahead.source == arrow.target)
        )

    def wanted(self, arrow: Arrow) -> bool:
        """T: whether it goes on from this wire to a variable that is trained."""
        block = self.blocks[arrow.source]
        if isinstance(block, Variable):
            return block.wants_gradient
        return any(
            self.passes(behind) and self.wanted(behind)
            for behind in self.arrows
            if behind.target == arrow.source
        )
