"""Custom ``autograd.Function``s: the values of their forward, with the gradients of their backward.

These are read in the program's own backward pass: nothing is probed. Where the operators of a
forward are known, its value is that of any run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.torch.capture.arrays import is_transformed
from gradwire.runtime.interchange.importing.torch.memory import Tensor

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.capture.recording import Recording

_TRANSPARENT = frozenset({"BackwardHookFunction"})
"""Functions of torch that pass everything on."""
_RECOMPUTING = frozenset({"CheckpointFunction"})


def applied(
    recording: Recording, function: Any, call: Callable[[], Any], args: Sequence[Any]
) -> Any:
    """The result of a custom function, with its rule put up."""
    if not recording.active or is_transformed():
        return call()
    if function.__name__ in _RECOMPUTING and torch.is_grad_enabled() and _is_tracked(args):
        with recording.paused(), recording.here():
            recording.stage.remark(
                "note", "A checkpoint computes this twice; the diagram does once."
            )
        return args[0](*args[2:])  # the graph of the checkpoint has nothing that it encloses
    with recording.paused(), torch._C.DisableTorchFunction():
        given = [x for x in args if isinstance(x, torch.Tensor)]
        for x in given:
            recording.entry(x)
        since = recording.regions.time
    recording.inside_function += 1
    before = recording.region
    try:
        result = call()
    finally:
        recording.inside_function -= 1
        recording.region = before
    if recording.inside_function or not torch.is_grad_enabled():
        return result
    with recording.paused(), torch._C.DisableTorchFunction(), recording.here():
        outputs = result if isinstance(result, tuple) else (result,)
        tensors = [x for x in outputs if isinstance(x, torch.Tensor)]
        name = function.__name__
        name = "checkpoint" if name in _RECOMPUTING else name
        if name in _TRANSPARENT:
            _hooked(recording, tensors, given, since)
        else:
            tracked = [x for x in tensors if x.requires_grad]
            for x in tensors:
                if not x.requires_grad and recording.knows(x):
                    recording.forget_gradient(x, name)
            fresh = [x for x in given if not any(x is output for output in tensors)]
            _record(recording, name, tracked, fresh, since)
    return result


def _record(
    recording: Recording, name: str, outputs: Sequence[Any], given: Sequence[Any], since: int
) -> None:
    """Put up outputs whose gradient no block has: those of this run."""
    if not outputs:
        return
    found = [recording.entry(x).value for x in outputs if recording.knows(x)]
    forward = [value for value in found if isinstance(value, Staged)]
    is_known = len(outputs) == len(forward) == 1
    made = recording.regions.put_up(name, outputs, given, since, forward if is_known else ())
    for output, entry in zip(outputs, made, strict=True):
        recording.bind(output, entry)


def _hooked(recording: Recording, outputs: Sequence[Any], given: Sequence[Any], since: int) -> None:
    """Put up what backward hooks of a module do to the gradient of each tensor."""
    for output, x in zip(outputs, given, strict=True):
        value = recording.entry(x).read()
        if not output.requires_grad:
            recording.bind(output, Tensor(value))
            continue
        name = "module hook"
        (made,) = recording.regions.put_up(name, [output], [x], since, [value], is_own=True)
        recording.bind(output, made)


def _is_tracked(args: Sequence[Any]) -> bool:
    return any(isinstance(x, torch.Tensor) and x.requires_grad for x in args)
