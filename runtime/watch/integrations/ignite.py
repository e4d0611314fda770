"""Watching while an engine of PyTorch Ignite runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradwire.runtime.watch.entry import watch

if TYPE_CHECKING:
    from gradwire.runtime.watch.torch.watching import Watch

_events: Any = import_module("ignite.engine").Events


def watch_engine(engine: Any, model: Any, optimizer: Any = None, **options: Any) -> Watch:
    """Watch from now until an engine has completed its run, or raised; see ``gradwire.watch``."""
    watched = watch(model, optimizer, **options)

    def end(_: Any, error: BaseException | None = None) -> None:
        watched.close()
        if error is not None:
            raise error

    engine.add_event_handler(_events.COMPLETED, end)
    engine.add_event_handler(_events.EXCEPTION_RAISED, end)
    return watched
