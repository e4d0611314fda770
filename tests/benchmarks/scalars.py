"""What scalars cost per call: ``python -m tests.benchmarks.scalars [NAME …] [--against FOLDER]``.

Each line runs the loss and gradients of a diagram of scalars, with numpy alone and as machine code,
and prints the least processor time of a call in microseconds. With ``--against``, a checkout of
another commit computes the same with numpy alone, sample by sample in turn, and each number is
followed by the median of the ratios to it. Not a test: it prints numbers.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.registry import registry
from gradwire.blocks.values import Tensor
from tests.benchmarks.workloads import Drawing, w2

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

SAMPLES = 15
CALLS = 100
SETTLED = 40
"""Calls before the first sample: regions become machine code after some runs."""

ARITHMETIC, FUNCTIONS = ("Mul", "Add"), ("Exp", "Add", "Log", "Sigmoid")
MIXED = ("Mul", "Tanh", "Square", "Add", "Sigmoid", "Exp", "Log", "Add")
GIVEN = {"Mul": 1.01, "Add": 0.1}


def chain(kinds: tuple[str, ...], dtype: str, length: int = 600) -> Diagram:
    """One block behind the other."""
    drawing = Drawing()
    last = variable(drawing, "x", 0.5, dtype)
    for i in range(length):
        kind = kinds[i % len(kinds)]
        last = drawing.add(kind, last, **({"b": GIVEN[kind]} if kind in GIVEN else {}))
    return drawing.diagram(last)


def wide(dtype: str, units: int = 150) -> Diagram:
    """Units side by side: the logarithm of eˢ + s, where s is a sigmoid, all added up in pairs."""
    drawing, rng = Drawing(), np.random.default_rng(0)
    ends = []
    for i in range(units):
        weight = variable(drawing, f"w{i}", rng.uniform(-1, 1), dtype)
        bent = drawing.add("Sigmoid", drawing.add("Mul", weight, b=float(rng.uniform(0.5, 2))))
        ends.append(drawing.add("Log", drawing.add("Add", drawing.add("Exp", bent), bent)))
    while len(ends) > 1:
        pairs = zip(ends[::2], ends[1::2], strict=False)
        rest = ends[-1:] if len(ends) % 2 else []
        ends = [drawing.add("Add", *pair) for pair in pairs] + rest
    return drawing.diagram(ends[0])


def small(dtype: str) -> Diagram:
    """A seed of five blocks."""
    drawing = Drawing()
    a, b = variable(drawing, "a", 0.5, dtype), variable(drawing, "b", 0.25, dtype)
    stopped = drawing.add("StopGradient", drawing.add("Mul", b, a=3.0))
    return drawing.diagram(drawing.add("Add", drawing.add("Mul", stopped, a), a))


def variable(drawing: Drawing, name: str, value: float, dtype: str) -> str:
    """A variable of this dtype."""
    made = registry().get("Variable")
    drawing.blocks[name] = made(value=Tensor(np.asarray(value, dtype)), dtype=dtype)
    return name


WORK: dict[str, Callable[[], Diagram]] = {
    "1,000 mixed (W2)": lambda: w2().diagram,
    **{
        f"{name}, {dtype}": partial(make, dtype)
        for dtype in ("float32", "float64")
        for name, make in {
            "chain of × +": lambda dtype: chain(ARITHMETIC, dtype),
            "chain of tanh ×": lambda dtype: chain(("Tanh", "Mul"), dtype),
            "chain of exp log sigmoid": lambda dtype: chain(FUNCTIONS, dtype),
            "chain of all these": lambda dtype: chain(MIXED, dtype),
            "150 units": wide,
            "5 blocks": small,
        }.items()
    },
}


class Runner:
    """Calls that this process has made ready, timed on request."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, bool], Callable[[], Any]] = {}

    def sample(self, name: str, fast: bool) -> float:
        """Microseconds of processor time of one call."""
        call = self._calls.get((name, fast)) or self._ready(name, fast)
        start = time.process_time()
        for _ in range(CALLS):
            call()
        return (time.process_time() - start) / CALLS * 1e6

    def _ready(self, name: str, fast: bool) -> Callable[[], Any]:
        from gradwire.runtime.engine import Session

        call = Session(WORK[name](), fast=fast).prepare(values=("loss",))
        for _ in range(SETTLED):
            call()
        self._calls[name, fast] = call
        return call


class Other:
    """A runner in another checkout, with numpy alone."""

    def __init__(self, folder: str) -> None:
        code = (
            f"import sys; sys.path[:0] = [{folder!r}]; exec(open({str(Path(__file__))!r}).read())"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"__name__ = 'other'\n{code}\nserve()"],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def sample(self, name: str) -> float:
        """What ``Runner.sample`` measures there."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(name) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


def serve() -> None:
    """Time what standard input names, line by line."""
    runner = Runner()
    for line in sys.stdin:
        print(runner.sample(json.loads(line), fast=False), flush=True)


def main(names: Iterable[str], against: str | None) -> None:
    """Print the table."""
    from gradwire.runtime.engine.plan import native

    runner, other = Runner(), Other(against) if against else None
    choices = (False, True) if native.installed() else (False,)
    print(f"{'':34}{'other':>8}{'numpy':>15}{'machine code':>15}")
    for name in names:
        there: list[float] = []
        here: dict[bool, list[float]] = {fast: [] for fast in choices}
        for _ in range(SAMPLES):
            there += [other.sample(name)] if other else []
            for fast, samples in here.items():
                samples.append(runner.sample(name, fast))
        line = f"{name:34}{min(there):8.1f}" if there else f"{name:34}{'':8}"
        for samples in here.values():
            ratio = statistics.median(a / b for a, b in zip(samples, there or samples, strict=True))
            line += f"{min(samples):8.1f}" + (f" ×{ratio:5.2f}" if there else "       ")
        print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(WORK))
    parser.add_argument("--against")
    options = parser.parse_args()
    main(options.names, options.against)
