"""Keras files: those that Keras wrote, and small ones written here."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.interchange.importing.keras.importer import import_keras
from tests.runtime.interchange.importing.tensorflow.fixtures import DATA, Archive, difference

INPUTS = {
    "perceptron": ("input_layer",), "images": ("picture",), "words": ("words",),
    "attention": ("one", "other"),
}  # fmt: skip


def given(name: str, case: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The inputs and the target of a model that Keras wrote, as it ran it."""
    inputs = {key: case[f"x{i}"] for i, key in enumerate(INPUTS[name])}
    return {**inputs, "target": case["target"]}


def imported(name: str) -> Any:
    case = Archive("keras.npz").case(name)
    return import_keras(DATA / f"{name}.keras", arrays=given(name, case))


def gradients(case: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Keras's gradients by the names of variables."""
    start = "gradient/"
    found = {k.removeprefix(start): a for k, a in case.items() if k.startswith(start)}
    return {name.removeprefix("perceptron/"): array for name, array in found.items()}


def as_keras(gradient: NDArray[Any], like: NDArray[Any]) -> NDArray[Any]:
    """A gradient with its axes in Keras's order: outputs come first in blocks, last there."""
    if gradient.shape == like.shape and gradient.ndim != 2:
        return gradient
    turned = gradient.T if gradient.ndim == 2 else np.moveaxis(gradient, (0, 1), (-1, -2))
    if turned.size == like.size and turned.shape != like.shape:  # by channel
        split = gradient.reshape(*like.shape[-2:], *like.shape[:-2])
        turned = np.moveaxis(split, (0, 1), (-2, -1))
    return turned if turned.shape == like.shape else gradient


def closest(gradient: NDArray[Any], wanted: NDArray[Any]) -> float:
    """The difference to Keras's gradient, in the layout that the block has."""
    own = difference(gradient, wanted) if gradient.shape == wanted.shape else float("inf")
    return min(own, difference(as_keras(gradient, wanted), wanted))


def layer(kind: str, name: str, **config: Any) -> dict[str, Any]:
    module = "keras.layers"
    return {"module": module, "class_name": kind, "config": {"name": name, **config},
            "registered_name": None}  # fmt: skip


def sequential(*layers: dict[str, Any], shape: tuple[int | None, ...] = (None, 3)) -> Any:
    first = layer("InputLayer", "x", batch_shape=list(shape), dtype="float32")
    model = layer("Sequential", "model", layers=[first, *layers])
    return {**model, "module": "keras"}


def save(
    folder: Path, document: Any, fill: Callable[[Any], None] | None = None, name: str = "m.keras"
) -> Path:
    """Write a file; ``fill`` puts the weights into the HDF5 file."""
    import h5py

    stored = io.BytesIO()
    with h5py.File(stored, "w") as file:
        if fill is not None:
            fill(file)
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "config.json", document if isinstance(document, str) else json.dumps(document)
        )
        archive.writestr("model.weights.h5", stored.getvalue())
    return path
