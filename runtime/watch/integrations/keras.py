"""A callback of Keras 3 on its backend for PyTorch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradwire.blocks.errors import RunError
from gradwire.runtime.watch.entry import watch

if TYPE_CHECKING:
    from gradwire.runtime.watch.report import Report
    from gradwire.runtime.watch.torch.watching import Watch

_keras: Any = import_module("keras")


class KerasWatch(_keras.callbacks.Callback):  # type: ignore[misc]  # Keras need not be installed
    """``model.fit(..., callbacks=[KerasWatch()])``; options are those of ``gradwire.watch``.

    Gradients are looked at once a batch is over. ``watched`` is there from the start of the
    training on, and stays when it has ended. Raises RunError on another backend than PyTorch.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.watched: Watch | None = None
        self._options = options

    @property
    def report(self) -> Report | None:
        """What was found; None before a training."""
        return None if self.watched is None else self.watched.report()

    def on_train_begin(self, logs: object = None) -> None:
        """Begin."""
        if _keras.backend.backend() != "torch":
            raise RunError(
                "Trainings of Keras can be watched on its backend for PyTorch only.",
                got=_keras.backend.backend(),
                next_step="Set KERAS_BACKEND=torch, or import the saved model.",
            )
        self.watched = watch(self.model, **self._options)

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        """Look at the gradients of the batch."""
        if self.watched is not None:
            self.watched.step()

    def on_train_end(self, logs: object = None) -> None:
        """End."""
        if self.watched is not None:
            self.watched.close()
