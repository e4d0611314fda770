"""Writes ``models.npz`` and the folder ``q_learning``: models with what TensorFlow finds of them.

Run it where TensorFlow is installed; the tests need only what it writes.
"""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

# No dependency of the project: only whoever renews the data needs it.
tf = import_module("tensorflow")
conversion = import_module("tensorflow.python.framework.convert_to_constants")
frozen = conversion.convert_variables_to_constants_v2
DATA = Path(__file__).parents[1] / "data"
RNG = np.random.default_rng(11)


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


class Agent(tf.Module):
    """A Q-learner: its target is behind a stop, in a function of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.w1 = tf.Variable(draw(4, 8), name="hidden/kernel")
        self.b1 = tf.Variable(draw(8), name="hidden/bias")
        self.w2 = tf.Variable(draw(8, 2), name="values/kernel")
        self.seen = tf.Variable(3.0, trainable=False, name="seen")

    @tf.function
    def values(self, states: Any) -> Any:
        hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(states, self.w1), self.b1))
        return tf.matmul(hidden, self.w2) * self.seen

    @tf.function
    def loss(self, states: Any, actions: Any, rewards: Any, following: Any) -> Any:
        with tf.name_scope("target"):
            best = tf.reduce_max(self.values(following), -1)
            target = tf.stop_gradient(rewards + 0.9 * best)
        with tf.name_scope("prediction"):
            chosen = tf.reduce_sum(self.values(states) * tf.one_hot(actions, 2), -1)
        return tf.reduce_mean(tf.math.squared_difference(chosen, target))


def agent() -> dict[str, np.ndarray]:
    """The Q-learner as a folder and as a frozen graph, with its loss and gradients."""
    model = Agent()
    inputs = {
        "states": draw(6, 4), "actions": RNG.integers(0, 2, 6).astype(np.int32),
        "rewards": draw(6), "following": draw(6, 4),
    }  # fmt: skip
    specs = [tf.TensorSpec((None, *a.shape[1:]), a.dtype, name=n) for n, a in inputs.items()]
    function = model.loss.get_concrete_function(*specs)
    folder = DATA / "q_learning"
    shutil.rmtree(folder, ignore_errors=True)
    tf.saved_model.save(
        model, str(folder), function, tf.saved_model.SaveOptions(save_debug_info=False)
    )
    (folder / "fingerprint.pb").unlink()
    graph = frozen(function).graph.as_graph_def()
    with tf.GradientTape() as tape:
        loss = model.loss(*inputs.values())
    variables = {"hidden/kernel": model.w1, "hidden/bias": model.b1, "values/kernel": model.w2}
    gradients = tape.gradient(loss, list(variables.values()))
    found = {f"in/{name}": array for name, array in inputs.items()}
    found |= {f"gradient/{n}": g.numpy() for n, g in zip(variables, gradients, strict=True)}
    found["graph"] = np.frombuffer(graph.SerializeToString(), np.uint8)
    return found | {"loss": loss.numpy()}


def network(model: Any, shape: tuple[int, ...], training: bool) -> dict[str, np.ndarray]:
    """A Keras model's frozen graph, with what it gives for numbers, and gradients of their sum."""
    x = draw(*shape)
    call = tf.function(lambda x: model(x, training=training))
    function = call.get_concrete_function(tf.TensorSpec(shape, tf.float32, name="x"))
    graph = frozen(function).graph.as_graph_def()
    graph.ClearField("debug_info")
    with tf.GradientTape() as tape:
        y = call(tf.constant(x))
        total = tf.reduce_sum(tf.square(y))
    gradients = tape.gradient(total, model.trainable_variables)
    found = {"graph": np.frombuffer(graph.SerializeToString(), np.uint8), "x": x, "y": y.numpy()}
    for i, (variable, gradient) in enumerate(
        zip(model.trainable_variables, gradients, strict=True)
    ):
        found[f"value{i}"], found[f"gradient{i}"] = variable.numpy(), gradient.numpy()
    return found


def main() -> None:
    """Write the files."""
    tf.keras.utils.set_random_seed(5)
    layers = tf.keras.layers
    perceptron = tf.keras.Sequential([
        layers.Input((8,)), layers.Dense(16, activation="relu"), layers.BatchNormalization(),
        layers.Dense(3, activation="softmax"),
    ])  # fmt: skip
    images = tf.keras.Sequential([
        layers.Input((12, 12, 3)), layers.Conv2D(8, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(), layers.Conv2D(8, 3, strides=2), layers.GlobalAveragePooling2D(),
        layers.Dense(4),
    ])  # fmt: skip
    made = {
        "agent": agent(), "perceptron": network(perceptron, (5, 8), False),
        "images": network(images, (2, 12, 12, 3), False),
    }  # fmt: skip
    found = {f"{model}/{key}": array for model, keys in made.items() for key, array in keys.items()}
    np.savez_compressed(DATA / "models.npz", **found)


if __name__ == "__main__":
    main()
