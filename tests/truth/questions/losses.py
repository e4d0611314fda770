"""Questions about losses that are given something else than they take."""

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
    "a warning about target size [32, 1] and input size [32], in a regression",
    "the two broadcast to a matrix of all pairs",
    "(4, 4)",
    "Give both one shape",
    at="F.mse_loss(guess, score)",
    address="https://github.com/deepset-ai/FARM/issues/229",
    never=("Nothing wrong",),
)
def a_column_against_a_row() -> Imported:
    head = nn.Linear(3, 1)

    def loss(pooled: torch.Tensor, score: torch.Tensor) -> torch.Tensor:
        guess = head(pooled).squeeze(1)
        return F.mse_loss(guess, score)

    return gw.capture(loss, torch.eye(4, 3), torch.arange(4.0).unsqueeze(1))


@case(
    "a warning about target size [2, 256, 256] and input size [2, 1, 256, 256]",
    "every depth map is compared with those of the whole batch",
    "(2, 2, 3, 3)",
    "Give both one shape",
    at="F.smooth_l1_loss(predicted, depth",
    address="https://github.com/jiwei0921/CoNet/issues/3",
    never=("Nothing wrong",),
)
def maps_without_their_channel() -> Imported:
    network = nn.Conv2d(1, 1, 3, padding=1)

    def loss(image: torch.Tensor, depth: torch.Tensor) -> torch.Tensor:
        predicted = network(image)
        return F.smooth_l1_loss(predicted, depth, reduction="sum")

    image = torch.arange(18.0).reshape(2, 1, 3, 3)
    return gw.capture(loss, image, image.squeeze(1) / 9.0)


@case(
    "is the loss of the actor wrong, which is that of a matrix of all pairs",
    "the mean of all differences is the difference of the means: its gradient is the same",
    "every trained variable gets a gradient",
    address="https://github.com/vwxyzjn/cleanrl/issues/379",
    never=("compares each number with each",),
)
def a_flat_value_and_a_column() -> Imported:
    actor, critic = nn.Linear(2, 1), nn.Linear(1, 1)

    def loss(observed: torch.Tensor) -> torch.Tensor:
        action = actor(observed)
        log_pi = -action.pow(2)
        value = critic(action).view(-1)
        actor_loss = (0.2 * log_pi - value).mean()
        return actor_loss

    return gw.capture(loss, torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]))


@case(
    "the advantage has the shape (batch, batch): is that a bug",
    "returns less values of shape (batch, 1) broadcast: each action gets all advantages",
    "(3, 3)",
    "Give both one shape",
    at="advantage = returns - value.detach()",
    address="https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/33",
    never=("Nothing wrong",),
)
def an_advantage_of_all_pairs() -> Imported:
    policy, critic = nn.Linear(2, 4), nn.Linear(2, 1)

    def loss(states: torch.Tensor, returns: torch.Tensor) -> torch.Tensor:
        value = critic(states)
        log_probs = policy(states).log_softmax(1)[:, 0]
        advantage = returns - value.detach()
        return F.mse_loss(value.squeeze(1), returns) - (advantage * log_probs).mean()

    states = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    return gw.capture(loss, states, torch.tensor([1.0, 2.0, 0.5]))


@case(
    "the signal of the gradient is weaker than it should be",
    "the model ends in a softmax, and CrossEntropyLoss has another",
    "softmax itself",
    "logits",
    at="criterion(model(x), y)  # of probabilities",
    address="https://github.com/bowang-lab/Transformer-GCN-QA/pull/32",
    never=("Nothing wrong",),
)
def a_softmax_in_the_model() -> Imported:
    model = nn.Sequential(
        nn.Linear(3, 4),
        nn.Softmax(dim=1),
    )
    criterion = nn.CrossEntropyLoss()

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return criterion(model(x), y)  # of probabilities

    return gw.capture(loss, torch.eye(2, 3), torch.tensor([1, 3]))


@case(
    "why both log_softmax and CrossEntropyLoss: is that a negative effect",
    "none: log_softmax of log-probabilities leaves them as they are",
    "Nothing wrong",
    address="https://github.com/AICPS/hw2vec/issues/23",
    never=("twice", "takes a softmax itself"),
)
def log_softmax_and_cross_entropy() -> Imported:
    mlp = nn.Linear(3, 2)

    def loss(embedded: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        output = F.log_softmax(mlp(embedded), dim=1)
        return nn.CrossEntropyLoss()(output, label)

    return gw.capture(loss, torch.eye(3), torch.tensor([0, 1, 1]))


@case(
    "KLDivLoss gives other results than the formula of the divergence",
    "it takes the logarithms of probabilities, not these",
    "takes logarithms of probabilities",
    "Use LogSoftmax in place of softmax1",
    at="F.kl_div(student",
    address="https://github.com/pytorch/pytorch/issues/5282",
    never=("Nothing wrong",),
)
def a_divergence_of_probabilities() -> Imported:
    model = nn.Linear(3, 4)

    def loss(x: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
        student = F.softmax(model(x), dim=1)
        return F.kl_div(student, teacher, reduction="batchmean")

    return gw.capture(loss, torch.eye(2, 3), torch.tensor([[0.7, 0.1, 0.1, 0.1]] * 2))


@case(
    "NLLLoss is always negative",
    "it takes log-probabilities, and the model ends in a softmax",
    "gives no logarithms of probabilities",
    "Use LogSoftmax in place of model/1",
    at="criterion(model(x), y)  # no logarithms",
    address="https://github.com/AnubhavGupta3377/Text-Classification-Models-Pytorch/issues/9",
    never=("Nothing wrong",),
)
def likelihood_of_probabilities() -> Imported:
    model, criterion = nn.Sequential(nn.Linear(3, 4), nn.Softmax(dim=1)), nn.NLLLoss()

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return criterion(model(x), y)  # no logarithms

    return gw.capture(loss, torch.eye(2, 3), torch.tensor([1, 3]))


@case(
    "the example of NLLLoss is negative at times",
    "there is no LogSoftmax after the convolution",
    "gives no logarithms of probabilities",
    "Put a LogSoftmax behind convolution",
    at="F.nll_loss(scores",
    address="https://github.com/pytorch/pytorch/pull/12703",
    never=("Nothing wrong",),
)
def likelihood_of_scores() -> Imported:
    convolution = nn.Conv2d(1, 3, 2)

    def loss(image: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        scores = convolution(image)
        return F.nll_loss(scores, target)

    image = torch.arange(9.0).reshape(1, 1, 3, 3)
    return gw.capture(loss, image, torch.tensor([[[0, 2], [1, 1]]]))


@case(
    "CrossEntropyLoss is NaN when all labels are ignore_index",
    "the mean is over no element",
    "all are ignored",
    "leave such a batch out",
    at="F.cross_entropy(logits",
    address="https://github.com/pytorch/pytorch/issues/116349",
    never=("Nothing wrong",),
)
def all_labels_ignored() -> Imported:
    model = nn.Linear(3, 5)

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        logits = model(x)
        return F.cross_entropy(logits, labels)

    return gw.capture(loss, torch.eye(2, 3), torch.tensor([-100, -100]))
