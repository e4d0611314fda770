"""Large tables and broadcasts: embeddings, many classes, similarities, particles."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.engine.networks import drawn, normal
from tests.benchmarks.workloads import Workload


def embedding(rows: int = 50_000, width: int = 64) -> Workload:
    """Means of word vectors, whose words are as frequent as those of texts."""
    batch, length, classes = 64, 32, 10
    rng = np.random.default_rng(1)
    variables = {"e": normal(rows, width, seed=2), "w": normal(classes, width, seed=3, scale=0.1),
                 "b": np.zeros(classes, np.float32)}  # fmt: skip
    words = np.minimum(rng.zipf(1.3, (batch, length)) - 1, rows - 1)
    data = {"words": words, "t": rng.integers(0, classes, batch)}
    d = drawn(variables, data)
    text = d.add("Mean", d.add("Embedding", "words", "e"), axis=[1])
    logits = d.add("Linear", text, "w", "b")

    def peer(ops: Any, v: Any, data: Any) -> Any:
        text = ops.middle(ops.embed(v["e"], data["words"]), 1)
        return ops.cross_entropy(ops.dense(text, v["w"], v["b"]), data["t"])

    return Workload(
        "embedding", f"embedding of {rows:,} rows × {width}, {batch * length:,} words",
        d.diagram(d.add("CrossEntropy", logits, "t")), variables, data, peer, 1,
    )  # fmt: skip


def particles() -> Workload:
    """The Lennard-Jones energy of all pairs by broadcasting, and the forces."""
    count = 256
    grid = np.stack(np.meshgrid(*[np.arange(7)] * 3), -1).reshape(-1, 3)[:count]
    places = 1.2 * grid + 0.1 * np.random.default_rng(1).standard_normal(grid.shape)
    variables = {"x": places.astype(np.float32)}
    data = {"pairs": np.triu(np.ones((count, count), bool), 1)}
    d = drawn(variables, data)
    rows, columns = (d.add("Reshape", "x", shape=s) for s in ([count, 1, 3], [1, count, 3]))
    square = d.add("Sum", d.add("Square", d.add("Sub", rows, columns)), axis=[2])
    # The distance of a particle from itself would make the gradient NaN.
    square = d.add("Where", "pairs", square, b=1.0)
    sixth = d.add("Pow", square, b=-3.0)
    energy = d.add("Mul", d.add("Sub", d.add("Square", sixth), sixth), b=4.0)
    end = d.add("Sum", d.add("Where", "pairs", energy, b=0.0))

    def peer(ops: Any, v: Any, data: Any) -> Any:
        away = v["x"][:, None, :] - v["x"][None, :, :]
        square = ops.where(data["pairs"], ops.total(away * away, 2), 1.0)
        sixth = square**-3.0
        return ops.sum(ops.where(data["pairs"], 4.0 * (sixth * sixth - sixth), 0.0))

    return Workload(
        "particles", f"Lennard-Jones energy of {count} particles by broadcasting",
        d.diagram(end), variables, data, peer, 1,
    )  # fmt: skip


def classes() -> Workload:
    """Cross-entropy over as many classes as a vocabulary has words."""
    batch, width, count = 128, 64, 32_000
    variables = {"w": normal(count, width, seed=1, scale=width**-0.5)}
    rng = np.random.default_rng(2)
    data = {"x": normal(batch, width, seed=3), "t": rng.integers(0, count, batch)}
    d = drawn(variables, data)

    def peer(ops: Any, v: Any, data: Any) -> Any:
        return ops.cross_entropy(ops.linear(data["x"], v["w"]), data["t"])

    return Workload(
        "classes", f"cross-entropy of {batch} rows over {count:,} classes",
        d.diagram(d.add("CrossEntropy", d.add("Linear", "x", "w"), "t")),
        variables, data, peer, 1,
    )  # fmt: skip


def contrastive() -> Workload:
    """Pairs found among all others by similarity, from both sides."""
    batch, width, warmth = 1024, 128, 0.07
    variables = {"a": normal(width, width, seed=1, scale=width**-0.5),
                 "b": normal(width, width, seed=2, scale=width**-0.5)}  # fmt: skip
    x = normal(batch, width, seed=3)
    data = {"x": x, "y": x + normal(batch, width, seed=4, scale=0.3),
            "t": np.arange(batch)}  # fmt: skip
    d = drawn(variables, data)

    def unit(x: str, weight: str) -> str:
        y = d.add("Linear", x, weight)
        return d.add("Div", y, d.add("Norm", y, axis=[1], keepdims=True))

    columns = d.add("Transpose", unit("y", "b"), perm=[1, 0])
    scores = d.add("Div", d.add("MatMul", unit("x", "a"), columns), b=warmth)
    found = d.add("CrossEntropy", scores, "t")
    back = d.add("CrossEntropy", d.add("Transpose", scores, perm=[1, 0]), "t")
    end = d.add("Mul", d.add("Add", found, back), b=0.5)

    def peer(ops: Any, v: Any, data: Any) -> Any:
        a = ops.normalised(ops.linear(data["x"], v["a"]))
        b = ops.normalised(ops.linear(data["y"], v["b"]))
        scores = ops.matmul(a, ops.transpose(b, (1, 0))) / warmth
        found = ops.cross_entropy(scores, data["t"])
        return 0.5 * (found + ops.cross_entropy(ops.transpose(scores, (1, 0)), data["t"]))

    return Workload(
        "contrastive", f"contrastive loss, {batch:,} × {batch:,} similarities",
        d.diagram(end), variables, data, peer, 1,
    )  # fmt: skip
