"""Custom ``autograd.Function``s: what their backward does is found by asking it.

A rule that passes on a multiple of the gradient is a StraightThrough, GradientScale or
GradientReversal block. Any other rule has no block; then the forward is put up as it is, and a
remark says whether its derivative agrees with the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.capture.arrays import numbers_of
from gradwire.runtime.interchange.importing.torch.capture.frames import user_place
from gradwire.runtime.interchange.importing.torch.memory import Tensor

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.torch.capture.recording import Recording

_TRANSPARENT = frozenset({"BackwardHookFunction"})
"""Functions of torch that pass everything on."""
_RECOMPUTING = frozenset({"CheckpointFunction"})


def applied(
    recording: Recording, function: Any, call: Callable[[], Any], args: Sequence[Any]
) -> Any:
    """The result of a custom function, with its rule put up."""
    if not recording.active:
        return call()
    recording.inside_function += 1
    before = recording.region
    try:
        result = call()
    finally:
        recording.inside_function -= 1
        recording.region = before
    if recording.inside_function or not torch.is_grad_enabled():
        return result
    with recording.paused(), torch._C.DisableTorchFunction():
        with recording.here():
            outputs = result if isinstance(result, tuple) else (result,)
            for output in outputs:
                if isinstance(output, torch.Tensor):
                    _Rule(recording, function.__name__, args).put_up(output)
    return result


class _Rule:
    """The rule of one custom function for one of its outputs."""

    def __init__(self, recording: Recording, name: str, args: Sequence[Any]) -> None:
        self._recording = recording
        self._stage = recording.stage
        self._name = name
        self._inputs = [
            x
            for x in args
            if isinstance(x, torch.Tensor) and x.requires_grad and x.is_floating_point()
        ]

    def put_up(self, output: Any) -> None:
        """Make the entry of an output have the gradient that the function gives."""
        recording = self._recording
        if not recording.knows(output):
            error = UnsupportedError(
                self._name, "its forward has no operators that are known",
                written=user_place().written,
            )  # fmt: skip
            recording.bind(output, Tensor(error, live=output.requires_grad))
            return
        if not output.requires_grad:
            checkpoints = self._name in _RECOMPUTING
            recording.forget_gradient(output, "checkpoint" if checkpoints else self._name)
            return
        entry = recording.entry(output)
        if isinstance(entry.value, UnsupportedError):
            return
        if self._name in _TRANSPARENT or self._name in _RECOMPUTING:
            self._pass_on(output, entry)
            return
        factors = [self._factor(output, x) for x in self._inputs]
        known = [(x, k) for x, k in zip(self._inputs, factors, strict=True) if k != 0.0]
        only, factor = known[0] if len(known) == 1 else (None, None)
        if factor is not None:
            self._scaled(output, entry, only, factor)
        elif not known:
            stop = recording.performer.stopped(Tensor(entry.read(), live=True), self._name)
            recording.bind(output, Tensor(stop))
        else:
            self._as_forward(output, entry)

    def _pass_on(self, output: Any, entry: Tensor) -> None:
        if self._name in _RECOMPUTING:
            self._stage.remark("note", "A checkpoint computes this twice; the diagram does once.")
        self._recording.bind(output, Tensor(entry.read(), live=True))

    def _factor(self, output: Any, x: Any) -> float | None:
        """The k by which gradient is passed on to x; 0 for none, None where there is no such k."""
        if x.shape != output.shape:
            return None if self._gradient(output, x) is not None else 0.0
        factor: float | None = None
        for seed in (1, 2):
            given = _drawn(output, seed)
            found = self._gradient(output, x, given)
            if found is None:
                return 0.0
            ratio = numbers_of(found).ravel() / numbers_of(given).ravel()
            k = float(np.median(ratio)) if ratio.size else 1.0
            if not np.allclose(ratio, k, rtol=1e-4, atol=1e-5):
                return None
            if factor is not None and not np.isclose(k, factor, rtol=1e-4):
                return None
            factor = k
        return round(factor, 6) if factor else factor

    def _gradient(self, output: Any, x: Any, given: Any = None) -> Any:
        seed = _drawn(output, 0) if given is None else given
        (found,) = torch.autograd.grad(output, x, seed, retain_graph=True, allow_unused=True)
        return found

    def _scaled(self, output: Any, entry: Tensor, x: Any, factor: float) -> None:
        soft = self._multiple(self._recording.entry(x).read(), factor)
        hard = entry.read()
        if _same(output, x):
            value, how = soft, "passes its input on"
        else:
            value = self._stage.block("StraightThrough", hard, soft, name=self._name)
            how = "has a gradient of its own"
        self._stage.remark(
            "note", f"{self._name} {how}: gradient is passed back times {factor:g}.", value
        )
        self._recording.bind(output, Tensor(value, live=True))

    def _multiple(self, x: Staged, factor: float) -> Staged:
        if factor == 1:
            return x
        kind = "GradientReversal" if factor < 0 else "GradientScale"
        return self._stage.block(kind, x, scale=abs(factor), name=self._name)

    def _as_forward(self, output: Any, entry: Tensor) -> None:
        self._stage.remark(
            "lost",
            f"The backward of {self._name} is no multiple of the gradient: the diagram has the "
            "derivative of its forward instead.",
        )
        self._recording.bind(output, Tensor(entry.read(), live=True))


def _drawn(like: Any, seed: int) -> Any:
    draw = torch.Generator().manual_seed(seed)
    return (torch.rand(like.shape, generator=draw) + 0.5).to(like.dtype).to(like.device)


def _same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(numbers_of(a), numbers_of(b)))
