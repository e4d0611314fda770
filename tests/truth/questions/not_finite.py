"""Questions about values and gradients that are infinite or no numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

import gradwire as gw
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@case(
    "AcosBackward returned nan values",
    "its slope is infinite at 1, which clamp lets through",
    "its slope is infinite",
    "Lower the max of clip1",
    at="angle = torch.acos",
    address="https://github.com/pytorch/pytorch/issues/61810",
    never=("Nothing wrong",),
)
def an_angle_between_equals() -> Imported:
    turn = nn.Parameter(torch.tensor([1.0, 0.0]))

    def loss(axis: torch.Tensor) -> torch.Tensor:
        cosine = (turn * axis).sum().clamp(-1.0, 1.0)
        angle = torch.acos(cosine)
        return angle * 2.0

    return gw.capture(loss, torch.tensor([1.0, 0.0]))


@case(
    "the loss of ArcFace becomes NaN",
    "the root of 1 − cos² is at 0, where its slope is infinite",
    "its slope is infinite",
    "Lower the max of clip1",
    at="sine = torch.sqrt",
    address="https://github.com/ronghuaiyang/arcface-pytorch/issues/91",
    never=("Nothing wrong",),
)
def a_sine_from_a_cosine() -> Imported:
    weight = nn.Parameter(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))

    def loss(x: torch.Tensor) -> torch.Tensor:
        cosine = x @ weight
        sine = torch.sqrt(1.0 - cosine.pow(2).clamp(max=1.0))
        return (cosine * 0.9 - sine * 0.4).sum()

    return gw.capture(loss, torch.tensor([[1.0, 0.25]]))


@case(
    "torch.std of one item is NaN, and 0 in NumPy",
    "it divides by the number of elements less 1",
    "0 ÷ 0",
    "unbiased=False",
    at="spread = x.std()",
    address="https://github.com/pytorch/pytorch/issues/29372",
    never=("Nothing wrong",),
)
def the_deviation_of_one_number() -> Imported:
    weight = nn.Parameter(torch.tensor([4.0]))

    def loss() -> torch.Tensor:
        x = weight * 1.0
        spread = x.std()
        return spread + x.sum()

    return gw.capture(loss)


@case(
    "batch norm by hand with a batch of one has a NaN variance",
    "the unbiased variance of one element is 0 over 0",
    "0 ÷ 0",
    "unbiased=False",
    at="variance = hidden.var",
    address="https://github.com/karpathy/makemore/issues/22",
    never=("Nothing wrong",),
)
def the_variance_of_a_batch_of_one() -> Imported:
    layer = nn.Linear(3, 2)

    def loss(x: torch.Tensor) -> torch.Tensor:
        hidden = layer(x)
        variance = hidden.var(0, keepdim=True)
        return ((hidden - hidden.mean(0, keepdim=True)) / torch.sqrt(variance + 1e-5)).sum()

    return gw.capture(loss, torch.ones(1, 3))


@case(
    "atan2 and a mask after it gave NaN, and a mask before it did not",
    "at (0, 0) it has no derivative, for which PyTorch 2.10 and later take 0",
    "every trained variable gets a gradient",
    address="https://github.com/pytorch/pytorch/issues/93998",
    never=("NaN",),
)
def a_mask_after_atan2() -> Imported:
    x = nn.Parameter(torch.tensor([1.0, 0.0, 2.0]))

    def loss(y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        out = torch.atan2(y, x)
        return out[mask].mean()

    return gw.capture(loss, torch.tensor([2.0, 0.0, 0.0]), torch.tensor([True, False, True]))


@case(
    "exp(x).clamp(max=1) has a NaN gradient for large x",
    "exp overflows; the gradient of clamp is 0 there, and 0 times infinity is NaN",
    "overflows float32",
    "limit the input of exp1 instead",
    at="limited = torch.exp",
    address="https://github.com/pytorch/pytorch/issues/10729",
    never=("Nothing wrong",),
)
def a_limit_after_exp() -> Imported:
    x = nn.Parameter(torch.tensor([-5.0, 0.5, 100.0]))

    def loss() -> torch.Tensor:
        limited = torch.exp(x).clamp(max=1.0)
        return limited.sum()

    return gw.capture(loss)


@case(
    "the backward pass of SVD is NaN for a matrix with several singular values of 0",
    "the gradients of singular vectors divide by differences of singular values",
    "First NaN made in _linalg_svd",
    "divided by differences of singular values",
    "keep them apart",
    at="torch.linalg.svd(",
    address="https://github.com/pytorch/pytorch/issues/49886",
    never=("Nothing wrong",),
)
def singular_vectors_of_a_low_rank() -> Imported:
    matrix = nn.Parameter(torch.tensor([[3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))

    def loss() -> torch.Tensor:
        u, s, v = torch.linalg.svd(matrix)
        return (u @ torch.diag(s) @ v.T).sum()

    return gw.capture(loss)


@case(
    "MultiheadAttention is NaN where the mask leaves nothing to attend to",
    "softmax of nothing but minus infinity is NaN",
    "softmax",
    "Leave one of them unmasked",
    at="attention(x, x, x, attn_mask=mask",
    address="https://github.com/pytorch/pytorch/issues/160064",
    never=("Nothing wrong",),
)
def a_head_that_is_masked() -> Imported:
    attention = nn.MultiheadAttention(2, 1, batch_first=True)
    mask = torch.tensor([[False, False, True], [True, True, True], [False, True, True]])

    def loss(x: torch.Tensor) -> torch.Tensor:
        y, _ = attention(x, x, x, attn_mask=mask, need_weights=True)
        return y[:, 0].sum()

    return gw.capture(loss, torch.arange(6.0).reshape(1, 3, 2))


@case(
    "the log-probability of an action is NaN",
    "the network gives a negative deviation, and its logarithm is NaN",
    "log of −",
    "Softplus",
    at="dist.log_prob",
    address="https://github.com/sweetice/Deep-reinforcement-learning-with-pytorch/issues/35",
    never=("Nothing wrong",),
)
def a_negative_deviation() -> Imported:
    mean = nn.Parameter(torch.tensor([1.0]))
    sigma = nn.Parameter(torch.tensor([-1.0]))

    def loss(action: torch.Tensor) -> torch.Tensor:
        dist = torch.distributions.Normal(mean, sigma, validate_args=False)
        return -dist.log_prob(action).sum()

    return gw.capture(loss, torch.tensor([0.5]))


@case(
    "log_probs of the policy become NaN where the range of actions is large",
    "the logarithm of 1 − action² is taken of the scaled action, and is negative",
    "log of −",
    at="torch.log(1.0 - action.pow(2)",
    address="https://github.com/philtabor/Youtube-Code-Repository/issues/59",
    never=("Nothing wrong",),
)
def a_correction_of_the_scaled_action() -> Imported:
    actor = nn.Parameter(torch.tensor([1.0, 0.3]))

    def loss() -> torch.Tensor:
        action = torch.tanh(actor) * 2.0
        return -torch.log(1.0 - action.pow(2) + 1e-6).sum()

    return gw.capture(loss)
