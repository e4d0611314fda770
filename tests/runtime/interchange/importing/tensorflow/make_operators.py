"""Writes ``operators.npz``: small graphs with the losses and gradients that TensorFlow finds.

Run it where TensorFlow is installed; the tests need only the file.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

# No dependency of the project: only whoever renews the data needs it.
tf = import_module("tensorflow")
conversion = import_module("tensorflow.python.framework.convert_to_constants")
frozen = conversion.convert_variables_to_constants_v2
DATA = Path(__file__).parents[1] / "data"
RNG = np.random.default_rng(7)


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> np.ndarray:
    return np.abs(draw(*shape)) + np.float32(0.3)


Case = tuple[Callable[..., Any], list[np.ndarray]]
UNARY = {
    name: getattr(tf.math, name)
    for name in (
        "abs", "ceil", "cos", "exp", "expm1", "floor", "negative", "round", "sigmoid", "sign",
        "sin", "softplus", "square", "tanh", "tan", "sinh", "cosh", "asinh", "atan", "erf",
        "softsign", "log_sigmoid",
    )
}  # fmt: skip
POSITIVE = {
    name: getattr(tf.math, name) for name in ("log", "log1p", "sqrt", "rsqrt", "reciprocal")
}
UNARY |= {name: getattr(tf.nn, name) for name in ("relu", "relu6", "elu", "selu", "leaky_relu")}
UNARY |= {
    "gelu": tf.nn.gelu, "silu": tf.nn.silu, "clip": lambda x: tf.clip_by_value(x, -0.5, 0.5),
}  # fmt: skip
BINARY = {
    name: getattr(tf.math, name)
    for name in (
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "squared_difference",
        "atan2", "divide_no_nan", "floormod",
    )
}  # fmt: skip
X, Y, P = draw(3, 4), draw(3, 4), positive(3, 4)
IMAGE = draw(1, 5, 6, 3)
ROW = draw(2, 9, 3)
VOLUME = draw(1, 4, 5, 4, 2)
BATCH = [draw(2, 3, 4), draw(2, 4, 5)]
INDICES = np.array([[0, 2], [2, 1]], np.int32)
LABELS = np.array([1, 0, 3], np.int32)
SPARSE = tf.nn.sparse_softmax_cross_entropy_with_logits


def while_loop(x: Any) -> Any:
    """Four steps of a map, the count and the value carried."""
    state = tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, tf.tanh(x * 1.5)), (0, x))
    return state[1]


def scan_rows(x: Any, w: Any) -> Any:
    """A recurrence over rows, all states stacked."""
    return tf.scan(lambda h, row: tf.tanh(row + tf.linalg.matvec(w, h)), x, tf.zeros(4))


CASES: dict[str, Case] = {
    **{name: (f, [X]) for name, f in UNARY.items()},
    **{name: (f, [P]) for name, f in POSITIVE.items()},
    **{name: (f, [X, Y]) for name, f in BINARY.items()},
    "pow": (tf.pow, [P, Y]),
    "broadcast_add": (lambda x, y: x + y[:, None] * y[0], [X, draw(3)]),
    "stop": (lambda x: x * tf.stop_gradient(x * 2.0), [X]),
    "matmul": (lambda a, b: tf.matmul(a, b, transpose_b=True), [X, Y]),
    "matmul_a": (lambda a, b: tf.matmul(a, b, transpose_a=True), [X, Y]),
    "batch_matmul": (tf.matmul, BATCH),
    "batch_matmul_adj": (lambda a, b: tf.matmul(a, b, transpose_b=True), [BATCH[0], draw(2, 5, 4)]),
    "einsum": (lambda a, b: tf.einsum("bij,bjk->bik", a, b), BATCH),
    "einsum_dots": (lambda a, b: tf.einsum("...ij,jk->...ik", a, b), [BATCH[0], draw(4, 2)]),
    "sum": (lambda x: tf.reduce_sum(x, 0), [X]),
    "mean": (lambda x: tf.reduce_mean(x, [0, 1], keepdims=True), [X]),
    "max": (lambda x: tf.reduce_max(x, -1), [X]),
    "min": (lambda x: tf.reduce_min(x, 1), [X]),
    "prod": (lambda x: tf.reduce_prod(x, 1), [X]),
    "logsumexp": (lambda x: tf.reduce_logsumexp(x, 1), [X]),
    "variance": (lambda x: tf.math.reduce_variance(x, 1), [X]),
    "norm": (lambda x: tf.norm(x, axis=1), [X]),
    "l2_normalize": (lambda x: tf.math.l2_normalize(x, 1), [X]),
    "cumsum": (lambda x: tf.cumsum(x, 1), [X]),
    "cumsum_back": (lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True), [X]),
    "addn": (lambda x, y: tf.add_n([x, y, x]), [X, Y]),
    "reshape": (lambda x: tf.reshape(x, [-1, 2, 3]), [X]),
    "shape_of": (lambda x: tf.reshape(x, [tf.shape(x)[1], -1]), [X]),
    "transpose": (lambda x: tf.transpose(x, [2, 0, 1]), [BATCH[0]]),
    "expand": (lambda x: tf.expand_dims(x, -1) * x[None, 0, 1], [X]),
    "squeeze": (lambda x: tf.squeeze(x[:, None, :, None], [1]), [X]),
    "slice": (lambda x: tf.slice(x, [1, 0], [-1, 3]), [X]),
    "strided": (lambda x: x[::-1, 1:4:2], [X]),
    "masks": (lambda x: x[..., tf.newaxis, -1], [BATCH[0]]),
    "masks_shrink": (lambda x: x[1, :, :-1], [BATCH[0]]),
    "concat": (lambda x, y: tf.concat([x, y], 1), [X, Y]),
    "stack": (lambda x, y: tf.stack([x, y], 1), [X, Y]),
    "unstack": (lambda x: tf.unstack(x, axis=1)[2], [X]),
    "split": (lambda x: tf.split(x, 2, 1)[1], [X]),
    "split_sizes": (lambda x: tf.split(x, [1, 3], 1)[1], [X]),
    "tile": (lambda x: tf.tile(x, [2, 3]), [X]),
    "repeat": (lambda x: tf.repeat(x, 2, 1), [X]),
    "broadcast_to": (lambda x: tf.broadcast_to(x, [2, 3, 4]), [X]),
    "pad": (lambda x: tf.pad(x, [[1, 0], [0, 2]]), [X]),
    "pad_value": (lambda x: tf.pad(x, [[1, 0], [0, 2]], constant_values=2.0), [X]),
    "pad_mirror": (lambda x: tf.pad(x, [[1, 0], [2, 2]], "REFLECT"), [X]),
    "reverse": (lambda x: tf.reverse(x, [1]), [X]),
    "roll": (lambda x: tf.roll(x, 1, 1), [X]),
    "gather": (lambda x: tf.gather(x, INDICES, axis=1), [X]),
    "gather_rows": (lambda x: tf.nn.embedding_lookup(x, INDICES), [X]),
    "gather_nd": (lambda x: tf.gather_nd(x, [[0, 1], [2, 3]]), [X]),
    "gather_batch": (lambda x: tf.gather(x, [[0], [2], [3]], axis=1, batch_dims=1), [X]),
    "one_hot": (lambda x: x * tf.one_hot([1, 3, 0], 4, 2.0, -1.0), [X]),
    "where": (lambda x, y: tf.where(x > 0.2, y, x * x), [X, Y]),
    "compare": (lambda x, y: tf.cast(tf.logical_and(x > y, y != 0.0), tf.float32) * x, [X, Y]),
    "argmax": (lambda x: tf.cast(tf.argmax(x, 1), tf.float32) * x[:, 0], [X]),
    "top_k": (lambda x: tf.math.top_k(x, 2).values, [X]),
    "sort": (lambda x: tf.sort(x, axis=1), [X]),
    "range": (lambda x: x * tf.cast(tf.range(4), tf.float32), [X]),
    "fill": (lambda x: x + tf.fill([3, 4], 2.5) + tf.ones_like(x) - tf.zeros_like(x), [X]),
    "eye": (lambda x: x @ tf.eye(4), [X]),
    "band": (lambda x: tf.linalg.band_part(x, -1, 0), [X]),
    "diag": (lambda x: tf.linalg.diag(x[0]), [X]),
    "softmax": (tf.nn.softmax, [X]),
    "log_softmax": (tf.nn.log_softmax, [X]),
    "sparse_cross_entropy": (lambda x: SPARSE(labels=LABELS, logits=x), [X]),
    "cross_entropy": (
        lambda x: tf.nn.softmax_cross_entropy_with_logits(tf.one_hot(LABELS, 4), x), [X],
    ),
    "sigmoid_cross_entropy": (
        lambda x: tf.nn.sigmoid_cross_entropy_with_logits(tf.ones_like(x), x), [X],
    ),
    "l2_loss": (tf.nn.l2_loss, [X]),
    "bias": (tf.nn.bias_add, [IMAGE, draw(3)]),
    "conv_same": (lambda x, w: tf.nn.conv2d(x, w, 2, "SAME"), [IMAGE, draw(3, 2, 3, 4)]),
    "conv_valid": (
        lambda x, w: tf.nn.conv2d(x, w, 1, "VALID", dilations=2), [IMAGE, draw(3, 2, 3, 4)],
    ),
    "conv_explicit": (
        lambda x, w: tf.nn.conv2d(x, w, [1, 2], [[0, 0], [1, 2], [0, 1], [0, 0]]),
        [IMAGE, draw(3, 2, 3, 4)],
    ),
    "conv_groups": (
        lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), [draw(2, 5, 5, 4), draw(3, 3, 2, 6)],
    ),
    "conv_one": (lambda x, w: tf.nn.conv1d(x, w, 2, "SAME"), [ROW, draw(3, 3, 4)]),
    "conv_three": (
        lambda x, w: tf.nn.conv3d(x, w, [1, 1, 2, 1, 1], "SAME"), [VOLUME, draw(2, 3, 2, 2, 3)],
    ),
    "conv_transpose": (
        lambda x, w: tf.nn.conv2d_transpose(x, w, [1, 10, 12, 4], 2, "SAME"),
        [IMAGE, draw(3, 3, 4, 3)],
    ),
    "depthwise": (
        lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME"), [IMAGE, draw(3, 3, 3, 2)],
    ),
    "max_pool": (lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"), [IMAGE]),
    "max_pool_one": (lambda x: tf.nn.max_pool1d(x, 2, 2, "VALID"), [ROW]),
    "avg_pool": (lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID"), [IMAGE]),
    "avg_pool_same": (lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME"), [IMAGE]),
    "batch_norm": (
        lambda x, g, b, m, v: tf.compat.v1.nn.fused_batch_norm(
            x, g, b, tf.stop_gradient(m), tf.stop_gradient(v), is_training=False)[0],
        [IMAGE, draw(3), draw(3), draw(3), positive(3)],
    ),
    "batch_norm_training": (
        lambda x, g, b: tf.compat.v1.nn.fused_batch_norm(x, g, b, is_training=True)[0],
        [IMAGE, draw(3), draw(3)],
    ),
    "cond": (lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: -x), [X]),
    "while": (while_loop, [X]),
    "scan": (scan_rows, [X, draw(4, 4)]),
    "inverse": (tf.linalg.inv, [draw(3, 3) + 3 * np.eye(3, dtype=np.float32)]),
    "resize": (lambda x: tf.image.resize(x, [10, 12], "nearest"), [IMAGE]),
    "scatter": (lambda x: tf.scatter_nd([[0], [4], [0]], x, [5, 4]), [X]),
    "update": (lambda x, y: tf.tensor_scatter_nd_update(x, [[1]], y[:1]), [X, Y]),
    "segment_sum": (lambda x: tf.math.unsorted_segment_sum(x, [0, 2, 0], 3), [X]),
}  # fmt: skip


def _read(number: int, variable: Any) -> Any:
    """The value of a variable, whose constant is called ``x0/…`` once the graph is frozen."""
    with tf.name_scope(f"x{number}"):
        return variable.read_value()


def case(function: Callable[..., Any], arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    """The frozen graph of a weighted sum of what a function gives, its value and gradients."""
    variables = [tf.Variable(array, name=f"x{i}") for i, array in enumerate(arrays)]

    @tf.function(autograph=False)
    def loss() -> Any:
        y = function(*(_read(i, variable) for i, variable in enumerate(variables)))
        size = y.shape.num_elements()
        weights = np.cos(np.arange(size)).astype(np.float32).reshape(y.shape)
        return tf.reduce_sum(y * weights)

    graph = frozen(loss.get_concrete_function(), lower_control_flow=False).graph.as_graph_def()
    graph.ClearField("debug_info")
    with tf.GradientTape() as tape:
        value = loss()
    gradients = tape.gradient(value, variables)
    made = {"graph": np.frombuffer(graph.SerializeToString(), np.uint8), "loss": value.numpy()}
    for i, gradient in enumerate(gradients):
        if gradient is not None:
            made[f"gradient{i}"] = tf.convert_to_tensor(gradient).numpy()
    return made


def main() -> None:
    """Write the file."""
    found = {}
    for name, (function, arrays) in CASES.items():
        for key, array in case(function, arrays).items():
            found[f"{name}/{key}"] = array
    np.savez_compressed(DATA / "operators.npz", **found)


if __name__ == "__main__":
    main()
