"""Series of gradients for loggers: ``gw.watch(model, on_look=to_tensorboard(writer))``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from gradwire.runtime.watch.torch.watching import Watch

OnLook: TypeAlias = "Callable[[Watch], None]"


def series(watched: Watch) -> Mapping[str, float]:
    """What was measured at the last look, by name: ``gradient rms/encoder.weight``.

    Ratios of update and weight are of the last step that they were taken of.
    """
    sizes = ((name, size) for name, size in watched.sizes.items() if size is not None)
    found = {f"gradient rms/{name}": size for name, size in sizes}
    found |= {f"update ratio/{name}": ratio for name, ratio in watched.ratios.items()}
    return found | {"gradwire findings": float(len(watched.found))}


def to_tensorboard(writer: Any) -> OnLook:
    """Write series to a SummaryWriter of TensorBoard."""

    def look(watched: Watch) -> None:
        for name, value in series(watched).items():
            writer.add_scalar(name, value, watched.steps)

    return look


def to_wandb(run: Any = None) -> OnLook:
    """Log series to a run of Weights & Biases; by default to the one that is active."""
    target = import_module("wandb") if run is None else run

    def look(watched: Watch) -> None:
        target.log(dict(series(watched)), commit=False)

    return look


def to_mlflow() -> OnLook:
    """Log series to the active run of MLflow."""
    mlflow = import_module("mlflow")

    def look(watched: Watch) -> None:
        # MLflow allows fewer characters in names than modules and parameters have.
        found = {name.replace("[", "(").replace("]", ")"): v for name, v in series(watched).items()}
        mlflow.log_metrics(found, step=watched.steps)

    return look
