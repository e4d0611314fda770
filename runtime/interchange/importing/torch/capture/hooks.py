"""Hooks on tensors: what they make of gradients is read in the program's own backward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.capture.numbers import is_derived
from gradwire.runtime.interchange.importing.torch.inspection import tensors_in
from gradwire.runtime.interchange.importing.torch.places import place_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.capture.recording import CaptureRecording
    from gradwire.runtime.interchange.importing.torch.memory import TrackedTensor
    from gradwire.runtime.interchange.importing.torch.types import Call, Hook, Module, Tensor

OUTLIVES = "what reads it would outlive what is recorded of the program"
"""Why no hook of a parameter is read in a live program."""


def hooked(
    recording: CaptureRecording, entry: TrackedTensor, tensor: Tensor, hook: Hook, call: Call
) -> Any:
    """Set a hook on a tensor by ``call``, and add what it does to the gradient."""
    region = recording.regions.hook(tensor, entry, "hook", _written(hook))
    return call() if region is None else recording.regions.around(region, tensor, call)


def hooked_last(
    recording: CaptureRecording, entry: TrackedTensor, tensor: Tensor, *hooks: Hook
) -> None:
    """Add what hooks make of a gradient that has been accumulated."""
    written = " and ".join(dict.fromkeys(map(_written, hooks)))
    recording.regions.hook(tensor, entry, "hook", written, is_last=True)


def hooked_in_vain(recording: CaptureRecording, module: Module, result: object) -> None:
    """Add the hooks of a module on what it gives where gradient is off: nobody has called them,
    so that what they would make of a gradient is not known.
    """
    hooks = [*module._backward_pre_hooks.values(), *module._backward_hooks.values()]
    if not hooks or torch.is_grad_enabled():
        return
    written = " and ".join(dict.fromkeys(map(_written, hooks)))
    with recording.paused(), torch._C.DisableTorchFunction(), recording.here():
        for tensor in tensors_in(result):
            value = recording.value_of(tensor)
            if value is not None and value.is_float and is_derived(value):
                made = recording.regions.unasked_hook(tensor, value, written)
                recording.entry(tensor).value = made


def _written(hook: Hook) -> str:
    """What a hook is called, and where it is written: ``mask_hook (train.py:31)``."""
    name = getattr(hook, "__name__", type(hook).__name__)
    code = getattr(hook, "__code__", None)
    place = "" if code is None else f" ({place_of(code.co_filename, code.co_firstlineno).line})"
    return f"{'a hook' if name == '<lambda>' else name}{place}"


def hooks_before(recording: CaptureRecording, entry: TrackedTensor, tensor: Tensor) -> None:
    """Add the hooks that a parameter had before the run."""
    hooks = tensor._backward_hooks
    if recording.live and (hooks or getattr(tensor, "_post_accumulate_grad_hooks", None)):
        raise UnsupportedError("a hook", OUTLIVES)
    if hooks:
        names = dict.fromkeys(_written(hook) for hook in hooks.values())
        region = recording.regions.hook(tensor, entry, "hook", " and ".join(names))
        if region is not None:
            theirs = dict(hooks)  # torch calls them in the order in which they are in the mapping
            hooks.clear()
            recording.regions.around(region, tensor, lambda: hooks.update(theirs))
    if after := getattr(tensor, "_post_accumulate_grad_hooks", None):
        hooked_last(recording, entry, tensor, *after.values())
