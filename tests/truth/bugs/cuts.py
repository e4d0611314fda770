"""Places at which a model leaves autograd."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

import gradwire as gw
from tests.truth.bugs.models import WIDTH, WORDS, LanguageModel, Player, UNet, tokens
from tests.truth.cases import case

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@case(
    "the physics loss has no effect on the network",
    "the derivative by the input is computed without create_graph",
    "create_graph=True",
    at="(slope,) = torch.autograd.grad(u.sum(), x",
    never=("Nothing wrong",),
)
def physics_without_create_graph(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))

    def loss(x: torch.Tensor) -> torch.Tensor:
        x = x.requires_grad_()
        u = model(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=not broken, retain_graph=True)
        start = model(torch.zeros(1, 1)) - 1.0
        return (slope + 2.0 * u.detach()).square().mean() + start.square().sum()

    return gw.capture(loss, torch.linspace(0, 1, 6)[:, None])


@case(
    "the gradient penalty is reported and does nothing",
    "the gradient of the critic by its input is computed without create_graph",
    "create_graph=True",
    at="(slopes,) = torch.autograd.grad(critic(mixed).sum(), mixed",
    never=("Nothing wrong",),
)
def penalty_without_create_graph(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    critic = Player(4, 1)
    optimizer = torch.optim.Adam(critic.parameters(), betas=(0.0, 0.9))

    def step(real: torch.Tensor, fake: torch.Tensor, share: torch.Tensor) -> float:
        mixed = (share * real + (1 - share) * fake).requires_grad_()
        if broken:
            (slopes,) = torch.autograd.grad(critic(mixed).sum(), mixed)
        else:
            (slopes,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        penalty = (slopes.norm(2, dim=1) - 1.0).square().mean()
        loss = critic(fake).mean() - critic(real).mean() + 10.0 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return penalty.item()

    return gw.capture(step, torch.randn(5, 4), torch.randn(5, 4), torch.rand(5, 1))


class Seq2Seq(nn.Module):
    """A GRU that reads and one that writes."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.reads = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.writes = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, WORDS)
        self.broken = broken

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        return self.reads(self.words(source))[1]

    def forward(self, source: torch.Tensor, goal: torch.Tensor) -> torch.Tensor:
        if self.broken:
            with torch.no_grad():  # left over from beam search
                state = self.encode(source)
        else:
            state = self.encode(source)
        y, _ = self.writes(self.words(goal[:, :-1]), state)
        return F.cross_entropy(self.head(y).flatten(0, 1), goal[:, 1:].flatten())


@case(
    "the translation ignores its source",
    "the encoder runs under no_grad",
    "no_grad",
    "Without no_grad",
    at="with torch.no_grad():  # left over from beam search",
    never=("Nothing wrong",),
)
def encoder_under_no_grad(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    return gw.capture(Seq2Seq(broken), tokens(), tokens())


class Probed(nn.Module):
    """A network whose inner layer was frozen to look at it."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 3)
        self.broken = broken

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(self.first(x)).detach() if self.broken else torch.tanh(self.first(x))
        return self.second(h)


@case(
    "the first layer does not learn",
    "detach() in the middle, left over from debugging",
    "Without model/detach",
    at="h = torch.tanh(self.first(x)).detach()",
    never=("Nothing wrong",),
)
def detach_in_the_middle(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Probed(broken)

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), labels)

    return gw.capture(loss, torch.randn(4, 6), torch.tensor([0, 1, 2, 0]))


class Frozen(nn.Module):
    """Features that a forward freezes, and a head."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.features, self.head = nn.Conv2d(1, 4, 3), nn.Linear(4, 3)
        self.broken = broken

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.broken:
            self.features.weight.requires_grad_(False)  # for a test of speed
        return self.head(F.relu(self.features(x)).mean((2, 3)))


@case(
    "the filters keep their first values after a test of speed",
    "forward leaves requires_grad off",
    "Without model/requires_grad_",
    at="self.features.weight.requires_grad_(False)  # for a test of speed",
    never=("Nothing wrong",),
)
def requires_grad_left_off(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Frozen(broken)

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), labels)

    return gw.capture(loss, torch.randn(4, 1, 5, 5), torch.tensor([0, 1, 2, 0]))


class VQVAE(nn.Module):
    """Encoder, codebook and decoder, with the straight-through estimator or without."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 3), nn.Linear(3, 6)
        self.codebook, self.broken = nn.Embedding(5, 3), broken

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = self.encoder(x)
        nearest = torch.cdist(z, self.codebook.weight).argmin(-1)
        codes = self.codebook(nearest)
        through = codes if self.broken else z + (codes - z).detach()
        books = F.mse_loss(codes, z.detach())
        return F.mse_loss(self.decoder(through), x) + books


@case(
    "the encoder of the VQ-VAE gets no gradient",
    "the nearest code is picked by argmin, without the straight-through estimator",
    "arg_min1",
    "An index has no gradient",
    at="torch.cdist(z, self.codebook.weight).argmin(-1)",
    never=("Nothing wrong",),
)
def codes_without_straight_through(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    return gw.capture(VQVAE(broken), torch.randn(5, 6))


class Experts(nn.Module):
    """A mixture of experts that picks one by argmax, weighted by its probability or not."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.gate = nn.Linear(6, 3)
        self.experts = nn.ModuleList(nn.Linear(6, 4) for _ in range(3))
        self.broken = broken

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.gate(x).softmax(-1)
        choice = F.one_hot(scores.argmax(-1), 3).float()  # hard
        weights = choice if self.broken else choice * scores
        outputs = torch.stack([expert(x) for expert in self.experts], 1)
        return (weights[:, :, None] * outputs).sum(1)


@case(
    "the router of the mixture of experts never learns to route",
    "argmax and one_hot pass no gradient, and the scores are used for nothing else",
    "arg_max1",
    "model/softmax1 is soft already",
    at="choice = F.one_hot(scores.argmax(-1), 3).float()  # hard",
    never=("Nothing wrong",),
)
def experts_picked_hard(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Experts(broken)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(model(x), y)

    return gw.capture(loss, torch.randn(5, 6), torch.randn(5, 4))


class Quantised(nn.Module):
    """A linear layer whose weights are rounded to steps."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(3, 6)), nn.Parameter(torch.zeros(3))
        self.broken = broken

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        w = torch.round(self.weight * 8) / 8  # eight steps
        if not self.broken:
            w = self.weight + (w - self.weight).detach()
        return F.linear(x, w, self.bias)


@case(
    "quantisation-aware training moves only the bias",
    "round has a derivative of 0, and there is no straight-through estimator",
    "round1",
    "use a StraightThrough block",
    at="w = torch.round(self.weight * 8) / 8",
    never=("Nothing wrong",),
)
def weights_rounded(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Quantised(broken)

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), labels)

    return gw.capture(loss, torch.randn(4, 6), torch.tensor([0, 1, 2, 0]))


class Graph(nn.Module):
    """Two layers of messages along edges; degrees by NumPy or by torch."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 6), nn.Linear(6, 2)
        self.broken = broken

    def forward(self, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.first(x))
        if self.broken:
            top = h.detach().numpy().max(0)
            h = torch.from_numpy(h.detach().numpy() / (top + 1.0))
        else:
            h = h / (h.detach().amax(0) + 1.0)
        h = torch.zeros_like(h).index_add(0, target, h[source])
        return self.second(h)


@case(
    "the first layer of the GNN gets no gradient",
    "features are normalised by NumPy",
    "numpy",
    "torch's own functions",
    at="h = torch.from_numpy(h.detach().numpy()",
    never=("Nothing wrong",),
)
def features_normalised_by_numpy(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Graph(broken)

    def loss(x: torch.Tensor, edges: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x, *edges), labels)

    edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    return gw.capture(loss, torch.randn(4, 3), edges, torch.tensor([0, 1, 1, 0]))


@case(
    "the sum of auxiliary losses has no grad_fn",
    "torch.tensor copies the losses",
    "torch.tensor",
    "torch.stack",
    at="total = torch.tensor([model.loss(part)",
    never=("Nothing wrong",),
)
def losses_in_a_new_tensor(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = LanguageModel()

    def loss(parts: torch.Tensor) -> torch.Tensor:
        if broken:
            total = torch.tensor([model.loss(part) for part in parts])
        else:
            total = torch.stack([model.loss(part) for part in parts])
        return total.mean()

    return gw.capture(loss, torch.stack([tokens(), tokens()]))


class Hyper(nn.Module):
    """A network that makes the weights of another."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.maker, self.broken = nn.Linear(2, 12), broken

    def forward(self, task: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        w = self.maker(task).view(3, 4)
        if self.broken:
            layer = nn.Linear(4, 3, bias=False)
            layer.weight = nn.Parameter(w)
            return layer(x)
        return F.linear(x, w)


@case(
    "the hypernetwork gets no gradient",
    "nn.Parameter of a result is a new leaf",
    "Parameter",
    "functional_call",
    at="layer.weight = nn.Parameter(w)",
    never=("Nothing wrong",),
)
def parameter_made_in_forward(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = Hyper(broken)

    def loss(task: torch.Tensor, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(task, x), labels)

    return gw.capture(loss, torch.randn(2), torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1]))


@case(
    "the diffusion model predicts the same noise for all times",
    "the time goes through a list of numbers",
    "tolist",
    "torch's own functions",
    at="steps = torch.tensor(schedule(time).tolist())",
    never=("Nothing wrong",),
)
def time_through_a_list(broken: bool = True) -> Imported:
    torch.manual_seed(0)
    model = UNet(is_timed=True)
    schedule = nn.Sequential(nn.Linear(1, 4), nn.SiLU(), nn.Linear(4, 1))

    def loss(x: torch.Tensor, noise: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        if broken:
            steps = torch.tensor(schedule(time).tolist())
        else:
            steps = schedule(time)
        return F.mse_loss(model(x + noise, steps[:, 0]), noise)

    data = torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8), torch.rand(2, 1)
    return gw.capture(loss, *data)
