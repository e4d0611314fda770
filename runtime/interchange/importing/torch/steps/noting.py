"""Where optimisers and scalers say that they act."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch.amp.grad_scaler import GradScaler
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from gradwire.runtime.interchange.importing.torch.capture.patching import announced
from gradwire.runtime.interchange.importing.torch.steps.ledger import owned

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.capture.recording import CaptureRecording


@contextmanager
def noted(recording: CaptureRecording) -> Iterator[None]:
    """Keep account of steps, scales and what unscales meanwhile."""
    ledger, history = recording.ledger, recording.history

    def quietly(tell: Callable[..., None], *args: object) -> None:
        if not recording.is_frozen:
            with recording.paused():
                tell(*args)

    def before(*_: object) -> None:
        history.stepping = True

    def after(optimizer: Optimizer, *_: object) -> None:
        history.stepping = False
        quietly(ledger.step, optimizer)

    def scaled(scaler: GradScaler, *_: object) -> None:
        if scaler.is_enabled():
            ledger.scaled(scaler.get_scale())

    def unscaled(_: object, optimizer: Optimizer, *__: object) -> None:
        ledger.unscaled(optimizer)

    def tried(*_: object) -> None:
        ledger.is_tried = True

    def cleared(of: Optimizer | torch.nn.Module, *_: object) -> None:
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
            stack.enter_context(announced(cls, name, partial(quietly, tell)))
        yield
