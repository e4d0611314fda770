"""Watching in the places where people train: see ``gradwire.runtime.watch.integrations``."""

from gradwire.blocks import imported_on_use

__getattr__ = imported_on_use(
    "gradwire.runtime.watch",
    {
        "integrations": "KerasWatch LightningWatch TrainerWatch to_mlflow to_tensorboard to_wandb "
        "watch_engine"
    },
)
