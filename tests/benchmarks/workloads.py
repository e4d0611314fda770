"""The engine's workloads, each as a diagram and as the peers would write it.

Every runner computes the loss and the gradients of all variables once per call, in float32, from
the same numbers, and returns the loss as a float so that results can be compared.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.registry import registry
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from gradwire.blocks import Block

Array = NDArray[np.float32]
Function = Callable[..., Any]
"""A loss written once over a namespace of functions: ``f(ops, variables, data)``."""


@dataclass
class Drawing:
    """Collects blocks and wires; every method returns the new block's output."""

    blocks: dict[str, Block] = field(default_factory=dict)
    wires: dict[PortName, PortName] = field(default_factory=dict)

    def add(self, type_name: str, *sources: str, name: str | None = None, **given: Any) -> str:
        """A block with its inputs wired in port order; ``given`` are parameters and literals."""
        block = registry().get(type_name).from_record(given)
        name = name or f"{type_name.lower()}{len(self.blocks)}"
        self.blocks[name] = block
        names = iter(_input_names(block, len(sources), given))
        for source in sources:
            self.wires[PortName(name, next(names))] = PortName(source, block.outputs[0])
        return name

    def variable(self, name: str, value: Any) -> str:
        """A float32 variable."""
        self.blocks[name] = registry().get("Variable")(value=Tensor(np.asarray(value, np.float32)))
        return name

    def input(self, name: str, value: NDArray[Any]) -> str:
        """An input of this shape and dtype, without a value."""
        dtype = value.dtype.name
        self.blocks[name] = registry().get("Input")(shape=value.shape, dtype=dtype)
        return name

    def diagram(self, loss: str) -> Diagram:
        """The diagram that trains on ``loss``."""
        self.add("Loss", loss, name="loss")
        return Diagram({MAIN: Page(self.blocks, self.wires)})


def _input_names(block: Block, count: int, given: Mapping[str, Any]) -> Iterator[str]:
    for port in block.inputs:
        if port.variadic:
            yield from (f"{port.name}.{i}" for i in range(count))
        elif port.name not in given:
            yield port.name


@dataclass(frozen=True)
class Workload:
    """One row of the table."""

    name: str
    about: str
    diagram: Diagram
    variables: Mapping[str, Array]
    data: Mapping[str, NDArray[Any]]
    peer: Function
    calls: int
    """Calls in one timed sample, so that a sample lasts some milliseconds."""


def _random(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def w1() -> Workload:
    """MXNet's seed: per-call overhead."""
    a, b = np.float32([[1, 2]]), np.float32([[0, 1]])
    d = Drawing()
    d.variable("a", a)
    d.variable("b", b)
    d.add("Mul", "b", name="triple", a=3)
    d.add("StopGradient", "triple", name="stop")
    d.add("Add", "stop", "a", name="plus")

    def peer(ops: Any, v: Any, _: Any) -> Any:
        return ops.sum(ops.stop_gradient(3 * v["b"]) + v["a"])

    return Workload(
        "W1", "seed diagram, per call", d.diagram("plus"), {"a": a, "b": b}, {}, peer, 200
    )


_SCALAR = ("add", "mul", "tanh", "sin", "sub", "exp", "maximum")
_OF_ONE = ("exp", "tanh", "sin")


def w2(count: int = 1000, *, is_read: bool = True) -> Workload:
    """Scalar operations, as in small models of mechanics or in lessons.

    Each takes any of the last 30 values, but first what nothing has read so far and would be too
    far back; the loss adds up what is left. Without ``is_read`` it reads the last three alone, as
    it did until November 2026: then 389 of 1,013 blocks are for nothing, which compilers leave out.
    """
    rng = np.random.default_rng(2)
    variables = {f"v{i}": np.float32(rng.uniform(-1, 1)) for i in range(10)}
    unread = [*range(10)]
    recipe: list[tuple[str, int, int]] = []
    for end in range(10, count + 10):
        kind = _SCALAR[int(rng.integers(len(_SCALAR)))]
        i, j = (int(rng.integers(max(0, end - 30), end)) for _ in range(2))
        i = unread[0] if is_read and unread[0] < end - 28 else i
        recipe.append((kind, i, j))
        read = {i} if kind in _OF_ONE else {i, j}
        unread = [*(k for k in unread if k not in read), end]
    last = [*reversed(unread if is_read else range(count + 7, count + 10))]
    d = Drawing()
    nodes = [d.variable(name, value) for name, value in variables.items()]
    for kind, i, j in recipe:
        if kind in _OF_ONE:
            nodes.append(d.add("Tanh" if kind == "exp" else kind.capitalize(), nodes[i]))
        else:
            nodes.append(d.add(kind.capitalize(), nodes[i], nodes[j]))

    def peer(ops: Any, v: Any, _: Any) -> Any:
        values = list(v.values())
        for kind, i, j in recipe:
            if kind in ("exp", "tanh"):
                values.append(ops.tanh(values[i]))
            elif kind == "sin":
                values.append(ops.sin(values[i]))
            elif kind == "mul":
                values.append(values[i] * values[j])
            elif kind == "add":
                values.append(values[i] + values[j])
            elif kind == "sub":
                values.append(values[i] - values[j])
            else:
                values.append(ops.maximum(values[i], values[j]))
        return reduce(operator.add, [values[k] for k in last])

    end = reduce(lambda x, y: d.add("Add", x, y), [nodes[k] for k in last])
    name, how = ("W2", "all read") if is_read else ("W2-unread", "389 of them for nothing")
    about = f"{count} scalar operations, {how}"
    return Workload(name, about, d.diagram(end), variables, {}, peer, 10)


def w3(size: int = 4_000_000) -> Workload:
    """A chain of 20 elementwise operations on a large array: memory traffic."""
    x = _random(size, seed=3)
    d = Drawing()
    node = d.variable("x", x)
    steps = ("scale", "tanh", "square", "shift", "sigmoid") * 4
    for step in steps:
        if step == "scale":
            node = d.add("Mul", node, b=1.1)
        elif step == "shift":
            node = d.add("Add", node, b=-0.3)
        else:
            node = d.add(step.capitalize(), node)

    def peer(ops: Any, v: Any, _: Any) -> Any:
        y = v["x"]
        for step in steps:
            if step == "scale":
                y = y * 1.1
            elif step == "shift":
                y = y + -0.3
            elif step == "square":
                y = y * y
            else:
                y = getattr(ops, step)(y)
        return ops.mean(y)

    return Workload(
        "W3", f"20 elementwise operations, {size:,} elements",
        d.diagram(d.add("Mean", node)), {"x": x}, {}, peer, 1,
    )  # fmt: skip


def w4(batch: int = 128) -> Workload:
    """A perceptron 784-512-512-10 with cross-entropy."""
    sizes = (784, 512, 512, 10)
    variables: dict[str, Array] = {}
    for i, (n, m) in enumerate(itertools.pairwise(sizes)):
        variables[f"w{i}"] = _random(m, n, seed=i, scale=(2 / n) ** 0.5)
        variables[f"b{i}"] = np.zeros(m, np.float32)
    data = {
        "x": _random(batch, 784, seed=9),
        "t": np.random.default_rng(8).integers(0, 10, batch),
    }
    d = Drawing()
    for name, value in variables.items():
        d.variable(name, value)
    d.blocks["x"] = registry().get("Input")(shape=(batch, 784))
    d.blocks["t"] = registry().get("Input")(shape=(batch,), dtype="int64")
    node = "x"
    for i in range(3):
        node = d.add("Linear", node, f"w{i}", f"b{i}")
        node = d.add("Relu", node) if i < 2 else node

    def peer(ops: Any, v: Any, data: Any) -> Any:
        y = data["x"]
        for i in range(3):
            y = ops.linear(y, v[f"w{i}"]) + v[f"b{i}"]
            y = ops.relu(y) if i < 2 else y
        return ops.cross_entropy(y, data["t"])

    return Workload(
        "W4", f"perceptron 784-512-512-10, batch {batch}",
        d.diagram(d.add("CrossEntropy", node, "t")), variables, data, peer, 1,
    )  # fmt: skip


def w5(batch: int = 4, length: int = 128, width: int = 256, heads: int = 4) -> Workload:
    """One attention block with residual and a feed-forward layer."""
    each = width // heads
    names = {"q": (width, width), "k": (width, width), "v": (width, width), "o": (width, width),
             "f": (4 * width, width), "g": (width, 4 * width)}  # fmt: skip
    variables = {
        name: _random(*shape, seed=i, scale=shape[1] ** -0.5)
        for i, (name, shape) in enumerate(names.items())
    }
    data = {"x": _random(batch, length, width, seed=5)}
    d = Drawing()
    for name, value in variables.items():
        d.variable(name, value)
    d.blocks["x"] = registry().get("Input")(shape=(batch, length, width))

    def split(name: str) -> str:
        flat = d.add("Linear", "x", name)
        parts = d.add("Reshape", flat, shape=[batch, length, heads, each])
        return d.add("Transpose", parts, perm=[0, 2, 1, 3])

    q, k, v = split("q"), split("k"), split("v")
    scores = d.add("Mul", d.add("MatMul", q, d.add("Transpose", k, perm=[0, 1, 3, 2])),
                   b=each**-0.5)  # fmt: skip
    mixed = d.add("Transpose", d.add("MatMul", d.add("Softmax", scores), v), perm=[0, 2, 1, 3])
    out = d.add("Linear", d.add("Reshape", mixed, shape=[batch, length, width]), "o")
    h = d.add("Add", "x", out)
    y = d.add("Add", h, d.add("Linear", d.add("Relu", d.add("Linear", h, "f")), "g"))
    end = d.add("Mean", d.add("Square", y))

    def peer(ops: Any, w: Any, data: Any) -> Any:
        x = data["x"]

        def split(name: str) -> Any:
            flat = ops.linear(x, w[name])
            return ops.transpose(ops.reshape(flat, (batch, length, heads, each)), (0, 2, 1, 3))

        q, k, v = split("q"), split("k"), split("v")
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) * each**-0.5
        mixed = ops.transpose(ops.matmul(ops.softmax(scores), v), (0, 2, 1, 3))
        h = x + ops.linear(ops.reshape(mixed, (batch, length, width)), w["o"])
        y = h + ops.linear(ops.relu(ops.linear(h, w["f"])), w["g"])
        return ops.mean(y * y)

    return Workload(
        "W5", f"attention block, batch {batch}, length {length}, width {width}, {heads} heads",
        d.diagram(end), variables, data, peer, 1,
    )  # fmt: skip


def w6(channels: int = 32, batch: int = 32) -> Workload:
    """A small convolutional network on 28 × 28 images, of so many and twice as many channels."""
    variables = {
        "c1": _random(channels, 1, 3, 3, seed=1, scale=0.3),
        "c2": _random(2 * channels, channels, 3, 3, seed=2, scale=0.1),
        "w": _random(10, 2 * channels * 7 * 7, seed=3, scale=0.05),
        "b": np.zeros(10, np.float32),
    }
    data = {
        "x": _random(batch, 1, 28, 28, seed=4),
        "t": np.random.default_rng(5).integers(0, 10, batch),
    }
    d = Drawing()
    for name, value in variables.items():
        d.variable(name, value)
    d.blocks["x"] = registry().get("Input")(shape=(batch, 1, 28, 28))
    d.blocks["t"] = registry().get("Input")(shape=(batch,), dtype="int64")
    node = "x"
    for weights in ("c1", "c2"):
        node = d.add("Relu", d.add("Conv2D", node, weights, padding="same"))
        node = d.add("MaxPool2D", node)
    logits = d.add("Linear", d.add("Flatten", node), "w", "b")

    def peer(ops: Any, v: Any, data: Any) -> Any:
        y = data["x"]
        for weights in ("c1", "c2"):
            y = ops.max_pool(ops.relu(ops.conv(y, v[weights])))
        y = ops.reshape(y, (batch, 2 * channels * 7 * 7))
        return ops.cross_entropy(ops.linear(y, v["w"]) + v["b"], data["t"])

    widths = f"{channels} and {2 * channels} channels"
    return Workload(
        "W6" if channels == 32 else "W6-narrow", f"convolutions of {widths}, batch {batch}",
        d.diagram(d.add("CrossEntropy", logits, "t")), variables, data, peer, 1,
    )  # fmt: skip


_PAIRED = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": operator.truediv,
}  # fmt: skip


def w7(pairs: int = 10_000, width: int = 8) -> Workload:
    """Many independent small operations into one loss, each of another pair of vectors."""
    count = math.isqrt(2 * pairs) + 1
    rng = np.random.default_rng(6)
    variables = {f"v{i}": rng.uniform(0.5, 1.5, width).astype(np.float32) for i in range(count)}
    chosen = rng.permutation([*itertools.combinations(variables, 2)])[:pairs].tolist()
    recipe = [(kind, *pair) for kind, pair in zip(itertools.cycle(_PAIRED), chosen, strict=False)]
    d = Drawing()
    for name, value in variables.items():
        d.variable(name, value)
    ends = [d.add(kind, one, other) for kind, one, other in recipe]
    end = d.add("Mean", d.add("Square", d.add("Stack", *ends)))

    def peer(ops: Any, v: Any, _: Any) -> Any:
        parts = ops.stack([_PAIRED[kind](v[one], v[other]) for kind, one, other in recipe])
        return ops.mean(parts * parts)

    about = f"{pairs:,} small operations into one loss, of {pairs:,} pairs"
    return Workload("W7", about, d.diagram(end), variables, {}, peer, 1)


def w7_alike(chains: int = 2500, width: int = 8) -> Workload:
    """Chains of one variable that differ in a number alone, which can be done all at once."""
    w = _random(width, seed=7)
    factors = np.random.default_rng(6).uniform(0.5, 1.5, chains).astype(np.float32)
    d = Drawing()
    d.variable("w", w)
    ends = []
    for factor in factors:
        node = d.add("Mul", "w", b=float(factor))
        node = d.add("Square", d.add("Tanh", node))
        ends.append(d.add("Sum", node))
    end = d.add("Mean", d.add("Stack", *ends))

    def peer(ops: Any, v: Any, _: Any) -> Any:
        parts = []
        for factor in factors:
            y = ops.tanh(v["w"] * float(factor))
            parts.append(ops.sum(y * y))
        return ops.mean(ops.stack(parts))

    return Workload(
        "W7-alike", f"{chains:,} chains alike, of one variable, into one loss", d.diagram(end),
        {"w": w}, {}, peer, 1,
    )  # fmt: skip


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "W1": w1, "W2": w2, "W3": w3, "W4": w4, "W5": w5, "W6": w6, "W7": w7,
    "W2-unread": partial(w2, is_read=False), "W6-narrow": partial(w6, 8), "W7-alike": w7_alike,
}  # fmt: skip
