"""Questions about steps that choose, count or draw, and so have no derivative."""

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
    "a threshold in the Dice loss raises, so its result is made to require gradient",
    "a comparison has no derivative, and the new tensor is a leaf",
    "compares",
    "soft",
    at="mask = torch.tensor(",
    address="https://github.com/qubvel-org/segmentation_models.pytorch/pull/611",
    never=("Nothing wrong",),
)
def a_threshold_in_a_dice_loss() -> Imported:
    model = nn.Linear(3, 4)

    def dice(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        probability = torch.sigmoid(model(x))
        mask = torch.tensor((probability > 0.5).type(x.dtype), requires_grad=True)
        return 1.0 - 2.0 * (mask * target).sum() / (mask.sum() + target.sum() + 1e-6)

    return gw.capture(dice, torch.eye(2, 3), torch.ones(2, 4))


@case(
    "the histogram loss has no gradient",
    "a histogram counts: it has no derivative",
    "histc",
    "no gradient came from it",
    "soften it",
    at="counts = torch.histc",
    address="https://github.com/albrateanu/LYT-Net/issues/16",
    never=("Nothing wrong",),
)
def a_loss_of_histograms() -> Imported:
    model = nn.Linear(4, 4)

    def loss(image: torch.Tensor) -> torch.Tensor:
        counts = torch.histc(model(image), bins=4, min=-1.0, max=1.0)
        wanted = torch.histc(image, bins=4, min=-1.0, max=1.0)
        return F.l1_loss(counts / 16.0, wanted / 16.0)

    return gw.capture(loss, torch.eye(4))


@case(
    "is index_select differentiable, for frames that are chosen by their scores",
    "not with respect to the index: the scores are compared, and get no gradient",
    "nonzero",
    "No gradient comes through it to what decides it",
    "Sigmoid",
    at="chosen = torch.index_select",
    address="https://github.com/pcshih/pytorch-VSLUD/issues/1",
    never=("Nothing wrong",),
)
def frames_chosen_by_score() -> Imported:
    scorer, decoder = nn.Linear(3, 2), nn.Linear(3, 3)

    def loss(frames: torch.Tensor) -> torch.Tensor:
        scores = scorer(frames)
        is_key = scores[:, 0] > scores[:, 1]
        chosen = torch.index_select(frames, 0, is_key.nonzero().flatten())
        return (decoder(chosen) - chosen).pow(2).sum()

    return gw.capture(loss, torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [-2.0, 1.0, 0.0]]))


@case(
    "does torch.topk block the gradient of the selection",
    "its indices have none: what is gathered by them tells the scores nothing",
    "top_k1",
    "positions",
    "soften it",
    at="scores.topk(2).indices",
    address="https://github.com/TxpHome/DFPIR/issues/10",
    never=("Nothing wrong",),
)
def channels_chosen_by_topk() -> Imported:
    attention, mix = nn.Linear(4, 4), nn.Linear(2, 1)

    def loss(channels: torch.Tensor) -> torch.Tensor:
        scores = attention(channels)
        best = scores.topk(2).indices
        return mix(channels.gather(-1, best)).pow(2).mean()

    return gw.capture(loss, torch.tensor([[1.0, 0.0, 2.0, -1.0]]))


@case(
    "can one sample by multinomial and keep the gradient of the probabilities",
    "yes: hard − probs.detach() + probs passes the gradient straight through",
    "every trained variable gets a gradient",
    "Carries the gradient of loss to logits",
    address="https://github.com/D-X-Y/AutoDL-Projects/issues/74",
    about=("logits",),
)
def a_sample_with_a_straight_gradient() -> Imported:
    class Search(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.logits = nn.Parameter(torch.tensor([[0.5, 0.1, -0.3]]))

        def forward(self, costs: torch.Tensor) -> torch.Tensor:
            probs = F.softmax(self.logits / 2.0, dim=1)
            index = torch.multinomial(probs, 1)
            one_hot = torch.zeros_like(probs).scatter_(-1, index, 1.0)
            weights = one_hot - probs.detach() + probs
            return (weights * costs).sum()

    return gw.capture(Search(), torch.tensor([[1.0, 2.0, 4.0]]))


@case(
    "why rsample() in SAC, and sample() elsewhere",
    "the loss of SAC has to reach the policy through the action, which sample() cuts off",
    "sample",
    "rsample",
    at="action = dist.sample()",
    address="https://github.com/kashif/firedup/issues/9",
    never=("Nothing wrong",),
)
def an_action_that_is_only_sampled() -> Imported:
    policy, q = nn.Linear(3, 1), nn.Linear(1, 1).requires_grad_(False)

    def loss(state: torch.Tensor) -> torch.Tensor:
        dist = torch.distributions.Normal(policy(state), 0.5)
        action = dist.sample()
        return -q(action).mean()

    return gw.capture(loss, torch.eye(3))


@case(
    "the gradient of the mean of a Gaussian policy is zero",
    "the action is drawn around that mean by rsample, so that the two gradients cancel",
    "cancel",
    "StopGradient",
    at="dist.log_prob(",
    address="https://github.com/pytorch/pytorch/issues/10943",
    never=("Nothing wrong",),
)
def a_density_of_its_own_sample() -> Imported:
    mean_head, log_head = nn.Linear(3, 1), nn.Linear(3, 1)

    def loss(x: torch.Tensor) -> torch.Tensor:
        dist = torch.distributions.Normal(mean_head(x), torch.exp(0.5 * log_head(x)))
        action = dist.rsample()
        return -dist.log_prob(action).sum()

    return gw.capture(loss, torch.eye(2, 3))


@case(
    "is the encoder left out where the quantiser stops the gradient of its rounding",
    "no: what is added to the input is stopped, and the input itself passes gradient",
    "every trained variable gets a gradient",
    "Carries the gradient of loss to encoder/weight",
    address="https://github.com/Justin-Tan/generative-compression/issues/27",
    about=("encoder.weight",),
)
def rounding_with_a_straight_gradient() -> Imported:
    class Codec(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.decoder = nn.Linear(4, 2), nn.Linear(2, 4)

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            code = self.encoder(image)
            quantised = code + (code.round() - code).detach()
            return F.mse_loss(self.decoder(quantised), image)

    return gw.capture(Codec(), torch.tensor([[1.0, 2.0, -1.0, 0.5]]))


@case(
    "how can gradient come through an index that max gives",
    "it cannot: the index is an integer, and what gave the scores gets none",
    "The program goes by a number",
    "No gradient comes through it to what decides it",
    "Softmax",
    at="document[start]",
    address="https://github.com/atulkum/co-attention/issues/1",
    never=("Nothing wrong",),
)
def a_pointer_that_is_gathered() -> Imported:
    pointer, answer = nn.Linear(3, 1), nn.Linear(3, 2)

    def loss(document: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        start = pointer(document).squeeze(1).argmax()
        return F.cross_entropy(answer(document[start]).unsqueeze(0), label)

    return gw.capture(loss, torch.eye(3), torch.tensor([1]))
