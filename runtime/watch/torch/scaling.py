"""What is not finite because a GradScaler multiplies it, and no trouble."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from gradwire.runtime.watch.torch.measures import is_finite


def are_finite(sizes: Sequence[float], has_loss: bool) -> bool:
    """Whether sizes of gradients are finite, and that of the loss, which is last if it is there: a
    GradScaler may make it infinite, and gradients of it are finite all the same.
    """
    if math.isfinite(sum(sizes)):
        return True
    is_loss_alone = has_loss and math.isfinite(sum(sizes[:-1])) and math.isinf(sizes[-1])
    return is_loss_alone and _is_scaled()


def is_skipped(parameters: Iterable[Any]) -> bool:
    """Whether a GradScaler skips the step that these parameters have gradients for."""
    gradients = (p.grad for p in parameters if p.grad is not None)
    return not all(map(is_finite, gradients)) and _is_scaled()


def _is_scaled() -> bool:
    """Whether the program has a GradScaler."""
    # Not by isinstance, which asks proxies for more than their type.
    scalers = (x for x in gc.get_objects() if issubclass(type(x), torch.amp.GradScaler))
    return any(x.is_enabled() for x in scalers)
