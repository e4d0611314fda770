"""Watching in the places where people train: thin over ``gradwire.watch``.

    from gradwire.integrations import LightningWatch, TrainerWatch, KerasWatch, watch_engine
    from gradwire.integrations import to_mlflow, to_tensorboard, to_wandb

Each imports its host when it is asked for, and none before.
"""

from gradwire.blocks import imported_on_use

__getattr__ = imported_on_use(
    __name__,
    {
        "ignite": "watch_engine",
        "keras": "KerasWatch",
        "lightning": "LightningWatch",
        "loggers": "to_mlflow to_tensorboard to_wandb",
        "transformers": "TrainerWatch",
    },
)
