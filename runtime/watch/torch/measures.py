"""Numbers of a running training that cost little: norms of gradients, ratios of updates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import cast

import numpy as np
import torch

_OF_KERAS = "_torch_params."
"""What its models put before the names of their parameters as modules of PyTorch."""
_HALVES = torch.float16, torch.bfloat16
_FEW = 1 << 18
"""Elements that cost less to copy than PyTorch costs to call for each tensor."""
_SAMPLED = 512
"""Elements of each parameter of which the ratio of update and weight is taken, at most."""


def parameters_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The parameters of a model, by name; those of Keras by the names that Keras gives."""
    return {name.rpartition(_OF_KERAS)[2]: p for name, p in model.named_parameters()}


def norms(tensors: Sequence[torch.Tensor]) -> list[float]:
    """The Euclidean norm of each tensor, with one synchronisation of a device where none is 0, an
    infinity or NaN; 0 only if all elements are.
    """
    with torch.no_grad():
        dense = [_dense(x) for x in tensors]
        counts = [x.numel() for x in dense]
        found = _norms_of_few(dense, counts)
        if found is None:
            dense = [x.float() if x.dtype in _HALVES else x for x in dense]
            found = _numbers(torch._foreach_norm(dense)) if dense else []
        # The square of a small or large number may be 0 or an infinity where the number is not.
        doubtful = [i for i, size in enumerate(found) if counts[i] and not 0 < size < math.inf]
        if doubtful:
            largest = _numbers(torch._foreach_norm([dense[i] for i in doubtful], math.inf))
            for i, most in zip(doubtful, largest, strict=True):
                found[i] = most * float((dense[i] / most).norm()) if 0 < most < math.inf else most
    return found


def _norms_of_few(tensors: Sequence[torch.Tensor], counts: Sequence[int]) -> list[float] | None:
    """Those of some thousand real elements on the CPU, in half the time of a call for each."""
    if 0 < sum(counts) <= _FEW and all(x.is_cpu for x in tensors):
        return _norms_of_parts(torch._utils._flatten_dense_tensors(tensors), counts)
    return None


def _norms_of_parts(flat: torch.Tensor, counts: Sequence[int]) -> list[float] | None:
    """Those of parts of so many elements of a vector on the CPU, if it is real and none empty."""
    if flat.is_complex() or not all(counts):
        return None
    numbers, starts = flat.to(torch.float64, copy=True).numpy(), [0, *accumulate(counts[:-1])]
    with np.errstate(all="ignore"):
        squares = np.square(numbers, out=numbers)
        return cast("list[float]", np.sqrt(np.add.reduceat(squares, starts)).tolist())


def _numbers(scalars: Sequence[torch.Tensor]) -> list[float]:
    if len({x.device for x in scalars}) > 1:  # of a model on several devices
        scalars = [x.cpu() for x in scalars]
    return cast("list[float]", torch.stack(list(scalars)).tolist())


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if hasattr(tensor, "to_local"):  # of a sharded parameter
        tensor = tensor.to_local()
    return tensor if tensor.layout is torch.strided else tensor.coalesce().values()


def _sizes(flat: torch.Tensor, counts: Sequence[int]) -> list[float]:
    """The norms of parts of a vector."""
    return (flat.is_cpu and _norms_of_parts(flat, counts)) or norms(flat.split(counts))


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether all elements are finite, of tensors that can be otherwise."""
    has_infinity = tensor.is_floating_point() or tensor.is_complex()
    # Detached: autograd must save nothing of it, or a checkpoint around finds more than before.
    return not has_infinity or bool(torch.isfinite(_dense(tensor.detach())).all())


def is_not_finite(tensor: torch.Tensor) -> bool:
    """Whether an element is not finite."""
    return not is_finite(tensor)


def is_zero(tensor: torch.Tensor) -> bool:
    """Whether all elements are 0."""
    return not bool(tensor.any())


class Updates:
    """The ratio of update and weight of each parameter, of a few elements of it."""

    def __init__(self, parameters: Mapping[str, torch.Tensor]) -> None:
        self._groups: dict[tuple[torch.dtype, torch.device], dict[str, torch.Tensor]] = {}
        """Views of them, by name, those of one dtype and device together."""
        for name, parameter in parameters.items():
            flat = parameter.detach()
            flat = (flat.to_local() if hasattr(flat, "to_local") else flat).reshape(-1)
            if flat.numel() and flat.data_ptr() == parameter.data_ptr():  # no copy
                view = flat[:: max(1, flat.numel() // _SAMPLED)][:_SAMPLED]
                self._groups.setdefault((flat.dtype, flat.device), {})[name] = view
        self._before: list[torch.Tensor] | None = None

    def _elements(self) -> list[torch.Tensor]:
        return [torch.cat(list(views.values())) for views in self._groups.values()]

    def take(self) -> None:
        """Keep the elements as they are before an update."""
        if self._groups:
            self._before = self._elements()

    def _pairs(self) -> Iterator[tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor]]:
        """Views, their elements now, and before; nothing without ``take``."""
        if self._before is not None:
            yield from zip(self._groups.values(), self._elements(), self._before, strict=True)

    def ratios(self) -> Mapping[str, float]:
        """How far the update moved each parameter, relative to its size; empty without ``take``."""
        ratios = {}
        for views, now, before in self._pairs():
            counts = [view.numel() for view in views.values()]
            moved, sizes = (_sizes(flat, counts) for flat in (now - before, before))
            for name, m, s in zip(views, moved, sizes, strict=True):
                ratios[name] = m / s if s else math.inf if m else 0.0
        self._before = None
        return ratios

    @property
    def is_moved(self) -> bool:
        """Whether an element has changed since ``take``."""
        return any(not torch.equal(now, before) for _, now, before in self._pairs())
