"""Custom ``autograd.Function``s: the values of their forward, with the gradients of their backward.

These are read in the program's own backward pass: nothing is probed. Where the operators of a
forward are known, its value is that of any run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.capture.arrays import is_transformed
from gradwire.runtime.interchange.importing.torch.capture.numbers import is_derived
from gradwire.runtime.interchange.importing.torch.memory import TrackedTensor
from gradwire.runtime.interchange.importing.torch.recorded.asking import FunctionProbe, RecordedCall
from gradwire.runtime.interchange.importing.torch.recorded.edges import Old, old_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.capture.recording import CaptureRecording
    from gradwire.runtime.interchange.importing.torch.memory import Cut
    from gradwire.runtime.interchange.importing.torch.types import (
        Args,
        Call,
        EdgeKey,
        Function,
        Tensor,
    )

_TRANSPARENT = frozenset({"BackwardHookFunction"})
"""Functions of torch that pass everything on."""
_RECOMPUTING = frozenset({"CheckpointFunction"})


def applied(recording: CaptureRecording, function: type[Function], call: Call, args: Args) -> Any:
    """The result of a custom function, with its rule added."""
    if not recording.active or is_transformed():
        return call()
    if function.__name__ in _RECOMPUTING and torch.is_grad_enabled() and _is_tracked(args):
        if recording.live:
            raise UnsupportedError("a reentrant checkpoint", "its gradients come by another pass")
        with recording.paused(), recording.here():
            recording.stage.remark(
                "note", "A checkpoint computes this twice; the diagram does once."
            )
        return args[0](*args[2:])  # the graph of the checkpoint has nothing that it encloses
    with recording.paused(), torch._C.DisableTorchFunction():
        given = [x for x in args if isinstance(x, torch.Tensor)]
        old = old_of(recording, given)
        since = recording.regions.time
    recording.inside_function += 1
    before = recording.region
    inside = recording.inside = recording.inside or FunctionProbe(given)
    try:
        result = call()
    finally:
        recording.inside_function -= 1
        recording.region = before
        if not recording.inside_function:
            recording.inside = None
    if recording.inside_function:
        return result
    with recording.paused(), torch._C.DisableTorchFunction(), recording.here():
        outputs = result if isinstance(result, tuple) else (result,)
        tensors = [x for x in outputs if isinstance(x, torch.Tensor)]
        name = function.__name__
        name = "checkpoint" if name in _RECOMPUTING else name
        if name in _TRANSPARENT and torch.is_grad_enabled():
            _hooked(recording, tensors, given, since)
            return result
        off = None if torch.is_grad_enabled() else before or recording.cut_here("no_grad")
        is_cut = any(is_derived(was.value) for was in old.values())
        is_asked = off is None and _is_tracked(given)
        is_unasked = is_cut and not is_asked and function.__name__ not in _RECOMPUTING

        def again(*outputs: Tensor) -> RecordedCall | None:
            places = {id(x): place for place, x in enumerate(tensors)}
            picks = [places[id(x)] for x in outputs]
            made = RecordedCall(function.apply, args, {}, picks, False, inside.why_not)
            return None if function.__name__ in _RECOMPUTING else made

        record = partial(_record, recording, name, old=old, since=since, cut=off)
        together = []
        for x in tensors:
            value = None if x.requires_grad else recording.value_of(x)
            if value is None:
                together.append(x)
            elif is_unasked:  # its backward is not known, and not the one of its operators
                record([x], again(x))
            else:
                recording.forget_gradient(x, name if off is None else off.name)
        record(together, again(*together))
    return result


def _record(
    recording: CaptureRecording,
    name: str,
    outputs: Sequence[Tensor],
    call: RecordedCall | None,
    *,
    old: Mapping[EdgeKey, Old],
    since: int,
    cut: Cut | None,
) -> None:
    """Add outputs whose gradient no block has: those of this run, and of the call in any other,
    unless a cut is here.
    """
    if not outputs:
        return
    found = map(recording.value_of, outputs)
    forward = [value for value in found if value is not None]
    is_known = len(outputs) == len(forward) == 1
    made = recording.regions.add(
        name, outputs, (), since, forward if is_known else (), old=old, call=call
    )
    for output, entry in zip(outputs, made, strict=True):
        value = entry.read()
        if cut is not None and value.is_float and is_derived(value):
            entry.cut = cut
        recording.bind(output, entry)


def _hooked(
    recording: CaptureRecording, outputs: Sequence[Tensor], given: Sequence[Tensor], since: int
) -> None:
    """Add what backward hooks of a module do to the gradient of each tensor."""
    for output, x in zip(outputs, given, strict=True):
        value = recording.entry(x).read()
        if not output.requires_grad:
            recording.bind(output, TrackedTensor(value))
            continue
        name = "module hook"
        (made,) = recording.regions.add(name, [output], [x], since, [value], is_own=True)
        recording.bind(output, made)


def _is_tracked(args: Args) -> bool:
    return any(isinstance(x, torch.Tensor) and x.requires_grad for x in args)
