"""How long it takes to say why, by the size of the diagram: ``python -m tests.benchmarks.flow``.

A chain and a wide graph of 20,000 blocks must be analysed in seconds, and twice the size take
twice the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.analyse import analyse

TANH, ADD, ADDN = (registry().get(name) for name in ("Tanh", "Add", "AddN"))


def _out(name: str) -> PortName:
    return PortName(name, "out")


def chain(count: int) -> Diagram:
    """One block behind the other, every tenth a stop: no wire but the last few carries."""
    blocks = {"w": Variable(value=0.5), "loss": Loss()}
    wires = {PortName("loss", "x"): _out(f"b{count - 1}")}
    for i in range(count):
        blocks[f"b{i}"] = StopGradient() if i % 10 == 5 else TANH()
        wires[PortName(f"b{i}", "x")] = _out(f"b{i - 1}" if i else "w")
    return Diagram({MAIN: Page(blocks, wires)})


def wide(count: int) -> Diagram:
    """Variables side by side, each through one block into one sum; half of them stopped."""
    half = count // 2
    blocks = {"sum": ADDN(), "loss": Loss()}
    wires = {PortName("loss", "x"): _out("sum")}
    for i in range(half):
        blocks[f"w{i}"] = Variable(value=0.5)
        blocks[f"b{i}"] = StopGradient() if i % 2 else TANH()
        wires[PortName(f"b{i}", "x")] = _out(f"w{i}")
        wires[PortName("sum", f"terms.{i}")] = _out(f"b{i}")
    return Diagram({MAIN: Page(blocks, wires)})


def ladder(count: int) -> Diagram:
    """Every block reads the two before it: routes without number."""
    blocks = {"b0": Variable(value=0.5), "b1": Variable(value=0.1), "loss": Loss()}
    wires = {PortName("loss", "x"): _out(f"b{count - 1}")}
    for i in range(2, count):
        blocks[f"b{i}"] = ADD()
        wires[PortName(f"b{i}", "a")] = _out(f"b{i - 1}")
        wires[PortName(f"b{i}", "b")] = _out(f"b{i - 2}")
    return Diagram({MAIN: Page(blocks, wires)})


def measure(shape: Callable[[int], Diagram], count: int) -> float:
    """Seconds of processor time for the states of all wires; prints that and one verdict's."""
    diagram = shape(count)
    times = [time.process_time()]
    program = Session(diagram).program
    times.append(time.process_time())
    flow = analyse(program)
    states = flow.states()
    times.append(time.process_time())
    for wire in list(states)[:: max(1, len(states) // 5)][:5]:
        flow.verdict(wire)
    times.append(time.process_time())
    lowering, analysing, explaining = (b - a for a, b in pairwise(times))
    print(
        f"{shape.__name__:8} {count:7,} blocks  lowering {lowering:6.2f} s  "
        f"states {analysing:6.2f} s  a verdict {explaining / 5 * 1e3:7.1f} ms"
    )
    return analysing


def every_verdict(count: int) -> None:
    """A sentence for every wire, as a report has them."""
    for shape in (chain, wide, ladder):
        flow = analyse(Session(shape(count)).program)
        start = time.process_time()
        for wire in flow.states():
            flow.verdict(wire)
        spent = time.process_time() - start
        print(f"{shape.__name__:8} {count:7,} blocks  all sentences {spent:6.2f} s")


def main() -> None:
    """Print the table."""
    for shape in (chain, wide, ladder):
        small, large = measure(shape, 10_000), measure(shape, 20_000)
        print(f"{'':8} twice the blocks take ×{large / small:.1f}")
    every_verdict(20_000)


if __name__ == "__main__":
    main()
