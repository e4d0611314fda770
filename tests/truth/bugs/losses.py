"""Losses that are given what they do not take, or that train what they should not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.bugs.models import (
    ActorCritic,
    LanguageModel,
    QNetwork,
    UNet,
    Vision,
    images,
    tokens,
    transitions,
)
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


class Classifier(nn.Module):
    """A ViT, with probabilities or logits at its end."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.vision = Vision()
        self.last = nn.Softmax(-1) if broken else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.vision(x))


@case(
    "the loss stays near log 3, the accuracy is mediocre",
    "softmax at the end of the model, and cross_entropy outside takes another",
    "takes a softmax itself",
    "give it the logits",
    at="return F.cross_entropy(model(x), labels)  # its own softmax",
    never=("Nothing wrong",),
)
def softmax_before_cross_entropy(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Classifier(broken)

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), labels)  # its own softmax

    return gw.capture(loss, images(3), torch.tensor([0, 2, 1]))


@case(
    "masks come out grey",
    "sigmoid at the end of the U-Net, and binary_cross_entropy_with_logits",
    "takes a sigmoid itself",
    "give it the logits",
    at="return F.binary_cross_entropy_with_logits(masks, goal)",
    never=("Nothing wrong",),
)
def sigmoid_before_logits(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = UNet()

    def loss(x: torch.Tensor, goal: torch.Tensor) -> torch.Tensor:
        masks = model(x).sigmoid() if broken else model(x)
        return F.binary_cross_entropy_with_logits(masks, goal)

    return gw.capture(loss, torch.randn(2, 1, 8, 8), torch.rand(2, 1, 8, 8).round())


@case(
    "the loss is negative and falls without end",
    "nll_loss is given probabilities",
    "log",
    "LogSoftmax",
    at="return F.nll_loss(scores.flatten(0, 1)",
    never=("Nothing wrong",),
)
def likelihood_of_probabilities(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = LanguageModel()

    def loss(batch: torch.Tensor) -> torch.Tensor:
        logits = model(batch[:, :-1])
        scores = logits.softmax(-1) if broken else logits.log_softmax(-1)
        return F.nll_loss(scores.flatten(0, 1), batch[:, 1:].flatten())

    return gw.capture(loss, tokens())


@case(
    "all samples of a batch get the same class",
    "log_softmax normalises along the batch",
    "along axis 0",
    "Use axis 1",
    at="return F.nll_loss(scores, labels)",
    never=("Nothing wrong",),
)
def softmax_along_the_batch(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Vision()

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        scores = F.log_softmax(model(x), dim=0 if broken else -1)
        return F.nll_loss(scores, labels)

    return gw.capture(loss, images(4), torch.tensor([0, 2, 1, 1]))


@case(
    "the critic predicts the mean of all returns",
    "[6, 1] is compared with [6]: all pairs",
    "(6, 1)",
    "(6,)",
    at="return F.mse_loss(values, returns)",
    never=("Nothing wrong",),
)
def values_in_a_column(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def loss(states: torch.Tensor, returns: torch.Tensor) -> torch.Tensor:
        values = critic(states) if broken else critic(states).squeeze(-1)
        return F.mse_loss(values, returns)

    return gw.capture(loss, torch.randn(6, 4), torch.randn(6))


@case(
    "the actor makes the critic's values wrong",
    "the advantage is not detached: the policy's loss trains the value",
    "advantage",
    "StopGradient",
    at="-(advantages * chosen).mean()",
    never=("Nothing wrong",),
)
def advantage_not_detached(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = ActorCritic()

    def loss(states: torch.Tensor, actions: torch.Tensor, returns: torch.Tensor) -> torch.Tensor:
        log_probs, values = model(states)
        chosen = log_probs.gather(1, actions[:, None]).squeeze(1)
        advantages = returns - values
        if not broken:
            advantages = advantages.detach()
        return F.mse_loss(values, returns) + -(advantages * chosen).mean()

    return gw.capture(loss, *transitions()[:3])


class Siamese(nn.Module):
    """An encoder and a predictor: SimSiam."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
        self.predictor = nn.Linear(4, 4)


@case(
    "all images get the same vector",
    "the target of SimSiam is not detached",
    "StopGradient",
    "target",
    at="return F.mse_loss(F.normalize(model.predictor(z1), dim=-1)",
    never=("Nothing wrong",),
)
def siamese_without_stop(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Siamese()

    def loss(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        z1, z2 = model.encoder(one), F.normalize(model.encoder(other), dim=-1)
        if not broken:
            z2 = z2.detach()
        return F.mse_loss(F.normalize(model.predictor(z1), dim=-1), z2)

    return gw.capture(loss, torch.randn(5, 6), torch.randn(5, 6))


@case(
    "Q-values grow without end",
    "the target is that of the network itself, with its gradient",
    "target",
    "StopGradient",
    at="return F.smooth_l1_loss(q, r + 0.9 * best)  # with its gradient",
    never=("Nothing wrong",),
)
def target_of_the_network_itself(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    network = QNetwork()

    def loss(
        s: torch.Tensor, a: torch.Tensor, r: torch.Tensor, following: torch.Tensor
    ) -> torch.Tensor:
        best = network(following).max(1).values  # of the network itself
        if not broken:
            best = best.detach()
        q = network(s).gather(1, a[:, None]).squeeze(1)
        return F.smooth_l1_loss(q, r + 0.9 * best)  # with its gradient

    return gw.capture(loss, *transitions())


@case(
    "the loss is 0 from the start",
    "a single logit for a loss of classes: one class is always right",
    "one class",
    "logits of two classes or more",
    at="return F.cross_entropy(logits, torch.zeros(len(x), dtype=torch.long))",
    never=("Nothing wrong",),
)
def cross_entropy_of_one_class(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Vision()
    model.head = nn.Linear(model.head.in_features, 1 if broken else 2)

    def loss(x: torch.Tensor) -> torch.Tensor:
        logits = model(x)
        return F.cross_entropy(logits, torch.zeros(len(x), dtype=torch.long))

    return gw.capture(loss, images(3))
