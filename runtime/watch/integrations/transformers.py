"""A callback of the Trainer of Hugging Face Transformers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradwire.runtime.watch.entry import watch

if TYPE_CHECKING:
    from gradwire.runtime.watch.report import Report
    from gradwire.runtime.watch.torch.watching import Watch

_Callback: Any = import_module("transformers").TrainerCallback


class TrainerWatch(_Callback):  # type: ignore[misc]  # Transformers need not be installed
    """``Trainer(..., callbacks=[TrainerWatch()])``; options are those of ``gradwire.watch``.

    ``watched`` is there from the start of the training on, and stays when it has ended.
    """

    def __init__(self, **options: Any) -> None:
        self.watched: Watch | None = None
        self._options = options

    @property
    def report(self) -> Report | None:
        """What was found; None before a training."""
        return None if self.watched is None else self.watched.report()

    def on_train_begin(
        self,
        args: object,
        state: object,
        control: object,
        model: Any = None,
        optimizer: Any = None,
        **_: object,
    ) -> None:
        """Begin."""
        self.watched = watch(model, optimizer, **self._options)

    def on_train_end(self, args: object, state: object, control: object, **_: object) -> None:
        """End."""
        if self.watched is not None:
            self.watched.close()
