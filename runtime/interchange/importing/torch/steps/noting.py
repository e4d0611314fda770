"""Where optimisers and scalers say that they act."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch.amp.grad_scaler import GradScaler
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from gradwire.runtime.interchange.importing.torch.steps.ledger import owned

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.capture.recording import CaptureRecording


@contextmanager
def noted(recording: CaptureRecording) -> Iterator[None]:
    """Keep account of steps, scales and what unscales meanwhile."""
    ledger, history = recording.ledger, recording.history

    def before(*_: Any) -> None:
        history.stepping = True

    def after(optimizer: Any, *_: Any) -> None:
        history.stepping = False
        if not recording.is_frozen:
            with recording.paused():
                ledger.step(optimizer)

    def scaled(scaler: Any, *_: Any) -> None:
        if scaler.is_enabled():
            ledger.scaled(scaler.get_scale())

    def unscaled(_: Any, optimizer: Any, *__: Any) -> None:
        ledger.unscaled(optimizer)

    def tried(*_: Any) -> None:
        ledger.is_tried = True

    def cleared(of: Any, *_: Any) -> None:
        is_optimizer = isinstance(of, Optimizer)
        for leaf in owned(of) if is_optimizer else of.parameters():
            ledger.cleared(leaf, "zero_grad()", id(of) if is_optimizer else 0)

    telling = (
        (GradScaler, "scale", scaled),
        (GradScaler, "unscale_", unscaled),
        (GradScaler, "step", tried),
        (Optimizer, "zero_grad", cleared),
        (torch.nn.Module, "zero_grad", cleared),
    )
    with ExitStack() as stack:
        stack.callback(register_optimizer_step_pre_hook(before).remove)
        stack.callback(register_optimizer_step_post_hook(after).remove)
        for cls, name, tell in telling:
            stack.enter_context(_telling(recording, cls, name, tell))
        yield


@contextmanager
def _telling(
    recording: CaptureRecording, cls: Any, name: str, tell: Callable[..., None]
) -> Iterator[None]:
    """Let a method of a class say that it has been called."""
    real = vars(cls)[name]

    @wraps(real)
    def method(*args: Any, **kwargs: Any) -> Any:
        if not recording.is_frozen:
            with recording.paused():
                tell(*args)
        return real(*args, **kwargs)

    setattr(cls, name, method)
    try:
        yield
    finally:
        setattr(cls, name, real)
