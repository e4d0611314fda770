"""Hooks that change gradient: those of tensors by asking them, those of modules by remarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gradwire.runtime.interchange.importing.torch.capture.arrays import numbers_of
from gradwire.runtime.interchange.importing.torch.places import place_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.torch.capture.recording import Recording
    from gradwire.runtime.interchange.importing.torch.memory import Tensor


def hooked(recording: Recording, entry: Tensor, tensor: Any, hook: Callable[[Any], Any]) -> None:
    """Put up what a hook on a tensor does to its gradient."""
    factor = _factor(tensor, hook)
    if factor == 1:
        return
    if factor is None:
        value = entry.read()
        if value.source is not None:
            recording.hooks[value.source, value.port] = _written(hook)
        recording.stage.remark(
            "lost", "A hook changes this gradient, not by a factor: the diagram leaves it as it is."
        )
        return
    entry.value = _scaled(recording, entry.read(), factor)
    recording.stage.remark("note", f"A hook multiplies this gradient by {factor:g}.", entry.value)


def _written(hook: Callable[[Any], Any]) -> str:
    """What a hook is called, and where it is written: ``mask_hook (train.py:31)``."""
    name = getattr(hook, "__name__", type(hook).__name__)
    code = getattr(hook, "__code__", None)
    place = "" if code is None else f" ({place_of(code.co_filename, code.co_firstlineno).line})"
    return f"{'a hook' if name == '<lambda>' else name}{place}"


def hooks_before(recording: Recording, entry: Tensor, tensor: Any) -> None:
    """Put up the hooks that a parameter had before the run."""
    for hook in (tensor._backward_hooks or {}).values():
        hooked(recording, entry, tensor, hook)
    if getattr(tensor, "_post_accumulate_grad_hooks", None):
        recording.stage.remark(
            "lost",
            "A hook runs after this gradient is accumulated; a diagram has none.",
            entry.read(),
        )


def hooks_of(recording: Recording, name: str, module: Any) -> None:
    """Say that a module has backward hooks, which may change gradient."""
    if module._backward_hooks or module._backward_pre_hooks:
        recording.stage.remark(
            "lost",
            f"The backward hooks of {name or 'the model'} are not in the diagram; the check "
            "against PyTorch shows whether they change gradients.",
        )


def _scaled(recording: Recording, value: Staged, factor: float) -> Staged:
    kind = "GradientReversal" if factor < 0 else "GradientScale"
    return recording.stage.block(kind, value, scale=abs(factor), name="hook")


def _factor(tensor: Any, hook: Callable[[Any], Any]) -> float | None:
    """The number by which a hook multiplies a gradient; 1 for one that only looks."""
    draw = torch.Generator().manual_seed(0)
    ratios = []
    for _ in range(2):
        given = (torch.rand(tensor.shape, generator=draw) + 0.5).to(tensor.dtype)
        try:
            found = hook(given.clone())
        except Exception:  # whatever the user's hook raises for a gradient that it doesn't expect
            return None
        if found is None:
            return 1.0
        ratios.append(numbers_of(found).ravel() / numbers_of(given).ravel())
    ratio = np.concatenate(ratios)
    k = float(np.median(ratio)) if ratio.size else 1.0
    return round(k, 6) if np.allclose(ratio, k, rtol=1e-4, atol=1e-6) else None
