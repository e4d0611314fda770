"""Watching in the places where people train: thin over ``gradwire.watch``.

    from gradwire.integrations import LightningWatch, TrainerWatch, KerasWatch, watch_engine
    from gradwire.integrations import watch_optimizer  # of optax
    from gradwire.integrations import to_mlflow, to_tensorboard, to_wandb

Each imports its host when it is asked for, and none before.
"""
