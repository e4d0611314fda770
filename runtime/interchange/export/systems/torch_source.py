"""A module for PyTorch, which differentiates by its autograd."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.interchange.export.systems.autograd_source import System, autograd_module
from runtime.interchange.export.systems.torch_rows import TORCH

if TYPE_CHECKING:
    from runtime.interchange.export.code import Array
    from runtime.interchange.export.content import Content


def _gradients(step: str) -> list[str]:
    signature = f", {step}=0" if step else ""
    given = f", {step}" if step else ""
    return [
        f'''def loss_and_gradients(
    parameters=PARAMETERS, inputs=INPUTS{signature}, heads=None, names=TRAINABLE
):
    """Losses, and the gradients of their sum; ``heads`` and ``names`` choose some of them.

    None is the gradient of a variable that no path connects with a loss.
    """
    wanted = {{name: parameters[name].detach().requires_grad_() for name in names}}
    found = losses({{**parameters, **wanted}}, inputs{given})
    found = {{head: found[head] for head in heads or found}}
    total = sum(loss.sum() for loss in found.values())
    found = {{head: loss.detach() for head, loss in found.items()}}
    if not total.requires_grad:
        return found, dict.fromkeys(names)
    gradients = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
    return found, dict(zip(names, gradients))
'''
    ]


SYSTEM = System(
    TORCH,
    ["import torch", "import torch.nn.functional as F"],
    "safetensors.torch",
    "torch.tensor(step)",
    "torch",
    _gradients,
)


def torch_module(content: Content, arrays_file: str) -> tuple[str, dict[str, Array]]:
    """The module, and its large arrays."""
    return autograd_module(content, arrays_file, SYSTEM)
