"""Questions about backward passes that programs define themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@case(
    "the gradient reversal layer does not reverse the gradient",
    "backward of a module is never called; only that of an autograd.Function is",
    "backward",
    "torch.autograd.Function",
    address="https://github.com/hash2430/pitchtron/issues/3",
)
def a_module_with_a_backward() -> Imported:
    class Reversal(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

        def backward(self, gradient: torch.Tensor) -> torch.Tensor:
            return -gradient

    encoder, reverse, domain = nn.Linear(3, 4), Reversal(), nn.Linear(4, 2)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(domain(reverse(encoder(x))), y)

    return gw.capture(loss, torch.eye(2, 3), torch.tensor([0, 1]))


@case(
    "autograd.grad inside a custom backward gives None",
    "the saved tensors have no graph there, so that backward returns None for all inputs",
    "Weighted stops the gradient here: its backward gives none in this run",
    "Without Weighted",
    at="Weighted.apply(",
    address="https://github.com/pytorch/pytorch/issues/45405",
    never=("Nothing wrong",),
)
def a_backward_that_returns_none() -> Imported:
    class Weighted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x, w)
            return (x * w).sum()

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            x, w = (tensor.detach().requires_grad_() for tensor in ctx.saved_tensors)
            out = (x * w).sum().requires_grad_()
            return torch.autograd.grad(out, (x, w), grads[0], allow_unused=True)

    w = nn.Parameter(torch.tensor([1.0, 2.0]))

    def loss(x: torch.Tensor) -> torch.Tensor:
        return Weighted.apply(x, w) - 5.0

    return gw.capture(loss, torch.tensor([0.5, -1.0]))


@case(
    "You must implement the backward function for custom autograd.Function",
    "the class has a forward and no backward",
    "You must implement either the backward",
    "Binary",
    address="https://github.com/jiecaoyu/XNOR-Net-PyTorch/issues/125",
    never=("Nothing wrong: every",),
)
def a_function_without_backward() -> Imported:
    class Binary(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.sign()

    layer = nn.Linear(3, 2)

    def loss(x: torch.Tensor) -> torch.Tensor:
        return Binary.apply(layer(x)).sum()

    return gw.capture(loss, torch.eye(3))


@case(
    "why is the custom backward called for x and not for x + 1",
    "today it is called for both, whatever forward returns",
    "every trained variable gets a gradient",
    address="https://github.com/pytorch/pytorch/issues/4714",
    about=("x",),
    never=("No gradient",),
)
def an_identity_with_its_own_backward() -> Imported:
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 666.0

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.x = nn.Parameter(torch.tensor([1.0]))

        def forward(self) -> torch.Tensor:
            return Scaled.apply(self.x + 1.0).sum()

    return gw.capture(Net())
