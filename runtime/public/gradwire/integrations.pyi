from gradwire.runtime.watch.integrations.ignite import watch_engine as watch_engine
from gradwire.runtime.watch.integrations.keras import KerasWatch as KerasWatch
from gradwire.runtime.watch.integrations.lightning import LightningWatch as LightningWatch
from gradwire.runtime.watch.integrations.loggers import (
    to_mlflow as to_mlflow,
    to_tensorboard as to_tensorboard,
    to_wandb as to_wandb,
)
from gradwire.runtime.watch.integrations.optax import watch_optimizer as watch_optimizer
from gradwire.runtime.watch.integrations.transformers import TrainerWatch as TrainerWatch
