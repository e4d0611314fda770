"""What functions that are no operators mean for gradient."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from gradwire.runtime.diagram.comparison import Misstep
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.torch.capture.arrays import dtype_name, numbers_of
from gradwire.runtime.interchange.importing.torch.capture.frames import (
    is_called_by_user,
    region,
    user_place,
)
from gradwire.runtime.interchange.importing.torch.capture.hooks import OUTLIVES, hooked, hooked_last
from gradwire.runtime.interchange.importing.torch.capture.numbers import (
    TracedNumber,
    is_derived,
    joined,
    parts_of,
)
from gradwire.runtime.interchange.importing.torch.capture.recording import (
    BackwardCall,
    CaptureRecording,
)
from gradwire.runtime.interchange.importing.torch.inspection import is_leaf
from gradwire.runtime.interchange.importing.torch.memory import TrackedTensor
from gradwire.runtime.interchange.importing.torch.nested import each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.interchange.importing.torch.types import (
        Args,
        Call,
        Hook,
        Kwargs,
        Program,
        Tensor,
    )

Several: TypeAlias = "Tensor | Sequence[Tensor]"
Weights: TypeAlias = "Sequence[Tensor | None]"
"""What the outputs count that are differentiated; None for 1."""
_LEAVING = frozenset({"numpy", "tolist", "__array__"})
_READING = _LEAVING | {"item", "__float__", "__bool__", "__int__", "__index__"}
_MAKING = {"tensor": 0, "as_tensor": 0, "asarray": 0, "new_tensor": 1, "new": 1}
"""Functions that make tensors of numbers, with the places of what they make them of."""


class Watching:
    """Handles calls of functions of torch, by name."""

    def __init__(self, recording: CaptureRecording) -> None:
        self._recording = recording
        self._special: dict[str, Program] = {
            "data.__get__": self._data,
            "data.__set__": self._set_data,
            "item": self._item,
            "__float__": lambda call, tensor: float(self._item(call, tensor)),
            "_set_grad_enabled": self._set_grad_enabled,
            "requires_grad_": self._requires_grad,
            "requires_grad.__set__": self._requires_grad,
            "register_hook": self._register_hook,
            "register_post_accumulate_grad_hook": self._register_last,
            "backward": self._backward,
            "__bool__": self._decide,
            "__int__": self._decide,
            "__index__": self._decide,
            "grad": self._grad,
            "grad.__get__": self._gradient,
            "grad.__set__": self._set_gradient,
        }

    def called(self, name: str, function: Program, args: Args, kwargs: Kwargs) -> Any:
        """The result of a call, with what it does to gradient added."""
        recording = self._recording
        if name == "data.__get__" or not name.endswith("__get__"):
            for x in (*args, *kwargs.values()):
                recording.read.update(map(id, x if isinstance(x, list | tuple) else (x,)))

        def call() -> Any:
            return function(*args, **kwargs)

        if name in _READING and args[0].is_meta:
            why = "the program reads its numbers, and there are none"
            text = user_place().written
            raise UnsupportedError("a tensor on the meta device", why, written=text)
        if name in self._special:
            return self._special[name](call, *args, **kwargs)
        if name in _LEAVING:
            return self._leaving(name, call, args[0])
        if name in _MAKING:
            place = _MAKING[name]
            data = args[place] if len(args) > place else kwargs.get("data", kwargs.get("obj"))
            return self._making(name, call, data)
        if not recording.left:
            return call()
        before, recording.numbers = recording.numbers, dict(_traced([*args, *kwargs.values()]))
        try:
            return call()
        finally:
            recording.numbers = before

    def _data(self, call: Call, tensor: Tensor) -> Any:
        recording = self._recording
        with recording.paused():
            result = call()
            if recording.knows(tensor) and tensor.numel():
                recording.bind(result, self._detached(tensor, "data"))
        return result

    def _detached(self, tensor: Tensor, name: str) -> TrackedTensor:
        recording = self._recording
        with recording.here():
            entry = recording.entry(tensor)
            entry.read()
            return recording.performer.detached(entry, name=name)

    def _set_data(self, call: Call, tensor: Tensor, other: Tensor) -> Any:
        recording = self._recording
        with recording.paused():
            result = call()
            if recording.knows(other):
                before, entry = recording.entry(tensor), self._detached(other, "data")
                if before.live:  # gradient arrives at it as before
                    values = entry.read(), before.read()
                    made = recording.stage.block("StraightThrough", *values, name="data")
                    entry = TrackedTensor(made, live=True)
                recording.bind(tensor, entry)
        return result

    def _item(self, call: Call, tensor: Tensor) -> Any:
        recording = self._recording
        with recording.paused():
            value = call()
            entry = recording.entry(tensor)
            if not (entry.live or entry.cut is not None) or not isinstance(value, float):
                recording.tell_decided(entry, value)
                return value
            recording.left.append((numbers_of(tensor), entry, recording.cut_here("item")))
            return TracedNumber(value, self._detached(tensor, "item"), recording.tell_decided)

    def _decide(self, call: Call, tensor: Tensor) -> Any:
        recording = self._recording
        with recording.paused():
            value = call()
            if recording.knows(tensor):
                recording.tell_decided(recording.entry(tensor), value)
        return value

    def _leaving(self, name: str, call: Call, tensor: Tensor) -> Any:
        recording = self._recording
        with recording.paused():
            value = call()
            if not recording.knows(tensor):
                return value
            entry = recording.entry(tensor)
            source = entry.value.source if isinstance(entry.value, Staged) else None
            is_stopped = source is not None and source.block.type_name() == "StopGradient"
            if entry.live or entry.cut is not None or is_stopped:  # x.detach().numpy()
                cut = recording.cut_here("numpy" if name == "__array__" else name)
                recording.left.append((numbers_of(tensor), entry, cut))
        return value

    def _making(self, name: str, call: Call, data: object) -> Any:
        """``torch.tensor(x)`` copies numbers without gradient; others may keep the tensor."""
        recording = self._recording
        if isinstance(data, torch.Tensor) and name.startswith("as"):
            return call()
        with recording.paused(), recording.here():
            parts = parts_of(recording, data)
            result = call()
            sizes = (x.read().size if isinstance(x, TrackedTensor) else x.size for x in parts)
            if parts and result is not data and result.numel() == sum(sizes):
                entry = joined(recording, parts, dtype_name(result.dtype))
                entry.value = recording.stage.reshape(entry.read(), tuple(result.shape))
                if result.is_leaf and (is_derived(entry.read()) or not result.requires_grad):
                    recording.bind(result, recording.performer.detached(entry, name=name))
        return result

    def _set_grad_enabled(self, call: Call, mode: bool) -> Any:
        recording = self._recording
        if mode:
            recording.region = None
        elif recording.region is None:
            recording.region = recording.cut_here(region() or "set_grad_enabled")
        return call()

    def _requires_grad(self, call: Call, tensor: Tensor, mode: bool = True, **_: object) -> Any:
        recording = self._recording
        with recording.paused(), recording.here():
            recording.entry(tensor)
            result = call()
            recording.entry(tensor)
        return result

    def _register_hook(self, call: Call, tensor: Tensor, hook: Hook) -> Any:
        recording = self._recording
        if recording.live and is_leaf(tensor):
            raise UnsupportedError("a hook", OUTLIVES)
        with recording.paused(), recording.here():
            return hooked(recording, recording.entry(tensor), tensor, hook, call)

    def _register_last(self, call: Call, tensor: Tensor, hook: Hook) -> Any:
        recording = self._recording
        if recording.live:
            raise UnsupportedError("a hook", OUTLIVES)
        with recording.paused(), recording.here():
            hooked_last(recording, recording.entry(tensor), tensor, hook)
            return call()

    def _backward(
        self, call: Call, tensor: Tensor, gradient: Tensor | None = None, *_: object, **__: object
    ) -> Any:
        recording = self._recording
        with recording.paused():
            with recording.here():
                loss, scale = self._unscaled(self._total([tensor], [gradient]))
            leaves = {id(leaf): leaf for leaf in recording.trained_leaves}
            recording.ledger.before(leaves.values())
            recording.ledger.passing()
            try:
                with (
                    recording.regions.listening(scale),
                    recording.arriving(tensor, scale) as (gradients, inner),
                    recording.asleep(),
                ):
                    result = call()
            except RuntimeError as error:
                self._fail(tensor, loss, error)
                raise
            recording.history.passed(tensor)
            recording.ledger.passed(leaves[key] for key in gradients if key in leaves)
            if tensor.is_meta:
                recording.losses.append(BackwardCall(loss, np.zeros(()), {}, {}))
                return result
            weight = 1.0 if gradient is None else numbers_of(gradient)
            value = np.asarray(np.sum(numbers_of(tensor) * weight) / scale)
            made = recording.regions.accumulated(len(recording.losses))
            recording.losses.append(BackwardCall(loss, value, {**gradients, **made}, inner))
        return result

    def _unscaled(self, loss: Staged) -> tuple[Staged, float]:
        """A loss without the factor of a GradScaler, which its step takes out again, and that."""
        scale, source = self._recording.ledger.scale, loss.source
        if scale != 1 and source is not None and source.block.type_name() == "Mul":
            for port, other in (("a", "b"), ("b", "a")):
                x, factor = source.inputs[port], source.inputs[other].array
                if factor is not None and np.all(factor == scale) and x.shape == loss.shape:
                    return x, scale
        return loss, 1.0

    def _fail(self, tensor: Tensor, loss: Staged, error: RuntimeError) -> None:
        """Say why a call of ``backward`` raises."""
        recording = self._recording
        recording.failed = error
        recording.ledger.passed(())
        recording.missteps.append(recording.history.why(tensor, error, user_place()))
        value = np.zeros(()) if tensor.is_meta else numbers_of(tensor)
        recording.losses.append(BackwardCall(loss, value, {}, {}))

    def _gradient(self, call: Call, tensor: Tensor) -> Any:
        recording = self._recording
        with recording.paused():
            result = call()
            if result is None:
                recording.ledger.looked_for(tensor)
            elif recording.history.stepping or is_called_by_user():
                recording.ledger.read(tensor)
            is_kept = result is not None or is_leaf(tensor) or tensor.retains_grad
            if tensor.requires_grad and not is_kept and is_called_by_user():
                place = user_place()
                text = (
                    f".grad ({place.line}) of a tensor that is no leaf is None: autograd keeps it "
                    "only for leaves. Call retain_grad() on it before backward(), or make it a "
                    "leaf, with detach().requires_grad_()."
                )
                recording.missteps.append(Misstep(text=text, written=place.written))
        return result

    def _set_gradient(self, call: Call, tensor: Tensor, gradient: Tensor | None) -> Any:
        if gradient is None:
            with self._recording.paused():
                self._recording.ledger.cleared(tensor)
        return call()

    def _grad(
        self, call: Call, outputs: Several, inputs: Several, *args: Any, **kwargs: Any
    ) -> Any:
        """``torch.autograd.grad``: a Gradient block for each input."""
        recording = self._recording
        with recording.asleep():
            results = call()
        recording.differentiates = True
        with recording.paused():
            several = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
            wrt = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
            given = args[0] if args else kwargs.get("grad_outputs")
            weights = list(given) if isinstance(given, list | tuple) else [given] * len(several)
            with recording.here():
                total = self._total(several, weights)
                for x, result in zip(wrt, results, strict=True):
                    if result is not None:
                        of = recording.stage.block("Gradient", total, recording.entry(x).read())
                        entry = TrackedTensor(of, live=True)
                        if not result.requires_grad:
                            entry = recording.performer.detached(entry, name="grad")
                        recording.bind(result, entry)
        return results

    def _total(self, outputs: list[Tensor], weights: Weights) -> Staged:
        """The sum of what is differentiated, each times its weight, which None leaves out."""
        recording, block = self._recording, self._recording.stage.block
        terms = []
        for output, weight in zip(outputs, weights, strict=True):
            term = recording.entry(output).read()
            if weight is not None:
                term = term * recording.entry(weight).read()
            terms.append(block("Sum", term) if term.ndim else term)
        return reduce(add, terms)


def _traced(arguments: object) -> list[tuple[float, TrackedTensor]]:
    """The numbers among arguments that were tensors."""
    return [(float(x), x.tensor) for x in each(arguments) if isinstance(x, TracedNumber)]
