"""Questions about gradients that are zero or next to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@case(
    "the gradients of s are 0, which starts at -150",
    "sigmoid is flat there",
    "sigmoid1 is saturated (−150)",
    "Keep its input near 0",
    at="threshold = torch.sigmoid",
    address="https://github.com/ssui-liu/learnable-embed-sizes-for-RecSys/issues/4",
    never=("Nothing wrong",),
)
def a_threshold_far_out() -> Imported:
    s = nn.Parameter(torch.tensor([-150.0]))
    v = nn.Parameter(torch.tensor([[0.5, -0.2], [0.1, 0.9]]))

    def loss() -> torch.Tensor:
        threshold = torch.sigmoid(s)
        return (torch.sign(v) * torch.relu(v.abs() - threshold)).pow(2).sum()

    return gw.capture(loss)


@case(
    "a zero start with ReLU behind it never gets a gradient",
    "the slope of relu is 0 at 0, and nothing moves the weight off it",
    "relu1, which is off (at most 0)",
    "start with other weights",
    at="torch.relu(linear(x))",
    address="https://github.com/lucidrains/deep-cross-attention/issues/2",
    never=("Nothing wrong", "passes once"),
)
def a_zero_start_before_relu() -> Imported:
    linear = nn.Linear(3, 2, bias=False)
    nn.init.zeros_(linear.weight)

    def loss(x: torch.Tensor) -> torch.Tensor:
        return (torch.relu(linear(x)) - 1.0).pow(2).mean()

    return gw.capture(loss, torch.eye(3))


@case(
    "a deep network with sigmoids does not train",
    "each sigmoid makes the gradient at least four times smaller",
    "Shrunk",
    "Use LeakyRelu instead of model/1",
    address="https://github.com/phlippe/uvadlc_notebooks/issues/119",
    never=("Nothing wrong",),
)
def many_sigmoids() -> Imported:
    layers = [layer for _ in range(12) for layer in (nn.Linear(4, 4), nn.Sigmoid())]
    model = nn.Sequential(*layers, nn.Linear(4, 1))

    def loss(x: torch.Tensor) -> torch.Tensor:
        return model(x).pow(2).mean()

    return gw.capture(loss, torch.eye(4))


@case(
    "does a biaffine layer that starts at zero accumulate zero gradients",
    "its weight gets one; what comes before it gets one once the weight has moved",
    "weight",
    "passes once",
    address="https://github.com/yzhangcs/parser/issues/100",
    about=("arc_d.weight",),
)
def a_biaffine_layer_from_zero() -> Imported:
    class Biaffine(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.arc_d, self.arc_h = nn.Linear(3, 2), nn.Linear(3, 2)
            self.weight = nn.Parameter(torch.zeros(2, 2))

        def forward(self, x: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
            scores = self.arc_d(x) @ self.weight @ self.arc_h(x).T
            return F.cross_entropy(scores, heads)

    return gw.capture(Biaffine(), torch.eye(3), torch.tensor([1, 0, 0]))


@case(
    "is a linear layer whose weights start at zero wrong",
    "no: it is the only layer, so that its gradient does not depend on its weights being 0",
    "every trained variable gets a gradient",
    address="https://github.com/jthickstun/pytorch_musicnet/issues/4",
    never=("zero", "Already 0"),
)
def one_layer_from_zero() -> Imported:
    linear = nn.Linear(4, 2, bias=False)
    nn.init.constant_(linear.weight, 0.0)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(linear(x), y)

    return gw.capture(loss, torch.eye(3, 4), torch.ones(3, 2))


@case(
    "no gradient comes with an input of zeros",
    "the weights are multiplied by the input, which is 0",
    "convolution multiplies by 0",
    at="image = convolution(signal)",
    address="https://github.com/shelfwise/receptivefield/issues/22",
    never=("Nothing wrong",),
)
def an_input_of_zeros() -> Imported:
    convolution = nn.Conv1d(1, 1, 3, bias=False)

    def mean(signal: torch.Tensor) -> torch.Tensor:
        image = convolution(signal)
        return image.mean()

    return gw.capture(mean, torch.zeros(1, 1, 8))


@case(
    "can anything be learned by batch normalization with batches of one",
    "no: what is normalised is 0 whatever the weights are",
    "is of one element",
    "Give it more elements, such as a larger batch",
    at="hidden = layer(x)",
    address="https://github.com/d2l-ai/d2l-en/issues/1722",
    never=("Nothing wrong",),
)
def normalization_of_one_example() -> Imported:
    layer = nn.Linear(3, 2)

    def loss(x: torch.Tensor) -> torch.Tensor:
        hidden = layer(x)
        variance = hidden.var(0, unbiased=False)
        normal = (hidden - hidden.mean(0)) / torch.sqrt(variance + 1e-5)
        return (normal - 1.0).pow(2).mean()

    return gw.capture(loss, torch.ones(1, 3))
