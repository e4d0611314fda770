"""Watching in the places where people train: thin over ``gradwire.watch``.

    from gradwire.integrations import LightningWatch, TrainerWatch, KerasWatch, watch_engine
    from gradwire.integrations import watch_optimizer  # of optax
    from gradwire.integrations import to_mlflow, to_tensorboard, to_wandb

Each imports its host when it is asked for, and none before.
"""

from importlib import import_module

_MODULES = {
    "KerasWatch": "keras",
    "LightningWatch": "lightning",
    "TrainerWatch": "transformers",
    "to_mlflow": "loggers",
    "to_tensorboard": "loggers",
    "to_wandb": "loggers",
    "watch_engine": "ignite",
    "watch_optimizer": "optax",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
