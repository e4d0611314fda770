"""Numbers of a running training that cost little: norms of gradients, ratios of updates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

_OF_KERAS = "_torch_params."
"""What its models put before the names of their parameters as modules of PyTorch."""
_SAMPLED = 512
"""Elements of each parameter of which the ratio of update and weight is taken, at most."""


def parameters_of(model: Any) -> dict[str, Any]:
    """The parameters of a model, by name; those of Keras by the names that Keras gives."""
    return {name.rpartition(_OF_KERAS)[2]: p for name, p in model.named_parameters()}


def norms(gradients: Sequence[Any]) -> Any:
    """The Euclidean norm of each gradient, in one float32 tensor; nothing is synchronised."""
    if not gradients:
        return torch.zeros(0)
    return torch.stack(torch._foreach_norm([_dense(g) for g in gradients])).float()


def _dense(gradient: Any) -> Any:
    if hasattr(gradient, "to_local"):  # of a sharded parameter
        gradient = gradient.to_local()
    if gradient.layout != torch.strided:
        gradient = gradient.coalesce().values()
    return gradient.float() if gradient.dtype in (torch.float16, torch.bfloat16) else gradient


def is_finite(tensor: Any) -> bool:
    """Whether all elements are finite, of tensors that can be otherwise."""
    has_infinity = tensor.is_floating_point() or tensor.is_complex()
    # Detached: autograd must save nothing of it, or a checkpoint around finds more than before.
    return not has_infinity or bool(torch.isfinite(_values(tensor.detach())).all())


def _values(tensor: Any) -> Any:
    return tensor if tensor.layout == torch.strided else tensor.coalesce().values()


class Updates:
    """The ratio of update and weight of each parameter, of a few elements of it."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._views = {}
        for name, parameter in parameters.items():
            flat = parameter.detach()
            flat = (flat.to_local() if hasattr(flat, "to_local") else flat).reshape(-1)
            if flat.numel() and flat.data_ptr() == parameter.data_ptr():  # no copy
                self._views[name] = flat[:: max(1, flat.numel() // _SAMPLED)][:_SAMPLED]
        self._before: list[Any] | None = None

    def take(self) -> None:
        """Keep the elements as they are before an update."""
        if self._views:
            self._before = [view.clone() for view in self._views.values()]

    def ratios(self) -> Mapping[str, float]:
        """How far the update moved each parameter, relative to its size; empty without ``take``."""
        if self._before is None:
            return {}
        now = list(self._views.values())
        moved = norms(torch._foreach_sub(now, self._before)).tolist()
        sizes = norms(self._before).tolist()
        self._before = None
        return {
            name: m / s if s else math.inf if m else 0.0
            for name, m, s in zip(self._views, moved, sizes, strict=True)
        }

    def moved(self) -> frozenset[str]:
        """The parameters whose elements have changed since ``take``."""
        pairs = zip(self._views.items(), self._before or (), strict=False)
        return frozenset(name for (name, now), old in pairs if not torch.equal(now, old))
