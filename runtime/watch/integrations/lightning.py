"""A callback of Lightning that watches a training, of automatic and of manual optimisation."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradwire.runtime.watch.entry import watch

if TYPE_CHECKING:
    from gradwire.runtime.watch.report import Report
    from gradwire.runtime.watch.torch.watching import Watch

# The older package has its own classes: the one that the program uses is there already.
_NAME = "pytorch_lightning" if "pytorch_lightning" in sys.modules else "lightning.pytorch"
_Callback: Any = import_module(_NAME).Callback


class LightningWatch(_Callback):  # type: ignore[misc]  # Lightning need not be installed
    """``Trainer(callbacks=[LightningWatch()])``; options are those of ``gradwire.watch``.

    ``watched`` is there from the start of the training on, and stays when it has ended.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.watched: Watch | None = None
        self._options = options

    @property
    def report(self) -> Report | None:
        """What was found; None before a training."""
        return None if self.watched is None else self.watched.report()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin."""
        self.watched = watch(pl_module, list(trainer.optimizers), **self._options)

    def on_before_optimizer_step(self, trainer: object, pl_module: object, optimizer: Any) -> None:
        """Look before the update: the optimiser's own hook comes before the gradients do."""
        if self.watched is not None:
            self.watched.before_step(optimizer)

    def on_train_end(self, trainer: object, pl_module: object) -> None:
        """End."""
        if self.watched is not None:
            self.watched.close()

    def on_exception(self, trainer: object, pl_module: object, exception: BaseException) -> None:
        """End, and say what led to the error as far as it was seen."""
        self.on_train_end(trainer, pl_module)
