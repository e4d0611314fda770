"""What a model was compiled with: its loss with a target, and its optimiser as a recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram.optimisers import METHODS, Method
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.interchange.importing.keras.call import Config
from gradwire.runtime.interchange.importing.meanings import losses
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.imported import Imported
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

TARGET = "target"
_SHORT = {"mse": "mean_squared_error", "mae": "mean_absolute_error"}


def put_up_loss(stage: Stage, y: Staged, compiled: object, target: object) -> bool:
    """The loss of a model's only output, with an Input for the target; whether it has one.

    A loss that is not standard is remarked.
    """
    name, config = _loss_of(compiled)
    if not name:
        return False
    value = _loss(stage, y, name, config, target)
    if value is None:
        stage.remark("lost", f"The loss {name[:80]!r} can't be expressed: add one in the editor.")
        return False
    stage.loss(value)
    return True


def _loss_of(compiled: object) -> tuple[str, Config]:
    """The name of the loss in snake case, and its settings."""
    given = compiled.get("loss") if isinstance(compiled, dict) else None
    settings: Mapping[str, object] = {}
    if isinstance(given, dict):
        inner = given.get("config")
        settings = inner if isinstance(inner, dict) else {}
        given = str(given.get("class_name", ""))
        given = "".join(f"_{c.lower()}" if c.isupper() else c for c in given).strip("_")
    if given is None:
        return "", Config({})
    name = given if isinstance(given, str) else "of several outputs"
    return _SHORT.get(name, name), Config(settings)


def _loss(stage: Stage, y: Staged, name: str, config: Config, target: object) -> Staged | None:
    if config.text("reduction", "sum_over_batch_size") not in ("sum_over_batch_size", "mean"):
        return None
    if config.number("label_smoothing", 0.0):
        return None
    if name not in _LOSSES:
        return None
    sparse = name.startswith("sparse")
    shape, dtype = (y.shape[:-1], "int64") if sparse else (y.shape, "float32")
    return _LOSSES[name](y, _target(stage, shape, dtype, target), config)


def _binary(y: Staged, target: Staged, config: Config) -> Staged:
    logits = y if config.flag("from_logits", False) else _before(y, "Sigmoid")
    if logits is None:
        return losses.binary(y, target, given="probabilities")
    return losses.binary(logits, target, given="logits")


def _categorical(y: Staged, target: Staged, config: Config) -> Staged:
    logits = y if config.flag("from_logits", False) else _before(y, "Softmax")
    if logits is None:
        logits = put("Log", put("Clip", y, min=1e-7, max=1.0))
    return losses.cross_entropy(logits, target)


_LOSSES: dict[str, Callable[[Staged, Staged, Config], Staged]] = {
    "mean_squared_error": lambda y, target, _: losses.distance("MeanSquaredError", y, target),
    "mean_absolute_error": lambda y, target, _: losses.distance("MeanAbsoluteError", y, target),
    "huber": lambda y, target, config: losses.distance(
        "Huber", y, target, delta=config.number("delta", 1.0)
    ),
    "poisson": lambda y, target, _: losses.poisson(y, target, logarithm=False, eps=1e-7),
    "binary_crossentropy": _binary,
    "categorical_crossentropy": _categorical,
    "sparse_categorical_crossentropy": _categorical,
}


def _before(y: Staged, kind: str) -> Staged | None:
    """What goes into an activation, if the value is what comes out of one."""
    if y.source is None or y.source.block.type_name() != kind:
        return None
    return next(iter(y.source.inputs.values()))


def _target(stage: Stage, shape: Shape, dtype: str, given: object) -> Staged:
    """The Input of the target: what is given, else zeros."""
    numbers = np.zeros(shape, dtype) if given is None else np.asarray(given, dtype).reshape(shape)
    return stage.input(TARGET, numbers)


def with_recipe(imported: Imported, compiled: object) -> Imported:
    """An import with the optimiser that the model was compiled with, if it is known."""
    given = compiled.get("optimizer") if isinstance(compiled, dict) else None
    if isinstance(given, dict) and isinstance(given.get("config"), dict):
        kind, config = str(given.get("class_name", "")), Config(given["config"])
    elif isinstance(given, str):
        kind, config = given, Config({})
    else:
        return imported
    try:
        method = _method(kind.lower(), config)
    except GradwireError:
        method = None  # a schedule for the rate, say
    if method is None:
        return imported
    training = Training(
        optimisers=(OptimiserRule(name="optimiser", method=method, variables=("**",)),)
    )
    return replace(imported, diagram=replace(imported.diagram, training=training))


def _method(kind: str, config: Config) -> Method | None:
    known = {cls.title().lower(): cls for cls in METHODS if cls.keras}
    if kind not in known:
        return None
    found: dict[str, Any] = {}
    for name, (field, default) in known[kind].keras.items():
        read = config.flag if isinstance(default, bool) else config.number
        value = read(name, default)
        found[field] = (*found.get(field, ()), value) if field == "betas" else value
    if "decoupled_weight_decay" in known[kind].model_fields:
        found["decoupled_weight_decay"] = found.get("weight_decay", 0.0) > 0
    if found.get("nesterov"):
        found["nesterov"] = found["momentum"] > 0
    return known[kind](**found)
