"""Layers of images and a few others beside PyTorch: forward and all gradients, one thread.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.images [NAME …] [--seconds 1]

Results are compared first; then the two take turns in one process, and count its processor time.
The ratio tells how many times as long PyTorch takes. Not a test: it prints numbers.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradwire.blocks.registry import registry
from gradwire.runtime.calculus import Trace, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.plan import Plan

TOLERANCE = 1e-4
"""The largest difference, as a share of the largest element."""
FEWEST = 8
"""Turns at least."""


class Case(NamedTuple):
    """A block with its options, what PyTorch calls it with, and the shapes of its inputs."""

    block: str
    options: dict[str, Any]
    peer: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def _conv(x: tuple[int, ...], w: tuple[int, ...], **how: Any) -> Case:
    axes = len(x) - 2
    name = f"conv{axes}d"
    options = {k: [v] * axes if axes > 1 and k != "groups" else v for k, v in how.items()}
    return Case(f"Conv{axes}D", options, lambda f, *given: getattr(f, name)(*given, **how), (x, w))


def _pool(kind: str, x: tuple[int, ...], window: int, stride: int, padding: int = 0) -> Case:
    axes = len(x) - 2
    name = f"{kind.lower()}_pool{axes}d"
    given = {"window": window, "stride": stride, "padding": padding}
    options = {k: [v] * axes if axes > 1 else v for k, v in given.items()}
    return Case(f"{kind}Pool{axes}D", options,
                lambda f, x: getattr(f, name)(x, window, stride, padding), (x,))  # fmt: skip


def _norm(*x: int) -> Case:
    return Case("BatchNorm", {}, lambda f, x, w, b: f.batch_norm(x, None, None, w, b, True),
                (x, x[1:2], x[1:2]))  # fmt: skip


def _groups(groups: int, *x: int) -> Case:
    return Case("GroupNorm", {"groups": groups}, lambda f, x, w, b: f.group_norm(x, groups, w, b),
                (x, x[1:2], x[1:2]))  # fmt: skip


def _layer(axes: int, *x: int) -> Case:
    return Case("LayerNorm", {"axes": list(range(-axes, 0))},
                lambda f, x, w, b: f.layer_norm(x, x.shape[-axes:], w, b),
                (x, x[-axes:], x[-axes:]))  # fmt: skip


def _along(block: str, name: str, axis: int, *x: int) -> Case:
    return Case(block, {"axis": axis}, lambda f, x: getattr(x, name)(axis), (x,))


def _product(rows: int, terms: int, columns: int) -> Case:
    return Case("MatMul", {}, lambda f, x, w: x @ w, ((rows, terms), (terms, columns)))


CASES = {
    "stem": _conv((8, 3, 112, 112), (64, 3, 7, 7), stride=2, padding=3),
    "3x3-64": _conv((8, 64, 56, 56), (64, 64, 3, 3), padding=1),
    "3x3-256": _conv((8, 256, 14, 14), (256, 256, 3, 3), padding=1),
    "3x3-512": _conv((8, 512, 7, 7), (512, 512, 3, 3), padding=1),
    "3x3-narrow": _conv((32, 64, 7, 7), (64, 64, 3, 3), padding=1),
    "1x1-64": _conv((8, 64, 56, 56), (256, 64, 1, 1)),
    "1x1-512": _conv((8, 512, 14, 14), (128, 512, 1, 1)),
    "5x5": _conv((8, 32, 28, 28), (32, 32, 5, 5), padding=2),
    "dilated": _conv((8, 64, 28, 28), (64, 64, 3, 3), padding=2, dilation=2),
    "depthwise": _conv((8, 96, 56, 56), (96, 1, 3, 3), stride=2, padding=1, groups=96),
    "grouped": _conv((8, 128, 28, 28), (128, 4, 3, 3), padding=1, groups=32),
    "signal": _conv((8, 64, 1024), (64, 64, 9), stride=2, padding=4),
    "volume": _conv((2, 16, 16, 28, 28), (16, 16, 3, 3, 3), padding=1),
    "max-2": _pool("Max", (8, 64, 56, 56), 2, 2),
    "max-3": _pool("Max", (8, 64, 56, 56), 3, 2, 1),
    "max-every": _pool("Max", (8, 64, 28, 28), 3, 1, 1),
    "avg-3": _pool("Avg", (8, 64, 56, 56), 3, 2, 1),
    "avg-all": _pool("Avg", (8, 512, 7, 7), 7, 7),
    "norm-56": _norm(8, 64, 56, 56),
    "norm-7": _norm(8, 512, 7, 7),
    "groups-56": _groups(32, 8, 64, 56, 56),
    "groups-7": _groups(32, 8, 512, 7, 7),
    "instances": _groups(64, 8, 64, 56, 56),
    "layer-2": _layer(2, 64, 64, 64),
    "classes": _along("Softmax", "softmax", 1, 8, 21, 128, 128),
    "log-classes": _along("LogSoftmax", "log_softmax", 1, 8, 21, 128, 128),
    "first": _along("Softmax", "softmax", 0, 512, 512),
    "heads": _along("Softmax", "softmax", 2, 8, 8, 128, 128),
    "running-0": _along("CumulativeSum", "cumsum", 0, 1024, 256),
    "running-1": _along("CumulativeSum", "cumsum", 1, 1024, 256),
    "rows-1": _product(1, 1024, 1024),
    "rows-4": _product(4, 1024, 1024),
    "rows-16": _product(16, 4096, 1000),
}


def measure(case: Case, seconds: float) -> tuple[float, float]:
    """Median milliseconds of ours and of PyTorch; raises ValueError where results differ."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in case.shapes]
    trace = Trace()
    leaves = [trace.apply(LEAF, shape=shape, dtype="float32") for shape in case.shapes]
    found = registry().get(case.block)(**case.options).forward(trace.xp, *leaves)
    out = found[0] if isinstance(found, tuple) else found
    g = trace.apply(LEAF, shape=out.shape, dtype="float32")
    gradients = sweep([(out, g)], leaves)
    outputs = [out, *(gradients[leaf] for leaf in leaves)]
    plan = Plan(outputs, passes.FAST)
    for leaf, array in zip((*leaves, g), (*arrays, rng.standard_normal(out.shape)), strict=True):
        plan.leaves[leaf][...] = array
    given = [torch.tensor(array, requires_grad=True) for array in arrays]
    sent = torch.tensor(plan.leaves[g])

    def peer() -> list[Any]:
        result = case.peer(torch.nn.functional, *given)
        return [result, *torch.autograd.grad(result, given, sent)]

    plan.run()
    for value, tensor in zip(outputs, peer(), strict=True):
        expected = tensor.detach().numpy()
        if not np.abs(plan.read(value) - expected).max() <= TOLERANCE * np.abs(expected).max():
            raise ValueError(f"{value} differs from PyTorch's.")
    taken: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken) < FEWEST:
        started = time.process_time()
        plan.run()
        between = time.process_time()
        peer()
        taken.append((between - started, time.process_time() - between))
    ours, theirs = (statistics.median(times) * 1e3 for times in zip(*taken, strict=True))
    return ours, theirs


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CASES), metavar="NAME")
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    threads.limit(1)
    for name in options.names:
        ours, theirs = measure(CASES[name], options.seconds)
        print(
            f"{name:12} {ours:9.3f} ms   PyTorch {theirs:9.3f} ms   {theirs / ours:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
