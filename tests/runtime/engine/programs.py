"""Random arithmetic for plans: traces of one family each, with gradients, and numbers for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF

Array = NDArray[Any]

SMOOTH = ("tanh", "sin", "cos", "sigmoid", "softplus", "erf", "negative", "square", "expm1")
BROKEN = ("relu", "abs", "sign", "floor", "ceil", "round")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum")


@dataclass
class Written:
    """A trace and what is asked of it."""

    trace: Trace
    leaves: list[Value]
    outputs: list[Value]

    def numbers(self, seed: int, spread: float = 1.0) -> dict[Value, Array]:
        """An array for every leaf."""
        rng = np.random.default_rng(seed)
        return {x: _array(rng, x.shape, x.dtype, spread) for x in self.leaves}

    def differentiate(self, heads: Sequence[Value]) -> None:
        """Ask for the gradients of the heads, too."""
        ones = [(head, self.trace.xp.ones_like(head)) for head in heads]
        found = sweep(ones, self.leaves)
        self.outputs += [g for x in self.leaves if (g := found.get(x)) is not None]


def _array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, spread: float) -> Array:
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), "bool")
    if dtype.startswith("int"):
        return np.asarray(rng.integers(0, 3, shape), dtype)
    return np.asarray(spread * rng.standard_normal(shape), dtype)


class Writer:
    """Appends random operations to a trace."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.trace = Trace()
        self.xp = self.trace.xp
        self.leaves: list[Value] = []

    def leaf(self, shape: tuple[int, ...] = (), dtype: str = "float32") -> Value:
        value = self.trace.apply(LEAF, shape=shape, dtype=dtype)
        self.leaves.append(value)
        return value

    def choose(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def elementwise(self, pool: Sequence[Value]) -> Value:
        """A smooth or broken function, or two operands in one."""
        xp, a, b = self.xp, self.choose(pool), self.choose(pool)
        kind = self.rng.random()
        if kind < 0.4:
            return getattr(xp, self.choose(BINARY))(a, b)
        if kind < 0.7:
            return getattr(xp, self.choose(SMOOTH))(xp.tanh(a))
        if kind < 0.78:
            return getattr(xp, self.choose(BROKEN))(a)
        if kind < 0.86:
            return xp.where(xp.less(a, b), a, 0.5 * b)
        if kind < 0.92:
            return xp.clip(a, -0.75, 0.8)
        return xp.divide(a, 1.5 + xp.square(b))

    def done(self, outputs: list[Value], *heads: Value) -> Written:
        written = Written(self.trace, self.leaves, outputs)
        if heads:
            written.differentiate(heads)
        return written


def scalars(seed: int) -> Written:
    """Rank 0, floats of two kinds, booleans between them."""
    w = Writer(seed)
    kinds = w.choose([("float64",), ("float32",), ("float32", "float64")])
    pool = [w.leaf((), w.choose(kinds)) for _ in range(5)]
    for _ in range(60):
        pool.append(w.elementwise(pool[-12:]))
    some = [w.choose(pool) for _ in range(4)]
    return w.done([*some, pool[-1]], w.xp.tanh(pool[-1]) + pool[-2])


def chains(seed: int) -> Written:
    """Many small chains that don't depend on each other, brought together."""
    w = Writer(seed)
    shape = w.choose([(), (5,), (2, 3), (1,)])
    dtype = w.choose(["float32", "float64", "float16"])
    shared, recipe = w.leaf(shape, dtype), [w.choose(SMOOTH) for _ in range(3)]
    ends = []
    for i in range(20):
        node = shared * float(w.rng.uniform(0.5, 1.5)) if i % 3 else w.leaf(shape, dtype)
        for name in recipe:
            node = getattr(w.xp, name)(w.xp.tanh(node))
        ends.append(node if w.rng.random() < 0.3 else node * shared)
    totals = [w.xp.sum(end) for end in ends]
    loss = w.xp.mean(w.xp.stack(totals))
    return w.done([loss, ends[7], totals[9]], loss)


def long_sums(seed: int) -> Written:
    """Chains of additions over leaves, views of one leaf, repeated and mixed terms."""
    w = Writer(seed)
    dtype = w.choose(["float32", "float64", "int32"])
    length = int(w.rng.integers(1, 12))
    whole = w.leaf((24, length), dtype)
    turned = w.xp.permute_dims(w.leaf((length, 24), dtype), (1, 0))
    kinds: list[Callable[[int], Value]] = [
        lambda i: whole[i],
        lambda i: turned[i],
        lambda i: whole[0],
        lambda i: w.leaf((length,), dtype),
        lambda i: whole[i] * turned[i],
        lambda i: whole[23 - i, ::-1],
    ]
    outputs = []
    for _ in range(3):
        kind = w.choose(kinds)
        terms = [w.choose(kinds)(i) if w.rng.random() < 0.1 else kind(i) for i in range(24)]
        total = terms[0]
        for i, term in enumerate(terms[1:]):
            total = total + term
            if i == 12 and w.rng.random() < 0.5:
                outputs.append(total)
        outputs.append(total)
    if dtype == "int32":
        return w.done(outputs)
    return w.done(outputs, w.xp.sum(w.xp.tanh(outputs[-1])), *map(w.xp.sum, outputs[:1]))


def large(seed: int) -> Written:
    """Elementwise arithmetic on arrays of one shape: rows, columns, scalars, casts, views."""
    w = Writer(seed)
    xp, rows, columns = w.xp, 20, 13
    dtypes = w.choose([("float32",), ("float64",), ("float16", "float32"), ("float32", "float64")])
    shape = (rows, columns)
    pool = [w.leaf(shape, w.choose(dtypes)) for _ in range(2)]
    pool += [
        w.leaf((columns,), w.choose(dtypes)),
        w.leaf((rows, 1), w.choose(dtypes)),
        w.leaf((1, columns), w.choose(dtypes)),
        w.leaf((), w.choose(dtypes)),
        xp.permute_dims(w.leaf((columns, rows), w.choose(dtypes)), (1, 0)),
        xp.flip(w.leaf(shape, w.choose(dtypes)), 0),
        w.leaf((2 * rows, columns), w.choose(dtypes))[::2],
        xp.broadcast_to(w.leaf((columns,), w.choose(dtypes)), shape),
        xp.astype(w.leaf(shape, "bool"), "float32"),
        xp.astype(w.leaf(shape, "int64"), "float32"),
    ]
    for _ in range(25):
        value = w.elementwise([*pool[-8:], w.choose(pool)])
        pool.append(xp.broadcast_to(value, shape) if w.rng.random() < 0.1 else value)
    wide = [x for x in pool if x.shape == shape]
    total = xp.sum(wide[-1])
    return w.done([pool[-1], w.choose(wide), total, xp.mean(wide[-2])], total)


def exact(seed: int) -> Written:
    """Elementwise arithmetic of which every bit is told, float and boolean, on large arrays."""
    w = Writer(seed)
    xp, rows, columns = w.xp, 20, 13
    dtype, shape = w.choose(["float32", "float64"]), (20, 13)
    pool = [w.leaf(s, dtype) for s in (shape, shape, (rows, 1), (columns,), ())]
    pool.append(xp.astype(w.leaf(shape, "float32" if dtype == "float64" else "float64"), dtype))
    pool.append(xp.astype(w.leaf(shape, "bool"), dtype))
    unary = ("negative", "abs", "square", "sqrt", "relu", "sign", "floor", "ceil", "round")
    comparisons = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    truths = [xp.less(pool[0], pool[1])]
    for _ in range(40):
        a, b, kind = w.choose(pool[-9:]), w.choose(pool), w.rng.random()
        if kind < 0.3:
            pool.append(getattr(xp, w.choose([*BINARY, "divide"]))(a, b))
        elif kind < 0.6:
            pool.append(getattr(xp, w.choose(unary))(a))
        elif kind < 0.7:
            truths.append(getattr(xp, w.choose(comparisons))(a, b))
        elif kind < 0.75:
            truths.append(getattr(xp, w.choose(["isnan", "isfinite"]))(a))
        elif kind < 0.8:
            both = w.choose(truths), w.choose(truths)
            truths.append(
                getattr(xp, w.choose(["logical_and", "logical_or", "logical_xor"]))(*both)
            )
        elif kind < 0.85:
            truths.append(xp.logical_not(xp.astype(a, "bool")))
        elif kind < 0.95:
            pool.append(xp.where(w.choose(truths), a, b))
        else:
            pool.append(xp.clip(a, w.choose([None, -0.7]), 0.9))
    wide = [x for x in (*pool[7:], *truths) if x.shape == shape]
    return w.done([wide[-1], truths[-1], *(w.choose(wide) for _ in range(4))])


def convolutions(seed: int) -> Written:
    """Two layers that share images, one pooled, with gradients, and gradients of gradients."""
    w = Writer(seed)
    xp = w.xp
    dtype = w.choose(["float32", "float64"])
    groups = w.choose([1, 2])
    stride = w.choose([(1, 1), (2, 1)])
    padding = w.choose([((0, 0), (0, 0)), ((1, 1), (0, 2))])
    x = w.leaf((2, 4, 7, 6), dtype)
    first, second = (w.leaf((4, 4 // groups, 3, 2), dtype) for _ in range(2))
    a, b = (xp.conv2d(x, k, stride, padding, (1, 1), groups) for k in (first, second))
    pooled = xp.max_pool(xp.relu(b), (2, 2), (2, 2))
    loss = xp.sum(xp.tanh(a) * b) + xp.sum(pooled * pooled)
    slope = xp.sum(xp.square(xp.gradient(loss, first)))
    return w.done([loss, slope, a], loss, slope)


def mixed(seed: int) -> Written:
    """All families together with views of views, reductions, gathers and joins."""
    w = Writer(seed)
    xp = w.xp
    pool = [w.leaf((6, 8)), w.leaf((6, 8), "float64"), w.leaf((8, 6)), w.leaf((8,)), w.leaf()]
    index = w.leaf((5,), "int64")
    for _ in range(40):
        kind, a = w.rng.random(), w.choose(pool[-10:])
        if kind < 0.4:
            fitting = [x for x in pool if x.shape in (a.shape, ()) or a.shape == ()]
            fitting = [x for x in fitting if x.shape == a.shape] + [a, pool[4]]
            pool.append(w.elementwise(fitting))
        elif kind < 0.6:
            pool.append(_view(w, a))
        elif kind < 0.75 and a.shape:
            axis = w.choose([None, *range(a.ndim)])
            function = w.choose([xp.sum, xp.mean, xp.max, xp.min, xp.logsumexp])
            pool.append(function(a, axis, keepdims=bool(w.rng.integers(2))))
        elif kind < 0.8 and a.ndim and a.shape[0] >= 3:
            pool.append(xp.take(a, index, 0))
        elif kind < 0.85 and a.ndim:
            pool.append(xp.concat([a, a * 2], w.choose(range(a.ndim))))
        elif kind < 0.9 and a.ndim:
            pool.append(xp.softmax(a, -1))
        elif kind < 0.95 and a.ndim == 2:
            pool.append(a @ xp.permute_dims(a, (1, 0)))
        elif a.size < 200:
            pool.append(xp.stack([a, xp.tanh(a)], 0))
    loss = xp.sum(xp.stack([xp.tanh(xp.mean(x)) for x in pool[-6:]]))
    return w.done([loss, *(w.choose(pool) for _ in range(4))], loss)


def _view(w: Writer, x: Value) -> Value:
    if not x.shape:
        return w.xp.reshape(x, (1, 1))
    kind = int(w.rng.integers(6))
    if kind == 0:
        return w.xp.reshape(x, (x.size,))
    if kind == 1:
        return w.xp.permute_dims(x, tuple(w.rng.permutation(x.ndim).tolist()))
    if kind == 2 and x.shape[0] > 3:
        return x[1:-1]
    if kind == 3:
        return x[..., ::-1]
    if kind == 4 and x.shape[0] > 3:
        return x[::2]
    return w.xp.expand_dims(x, 0)


FAMILIES: dict[str, Callable[[int], Written]] = {
    "scalars": scalars,
    "chains": chains,
    "long_sums": long_sums,
    "large": large,
    "convolutions": convolutions,
    "mixed": mixed,
}
