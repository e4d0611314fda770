"""What a program writes for gradient that has no effect in PyTorch, and that PyTorch accepts."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.types import Kwargs, Module

_SWITCH = "requires_grad"
DROPPED = (
    "{0}() returns another tensor and leaves this one as it was, and its result is not used: "
    "assign it, or leave the line out."
)


def without_effect(path: str, module: Module) -> Iterator[str]:
    """What was set on a module and its own parameters, never called, or is not captured."""
    own = vars(module)
    for name in [_SWITCH] * (_SWITCH in own) + _misspelt(own):
        yield _told(f"{path}.{name}" if path else name, own[name])
    for key, parameter in module._parameters.items():
        for name in _misspelt(vars(parameter)) if parameter is not None else ():
            yield _told(f"{path}.{key}.{name}" if path else f"{key}.{name}", vars(parameter)[name])
    if module._backward_hooks and module._is_full_backward_hook is False:
        yield (
            f"{path or 'The model'} has a hook of register_backward_hook, which is deprecated: the "
            "diagram lacks what it changes. Use register_full_backward_hook."
        )
    kind = type(module)
    if callable(getattr(kind, "backward", None)) and not hasattr(kind, "training_step"):
        yield (
            f"backward() of {kind.__name__} is not called by autograd, which goes by what forward "
            "computes: a backward of one's own is that of a torch.autograd.Function."
        )


def _misspelt(attributes: Kwargs) -> list[str]:
    """Attributes that are probably meant as ``requires_grad``, which a tensor has already."""
    named = [x for x, value in attributes.items() if isinstance(value, bool) and x != _SWITCH]
    return get_close_matches(_SWITCH, named, n=3, cutoff=0.85)


def _told(where: str, value: object) -> str:
    return (
        f"{where} = {value} has no effect: parameters have an attribute requires_grad each, which "
        f"requires_grad_({value}) sets for all of a module."
    )


def returns_another(name: str) -> bool:
    """Whether an operator, ``detach``, is a method of tensors that changes nothing in place."""
    return not name.endswith("_") and callable(getattr(torch.Tensor, name, None))
