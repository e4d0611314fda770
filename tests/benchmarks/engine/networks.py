"""Networks that people train: transformers, recurrent ones, an autoencoder, a critic, images."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.workloads import Array, Drawing, Workload


def normal(*shape: int, seed: int, scale: float = 1.0) -> Array:
    """Normally distributed numbers."""
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def drawn(variables: dict[str, Array], data: dict[str, Any]) -> Drawing:
    """A drawing with variables and inputs."""
    d = Drawing()
    for name, value in variables.items():
        d.variable(name, value)
    for name, value in data.items():
        d.input(name, value)
    return d


def dense_weights(sizes: dict[str, tuple[int, int]]) -> dict[str, Array]:
    """A matrix (out, in) and a bias for each name, as ``name`` and ``name_b``."""
    found: dict[str, Array] = {}
    for seed, (name, (n, m)) in enumerate(sizes.items()):
        found[name] = normal(m, n, seed=seed, scale=n**-0.5)
        found[f"{name}_b"] = normal(m, seed=seed + 100, scale=0.1)
    return found


def _encoder(name: str, before: bool) -> Workload:
    """An encoder block with layer norms before or after attention and feed-forward."""
    batch, length, width, heads = 8, 64, 256, 4
    each = width // heads
    variables = dense_weights(
        {key: (width, width) for key in ("q", "k", "v", "o")}
        | {"f": (width, 4 * width), "g": (4 * width, width)}
    )
    for key in ("n1", "n2"):
        variables |= {key: np.ones(width, np.float32), f"{key}_b": np.zeros(width, np.float32)}
    data = {"x": normal(batch, length, width, seed=5), "t": normal(batch, length, width, seed=6)}
    d = drawn(variables, data)

    def dense(x: str, key: str) -> str:
        return d.add("Linear", x, key, f"{key}_b")

    def norm(x: str, key: str) -> str:
        return d.add("LayerNorm", x, key, f"{key}_b")

    def split(x: str) -> str:
        parts = d.add("Reshape", x, shape=[batch, length, heads, each])
        return d.add("Transpose", parts, perm=[0, 2, 1, 3])

    def attention(x: str) -> str:
        mixed = d.add("Attention", *(split(dense(x, key)) for key in "qkv"))
        back = d.add("Transpose", mixed, perm=[0, 2, 1, 3])
        return dense(d.add("Reshape", back, shape=[batch, length, width]), "o")

    def forward(x: str) -> str:
        return dense(d.add("Gelu", dense(x, "f")), "g")

    if before:
        h = d.add("Add", "x", attention(norm("x", "n1")))
        y = d.add("Add", h, forward(norm(h, "n2")))
    else:
        h = norm(d.add("Add", "x", attention("x")), "n1")
        y = norm(d.add("Add", h, forward(h)), "n2")

    def peer(ops: Any, v: Any, data: Any) -> Any:
        def dense(x: Any, key: str) -> Any:
            return ops.dense(x, v[key], v[f"{key}_b"])

        def norm(x: Any, key: str) -> Any:
            return ops.layer_norm(x, v[key], v[f"{key}_b"])

        def split(x: Any) -> Any:
            return ops.transpose(ops.reshape(x, (batch, length, heads, each)), (0, 2, 1, 3))

        def attention(x: Any) -> Any:
            mixed = ops.attend(*(split(dense(x, key)) for key in "qkv"))
            flat = ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (batch, length, width))
            return dense(flat, "o")

        def forward(x: Any) -> Any:
            return dense(ops.gelu(dense(x, "f")), "g")

        x = data["x"]
        if before:
            h = x + attention(norm(x, "n1"))
            y = h + forward(norm(h, "n2"))
        else:
            h = norm(x + attention(x), "n1")
            y = norm(h + forward(h), "n2")
        error = y - data["t"]
        return ops.mean(error * error)

    about = f"transformer encoder, {name}: batch {batch}, length {length}, width {width}"
    return Workload(name, about, d.diagram(d.add("MeanSquaredError", y, "t")),
                    variables, data, peer, 1)  # fmt: skip


def pre_norm() -> Workload:
    """Layer norms before attention and feed-forward."""
    return _encoder("pre-norm", before=True)


def post_norm() -> Workload:
    """Layer norms after them."""
    return _encoder("post-norm", before=False)


def masked() -> Workload:
    """Attention in which some keys are padding and no query attends to later keys."""
    batch, heads, length, each = 4, 4, 128, 64
    variables = {
        key: normal(batch, heads, length, each, seed=i) for i, key in enumerate(("q", "k", "v"))
    }
    lengths = np.random.default_rng(7).integers(length // 2, length, batch)
    mask = np.tri(length, dtype=bool) & (np.arange(length) < lengths[:, None, None, None])
    data = {"mask": mask, "t": normal(batch, heads, length, each, seed=6)}
    d = drawn(variables, data)
    y = d.add("Attention", "q", "k", "v", "mask")

    def peer(ops: Any, v: Any, data: Any) -> Any:
        error = ops.attend(v["q"], v["k"], v["v"], data["mask"]) - data["t"]
        return ops.mean(error * error)

    return Workload(
        "masked", f"attention with mask: {batch * heads} heads, length {length}, depth {each}",
        d.diagram(d.add("MeanSquaredError", y, "t")), variables, data, peer, 1,
    )  # fmt: skip


def _recurrent(name: str, gates: int) -> tuple[dict[str, Array], dict[str, Any], Drawing]:
    steps, batch, width, hidden = 32, 32, 64, 128
    variables = {
        "w": normal(gates * hidden, width, seed=1, scale=width**-0.5),
        "u": normal(gates * hidden, hidden, seed=2, scale=hidden**-0.5),
        "b": normal(gates * hidden, seed=3, scale=0.1),
    }
    if name == "gru":
        variables["c"] = normal(gates * hidden, seed=4, scale=0.1)
    data = {"x": normal(steps, batch, width, seed=5), "t": normal(batch, hidden, seed=6)}
    return variables, data, drawn(variables, data)


def _part(d: Drawing, x: str, number: int, batch: int, size: int) -> str:
    return d.add("Slice", x, begin=[0, number * size], size=[batch, size])


def lstm() -> Workload:
    """A long short-term memory, step by step."""
    variables, data, d = _recurrent("lstm", 4)
    steps, batch, _ = data["x"].shape
    hidden = variables["u"].shape[1]
    inputs = d.add("Linear", "x", "w", "b")
    h = c = ""
    for step in range(steps):
        row = d.add("Slice", inputs, begin=[step, 0, 0], size=[1, batch, 4 * hidden])
        z = d.add("Reshape", row, shape=[batch, 4 * hidden])
        if h:
            z = d.add("Add", z, d.add("Linear", h, "u"))
        i, f, g, o = (_part(d, z, number, batch, hidden) for number in range(4))
        new = d.add("Mul", d.add("Sigmoid", i), d.add("Tanh", g))
        c = d.add("Add", d.add("Mul", d.add("Sigmoid", f), c), new) if c else new
        h = d.add("Mul", d.add("Sigmoid", o), d.add("Tanh", c))

    def peer(ops: Any, v: Any, data: Any) -> Any:
        error = ops.reshape(ops.lstm(data["x"], v), (batch, hidden)) - data["t"]
        return ops.mean(error * error)

    return Workload(
        "lstm", f"LSTM, {steps} steps, batch {batch}, {hidden} units",
        d.diagram(d.add("MeanSquaredError", h, "t")), variables, data, peer, 1,
    )  # fmt: skip


def gru() -> Workload:
    """A gated recurrent unit, step by step."""
    variables, data, d = _recurrent("gru", 3)
    steps, batch, _ = data["x"].shape
    hidden = variables["u"].shape[1]
    inputs = d.add("Linear", "x", "w", "b")
    zeros = d.add("Constant", value=0.0)
    h = d.add("Broadcast", zeros, shape=[batch, hidden])
    for step in range(steps):
        row = d.add("Slice", inputs, begin=[step, 0, 0], size=[1, batch, 3 * hidden])
        given = d.add("Reshape", row, shape=[batch, 3 * hidden])
        own = d.add("Linear", h, "u", "c")
        r, z, n = (_part(d, given, number, batch, hidden) for number in range(3))
        a, b, e = (_part(d, own, number, batch, hidden) for number in range(3))
        r, z = d.add("Sigmoid", d.add("Add", r, a)), d.add("Sigmoid", d.add("Add", z, b))
        n = d.add("Tanh", d.add("Add", n, d.add("Mul", r, e)))
        h = d.add("Add", n, d.add("Mul", z, d.add("Sub", h, n)))

    def peer(ops: Any, v: Any, data: Any) -> Any:
        error = ops.reshape(ops.gru(data["x"], v), (batch, hidden)) - data["t"]
        return ops.mean(error * error)

    return Workload(
        "gru", f"GRU, {steps} steps, batch {batch}, {hidden} units",
        d.diagram(d.add("MeanSquaredError", h, "t")), variables, data, peer, 1,
    )  # fmt: skip


def penalty() -> Workload:
    """A critic whose gradient should have norm 1: derivatives of derivatives."""
    batch, width, hidden = 64, 64, 256
    variables = dense_weights({"a": (width, hidden), "b": (hidden, hidden), "c": (hidden, 1)})
    data = {"x": normal(batch, width, seed=5)}
    d = drawn(variables, data)

    def critic(x: str) -> str:
        y = d.add("Softplus", d.add("Linear", x, "a", "a_b"))
        return d.add("Linear", d.add("Softplus", d.add("Linear", y, "b", "b_b")), "c", "c_b")

    y = critic("x")
    slope = d.add("Gradient", d.add("Sum", y), "x")
    norm = d.add("Sqrt", d.add("Sum", d.add("Square", slope), axis=[1]))
    far = d.add("Mean", d.add("Square", d.add("Sub", norm, b=1.0)))
    end = d.add("Add", d.add("Mean", y), d.add("Mul", far, b=10.0))

    def peer(ops: Any, v: Any, data: Any) -> Any:
        def critic(x: Any) -> Any:
            y = ops.softplus(ops.dense(x, v["a"], v["a_b"]))
            return ops.dense(ops.softplus(ops.dense(y, v["b"], v["b_b"])), v["c"], v["c_b"])

        slope = ops.gradient(critic, data["x"])
        far = ops.total(slope * slope, 1) ** 0.5 - 1
        return ops.mean(critic(data["x"])) + 10 * ops.mean(far * far)

    return Workload(
        "penalty", f"gradient penalty of a critic {width}-{hidden}-{hidden}-1, batch {batch}",
        d.diagram(end), variables, data, peer, 1,
    )  # fmt: skip


def vae() -> Workload:
    """A variational autoencoder 784-400-20 with noise that is fed."""
    batch, pixels, hidden, code = 128, 784, 400, 20
    variables = dense_weights({"e": (pixels, hidden), "m": (hidden, code), "s": (hidden, code),
                               "d": (code, hidden), "p": (hidden, pixels)})  # fmt: skip
    image = np.random.default_rng(3).uniform(0, 1, (batch, pixels)).astype(np.float32)
    data = {"x": image, "noise": normal(batch, code, seed=6)}
    d = drawn(variables, data)

    def dense(x: str, key: str) -> str:
        return d.add("Linear", x, key, f"{key}_b")

    h = d.add("Relu", dense("x", "e"))
    mean, log = dense(h, "m"), dense(h, "s")
    sampled = d.add("Mul", d.add("Exp", d.add("Mul", log, b=0.5)), "noise")
    logits = dense(d.add("Relu", dense(d.add("Add", mean, sampled), "d")), "p")
    told = d.add("BinaryCrossEntropy", logits, "x", reduction="sum")
    inner = d.add("Sub", d.add("Sub", d.add("Add", log, b=1.0), d.add("Square", mean)),
                  d.add("Exp", log))  # fmt: skip
    loss = d.add("Add", told, d.add("Mul", d.add("Sum", inner), b=-0.5))

    def peer(ops: Any, v: Any, data: Any) -> Any:
        def dense(x: Any, key: str) -> Any:
            return ops.dense(x, v[key], v[f"{key}_b"])

        h = ops.relu(dense(data["x"], "e"))
        mean, log = dense(h, "m"), dense(h, "s")
        code = mean + ops.exp(0.5 * log) * data["noise"]
        logits = dense(ops.relu(dense(code, "d")), "p")
        inner = 1 + log - mean * mean - ops.exp(log)
        return (ops.binary(logits, data["x"]) + -0.5 * ops.sum(inner)) / batch

    return Workload(
        "vae", f"variational autoencoder {pixels}-{hidden}-{code}, batch {batch}",
        d.diagram(d.add("Div", loss, b=float(batch))), variables, data, peer, 1,
    )  # fmt: skip


def grouped() -> Workload:
    """Depthwise and pointwise convolutions, as in networks for telephones."""
    batch, channels, size = 16, 32, 28
    variables = {
        "d": normal(channels, 1, 3, 3, seed=1, scale=0.3),
        "p": normal(2 * channels, channels, 1, 1, seed=2, scale=channels**-0.5),
        "g": normal(2 * channels, 8, 3, 3, seed=3, scale=0.1),
        "w": normal(10, 2 * channels, seed=4, scale=0.1),
        "b": np.zeros(10, np.float32),
    }
    data = {
        "x": normal(batch, channels, size, size, seed=5),
        "t": np.random.default_rng(6).integers(0, 10, batch),
    }
    d = drawn(variables, data)
    y = d.add("Relu", d.add("Conv2D", "x", "d", padding="same", groups=channels))
    y = d.add("Relu", d.add("Conv2D", y, "p", padding="same"))
    y = d.add("Relu", d.add("Conv2D", y, "g", padding="same", groups=8))
    logits = d.add("Linear", d.add("Mean", y, axis=[2, 3]), "w", "b")

    def peer(ops: Any, v: Any, data: Any) -> Any:
        y = ops.relu(ops.grouped(data["x"], v["d"], channels))
        y = ops.relu(ops.grouped(y, v["p"], 1))
        y = ops.relu(ops.grouped(y, v["g"], 8))
        return ops.cross_entropy(ops.dense(ops.middle(y, (2, 3)), v["w"], v["b"]), data["t"])

    return Workload(
        "groups", f"depthwise, pointwise and grouped convolutions, batch {batch}",
        d.diagram(d.add("CrossEntropy", logits, "t")), variables, data, peer, 1,
    )  # fmt: skip
