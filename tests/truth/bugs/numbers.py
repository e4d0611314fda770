"""Numbers that are not finite, and gradients that are 0 whatever the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.bugs.models import VAE, WIDTH, QNetwork
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


class Policy(nn.Module):
    """Probabilities of actions, some of which are masked."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 3)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(states))


@case(
    "the entropy bonus makes all weights NaN",
    "the logarithm of a probability of 0, times 0",
    "NaN",
    "log",
    at="entropy = -(probs * probs.log()).sum(-1)",
    never=("Nothing wrong",),
)
def entropy_of_masked_actions(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    policy = Policy()

    def loss(states: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
        probs = policy(states).masked_fill(~allowed, -torch.inf).softmax(-1)
        if broken:
            entropy = -(probs * probs.log()).sum(-1)
        else:
            entropy = -(probs * probs.clamp_min(1e-8).log()).sum(-1)
        return -entropy.mean()

    allowed = torch.tensor([[True, True, False], [True, True, True], [True, False, True]])
    return gw.capture(loss, torch.randn(3, 4), allowed)


@case(
    "the contrastive loss is fine, all gradients are NaN",
    "the square root of a distance of 0: of each sample to itself",
    "sqrt1 (its slope is infinite here)",
    "under the root",
    at="distances = squares.sum(-1).sqrt()",
    never=("Nothing wrong",),
)
def distance_to_itself(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))

    def loss(x: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        z = encoder(x)
        squares = (z[:, None] - z[None]).square()
        if broken:
            distances = squares.sum(-1).sqrt()
        else:
            distances = (squares.sum(-1) + 1e-6).sqrt()
        return (same * distances + (1 - same) * F.relu(2.0 - distances)).mean()

    return gw.capture(loss, torch.randn(4, 6), torch.eye(4))


class Pooled(nn.Module):
    """Attention to words, of which padding is masked."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.words = nn.Embedding(11, WIDTH, padding_idx=0)
        self.q, self.k = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.head, self.least = nn.Linear(WIDTH, 2), -torch.inf if broken else -1e9

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens)
        scores = self.q(x) @ self.k(x).mT / WIDTH**0.5
        scores = scores.masked_fill((tokens == 0)[:, None], self.least)
        weights = scores.softmax(-1)  # of all rows
        return self.head((weights @ x).mean(1))


@case(
    "NaN as soon as a batch has an empty text",
    "all of a row is masked by -inf before the softmax",
    "NaN",
    "softmax",
    at="weights = scores.softmax(-1)  # of all rows",
    never=("Nothing wrong",),
)
def attention_to_nothing(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Pooled(broken)

    def loss(tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(tokens), labels)

    return gw.capture(loss, torch.tensor([[3, 4, 0], [0, 0, 0]]), torch.tensor([0, 1]))


class Convolution(nn.Module):
    """A GCN layer with its normalisation by degrees."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.linear, self.broken = nn.Linear(3, 2), broken

    def forward(self, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        degrees = torch.zeros(len(x)).index_add(0, target, torch.ones(len(target)))
        scale = degrees.pow(-0.5) if self.broken else degrees.clamp_min(1.0).pow(-0.5)
        h = self.linear(x) * scale[:, None]
        sums = torch.zeros(len(x), 2).index_add(0, target, h[source])
        return sums * scale[:, None]  # both sides


@case(
    "one lonely node makes the loss of the graph NaN",
    "a degree of 0 to the power of -0.5",
    "NaN",
    "pow",
    at="scale = degrees.pow(-0.5)",
    never=("Nothing wrong",),
)
def degree_of_a_lonely_node(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Convolution(broken)

    def loss(x: torch.Tensor, edges: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x, *edges), labels)

    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    return gw.capture(loss, torch.randn(4, 3), edges, torch.tensor([0, 1, 1, 0]))


@case(
    "the network gives the same value for all states",
    "large negative biases: no unit of the hidden layer is ever on",
    "relu1, which is off",
    "LeakyRelu",
    at="h = torch.relu(model[0](states))  # all off",
    never=("Nothing wrong",),
)
def hidden_layer_off(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = QNetwork()
    if broken:
        nn.init.constant_(model[0].bias, -50.0)

    def loss(states: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        h = torch.relu(model[0](states))  # all off
        return F.mse_loss(model[2](h), values)

    return gw.capture(loss, torch.randn(5, 4), torch.randn(5, 3))


@case(
    "the encoder's variances do not learn",
    "clamp cuts off all log variances",
    "beyond its limits",
    at="logvar = logvar.clamp(-2.0, 2.0)",
    never=("Nothing wrong",),
)
def variances_clamped(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = VAE()
    last = model.encoder[2]
    assert isinstance(last, nn.Linear)
    if broken:
        with torch.no_grad():
            last.bias[3:] = 9.0

    def loss(x: torch.Tensor) -> torch.Tensor:
        mean, logvar = model.encoder(x).chunk(2, -1)
        logvar = logvar.clamp(-2.0, 2.0)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        return F.mse_loss(model.decoder(z), x)

    return gw.capture(loss, torch.rand(4, 12), optimizer=torch.optim.Adam(model.parameters()))


class Squeeze(nn.Module):
    """Features of an image, normalised after they are pooled to one place."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.features, self.head = nn.Conv2d(1, 4, 3), nn.Linear(4, 3)
        self.norm = nn.GroupNorm(4 if broken else 1, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.adaptive_avg_pool2d(F.relu(self.features(x)), 1)
        h = self.norm(h)  # of what is left
        return self.head(h.flatten(1))


@case(
    "the image makes no difference to the prediction",
    "each group of the norm has one element, which it always makes 0",
    "each number by itself",
    "leave it out",
    at="h = self.norm(h)  # of what is left",
    never=("Nothing wrong",),
)
def norm_of_one_element(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Squeeze(broken)

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), labels)

    return gw.capture(loss, torch.randn(3, 1, 6, 6), torch.tensor([0, 1, 2]))


@case(
    "all layers before the last stay as they are",
    "the last layer begins with zeros, and so does the one before",
    "multiplies by 0",
    "away from 0",
    at="return self.up(torch.relu(self.out(x)))",
    never=("Nothing wrong",),
)
def two_layers_begin_with_zeros(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Adapter(broken)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(x + model(x), y)

    return gw.capture(loss, torch.randn(5, 6), torch.randn(5, 6))


class Adapter(nn.Module):
    """A bottleneck beside a frozen layer."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.out, self.up = nn.Linear(6, 2), nn.Linear(2, 6)
        for layer in (self.out, self.up) if broken else (self.up,):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(torch.relu(self.out(x)))
