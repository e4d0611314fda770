"""What a typed number costs the editor: ``python -m tests.benchmarks.edits [SHAPE …]``.

Each line edits one variable of a diagram of 6,000 blocks several times over and evaluates it as
the editor does. It prints the processor time of the first evaluation, which plans everything, and
the least and the median over the edits, in milliseconds: other load on the machine lengthens
both. Not a test: it prints numbers.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.evaluation.evaluator import Evaluation
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.containers import Pack, Unpack
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import MAIN, Diagram, Page, PortName, SetParameters, apply

if TYPE_CHECKING:
    from gradwire.blocks.block import Block

BLOCKS = 6_000
EDITS = 15
EDITED = "w0"
"""The variable whose value is typed."""

TANH, ADDN = registry().get("Tanh"), registry().get("AddN")


class Drawing:
    """Blocks and wires of a page, put down one after the other."""

    def __init__(self) -> None:
        self.blocks: dict[str, Block] = {}
        self.wires: dict[PortName, PortName] = {}

    def put(self, name: str, block: Block, **sources: str) -> str:
        """A block whose inputs read these ports; a port may be named by its block."""
        self.blocks[name] = block
        for port, source in sources.items():
            block_name, _, output = source.partition(".")
            target = PortName(name, port.replace("_", "."))
            self.wires[target] = PortName(block_name, output or "out")
        return name

    def page(self) -> Page:
        """The page as it is now."""
        return Page(self.blocks, self.wires)

    def diagram(self) -> Diagram:
        """The page as the main one of a diagram."""
        return Diagram({MAIN: self.page()})


def chain(array: np.ndarray | float = 0.5, stops: int = 0) -> Diagram:
    """One block behind the other, ``stops`` of them StopGradients."""
    drawing = Drawing()
    last = drawing.put(EDITED, Variable(value=array))
    every = BLOCKS // stops if stops else 0
    for i in range(BLOCKS):
        stopped = every and i % every == every // 2
        block = StopGradient() if stopped else TANH() if i % 2 else Mul(b=1.01)
        last = drawing.put(f"b{i}", block, **{block.inputs[0].name: last})
    drawing.put("loss", Loss(), x=last)
    return drawing.diagram()


def ladder() -> Diagram:
    """Every block adds the two before it: routes without number, and gradients that flood."""
    drawing = Drawing()
    drawing.put(EDITED, Variable(value=0.5))
    last = [EDITED, drawing.put("w1", Variable(value=0.1))]
    for i in range(BLOCKS):
        last = [last[1], drawing.put(f"b{i}", Add(), a=last[1], b=last[0])]
    drawing.put("loss", Loss(), x=last[1])
    return drawing.diagram()


def wide(losses: int = 1) -> Diagram:
    """Variables side by side, each through tanh and a product with its own into one sum a loss."""
    drawing = Drawing()
    terms: list[list[str]] = [[] for _ in range(losses)]
    for i in range(BLOCKS // 3):
        source = drawing.put(f"w{i}", Variable(value=0.1 + i / BLOCKS))
        bent = drawing.put(f"t{i}", TANH(), x=source)
        terms[i % losses].append(drawing.put(f"m{i}", Mul(), a=bent, b=source))
    for i, names in enumerate(terms):
        ports = {f"terms_{k}": name for k, name in enumerate(names)}
        drawing.put(f"loss{i}", Loss(), x=drawing.put(f"sum{i}", ADDN(), **ports))
    return drawing.diagram()


def shared(losses: int) -> Diagram:
    """A deep trunk of half of the blocks, and a branch of the rest for each loss."""
    drawing = Drawing()
    trunk = drawing.put(EDITED, Variable(value=0.5))
    for i in range(BLOCKS // 2):
        trunk = drawing.put(f"b{i}", TANH() if i % 2 else Mul(b=1.01), **{"ax"[i % 2]: trunk})
    for loss in range(losses):
        last = trunk
        for i in range(BLOCKS // 2 // losses):
            last = drawing.put(f"b{loss}_{i}", TANH(), x=last)
        drawing.put(f"loss{loss}", Loss(), x=last)
    return drawing.diagram()


def pages() -> Diagram:
    """A page of 30 blocks, used 200 times one behind the other."""
    inner = Drawing()
    last = inner.put("in", PageInput())
    inner.put("w", Variable(value=1.01))
    for i in range(27):
        last = (
            inner.put(f"b{i}", TANH(), x=last)
            if i % 2
            else inner.put(f"b{i}", Mul(), a=last, b="w")
        )
    inner.put("y", PageOutput(), x=last)
    main = Drawing()
    last = main.put(EDITED, Variable(value=0.5))
    for i in range(BLOCKS // 30):
        last = f"{main.put(f'use{i}', PageBlock(page='layer'), **{'in': last})}.y"
    main.put("loss", Loss(), x=last)
    return Diagram({MAIN: main.page(), "layer": inner.page()})


def trees() -> Diagram:
    """Trees of two arrays, packed, mapped leaf by leaf and unpacked, 1,500 times."""
    drawing = Drawing()
    first = drawing.put(EDITED, Variable(value=0.5))
    second = drawing.put("w1", Variable(value=0.1))
    for i in range(BLOCKS // 4):
        packed = drawing.put(f"p{i}", Pack(keys=("a", "b")), items_0=first, items_1=second)
        mapped = drawing.put(f"t{i}", TANH(), x=packed)
        apart = drawing.put(f"u{i}", Unpack(paths=("a", "b")), x=mapped)
        first, second = drawing.put(f"s{i}", Mul(b=1.01), a=f"{apart}.a"), f"{apart}.b"
    drawing.put("loss", Loss(), x=drawing.put("sum", Add(), a=first, b=second))
    return drawing.diagram()


SHAPES: dict[str, Callable[[], Diagram]] = {
    "chain": chain,
    "chain, 600 stops": lambda: chain(stops=600),
    "ladder": ladder,
    "wide": wide,
    "wide, 8 losses": lambda: wide(8),
    "wide, 9 losses": lambda: wide(9),
    "trunk, 3 losses": lambda: shared(3),
    "trunk, 8 losses": lambda: shared(8),
    "pages, 200 uses": pages,
    "trees": trees,
    "chain of 8×8": lambda: chain(np.full((8, 8), 0.1)),
}


def edited(diagram: Diagram, number: int) -> Diagram:
    """The diagram with another value of the edited variable."""
    before = diagram.main.blocks[EDITED]
    assert isinstance(before, Variable) and before.value is not None
    value = np.full_like(before.value.array, 0.25 + number / 100, dtype=np.float64)
    return apply(diagram, SetParameters(EDITED, {"value": value.tolist()})).after


def spent(evaluation: Evaluation, diagram: Diagram) -> float:
    """Milliseconds of processor time that a result takes, garbage and all."""
    gc.collect()
    start = time.process_time()
    result = evaluation(diagram)
    taken = time.process_time() - start
    assert result is not None and result.error is None, result and result.error
    return taken * 1e3


def main(names: list[str]) -> None:
    """Print the table."""
    print(f"{'':18} {'blocks':>7} {'first ms':>9} {'least ms':>9} {'edit ms':>8}")
    for name in names or SHAPES:
        diagram, evaluation = SHAPES[name](), Evaluation()
        first = spent(evaluation, diagram)
        assert evaluation._session is not None
        blocks = len(evaluation._session.program.instances)
        times = [spent(evaluation, edited(diagram, i)) for i in range(EDITS)]
        median = statistics.median(times)
        print(f"{name:18} {blocks:7,} {first:9.0f} {min(times):9.1f} {median:8.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
