"""Writes the Keras files of the tests and ``keras.npz``, what Keras itself finds for them.

Run it where Keras is installed; the tests need only what it writes.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parents[1] / "data"
RNG = np.random.default_rng(13)
# No dependencies of the project: only whoever renews the data needs them.
tf = import_module("tensorflow")
keras = import_module("keras")
layers = keras.layers


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def perceptron() -> Any:
    """A Sequential model that is compiled, one layer of it frozen."""
    model = keras.Sequential(
        [
            layers.Input((8,)),
            layers.Dense(16, activation="relu", name="hidden"),
            layers.BatchNormalization(),
            layers.Dropout(0.25),
            layers.Dense(6, activation="tanh", name="frozen", trainable=False),
            layers.Dense(3, activation="softmax", name="classes"),
        ],
        name="perceptron",
    )
    model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy")
    return model


def images() -> Any:
    """A functional model: a residual block of convolutions."""
    x = inputs = layers.Input((12, 12, 3), name="picture")
    x = layers.Rescaling(1 / 2, offset=0.25)(x)
    x = layers.Conv2D(8, 3, padding="same", activation="relu", name="stem")(x)
    side = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
    x = layers.Add(name="sum")([x, side])
    x = layers.MaxPooling2D()(x)
    x = layers.ZeroPadding2D(((1, 0), (0, 1)))(x)
    x = layers.SeparableConv2D(6, 3, strides=2)(x)
    x = layers.AveragePooling2D(2, padding="same")(x)
    x = layers.UpSampling2D(2)(x)
    x = layers.Conv2DTranspose(4, 3, strides=2, padding="same")(x)
    both = [layers.GlobalAveragePooling2D()(x), layers.GlobalMaxPooling2D()(x)]
    x = layers.Concatenate()(both)
    model = keras.Model(inputs, layers.Dense(4, name="scores")(x), name="images")
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    return model


def words() -> Any:
    """Recurrent layers of all kinds over words."""
    x = inputs = layers.Input((7,), dtype="int32", name="words")
    x = layers.Embedding(11, 5)(x)
    x = layers.LSTM(4, return_sequences=True)(x)
    x = layers.Bidirectional(layers.GRU(3, return_sequences=True))(x)
    x = layers.SimpleRNN(5, return_sequences=True, go_backwards=True)(x)
    x = layers.Conv1D(4, 3, padding="causal", activation="swish")(x)
    x = layers.TimeDistributed(layers.Dense(3))(x)
    last = layers.LSTM(3)(x)
    model = keras.Model(inputs, layers.Dense(2)(layers.Flatten()(last)), name="words")
    model.compile(keras.optimizers.RMSprop(), keras.losses.MeanAbsoluteError())
    return model


def attention() -> Any:
    """A block of a transformer, its layers shared by two inputs."""
    one, other = layers.Input((6, 8), name="one"), layers.Input((6, 8), name="other")
    attend = layers.MultiHeadAttention(2, 3, name="attend")
    norm = layers.LayerNormalization(name="norm")
    first = norm(layers.Add()([one, attend(one, one)]))
    second = norm(layers.Add()([other, attend(other, first)]))
    y = layers.Multiply()([first, layers.Activation("gelu")(second)])
    y = layers.Permute((2, 1))(y)
    y = layers.Reshape((4, 12))(y)
    model = keras.Model([one, other], layers.PReLU()(y), name="attention")
    model.compile("adamw", "mean_squared_error")
    return model


TARGETS = {
    "perceptron": lambda y: np.arange(y.shape[0]) % y.shape[1],
    "images": lambda y: np.ones(y.shape, np.float32),
    "words": lambda y: np.ones(y.shape, np.float32),
    "attention": lambda y: np.ones(y.shape, np.float32),
}


def numbers(name: str, model: Any) -> dict[str, np.ndarray]:
    """What a model gives in use, the loss of it, and the gradients of all that is trained."""
    xs = []
    for x in model.inputs:
        shape = (4, *x.shape[1:])
        whole = x.dtype == "int32"
        xs.append(RNG.integers(0, 11, shape).astype(np.int32) if whole else draw(*shape))
    for weight in model.weights:
        extra = 0.1 * np.abs(draw(*weight.shape))
        weight.assign(weight.numpy() + extra)
    given = xs if len(xs) > 1 else xs[0]
    with tf.GradientTape() as tape:
        y = model(given, training=False)
        target = TARGETS[name](y)
        loss = model.compute_loss(given, target, y)
    found = {f"{name}/x{i}": x for i, x in enumerate(xs)}
    found |= {f"{name}/y": y.numpy(), f"{name}/target": target, f"{name}/loss": loss.numpy()}
    variables = model.trainable_variables
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        found[f"{name}/gradient/{variable.path}"] = tf.convert_to_tensor(gradient).numpy()
    return found


def main() -> None:
    """Write the files."""
    keras.utils.set_random_seed(5)
    found: dict[str, np.ndarray] = {}
    for make in (perceptron, images, words, attention):
        model = make()
        found |= numbers(model.name, model)
        model.optimizer.build([])
        model.save(DATA / f"{model.name}.keras")
    np.savez_compressed(DATA / "keras.npz", **found)


if __name__ == "__main__":
    main()
