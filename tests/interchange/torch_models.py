"""Small models of PyTorch as people write them, with inputs; each computes its own loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Case = tuple[nn.Module, tuple[torch.Tensor, ...]]


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3)
        )

    def forward(self, x, label):
        return F.cross_entropy(self.net(x), label)


class CNN(nn.Module):
    """With BatchNorm in training, pooling and a strided convolution."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 5, padding=2)
        self.norm = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 6, 3, stride=2, bias=False)
        self.head = nn.Linear(6 * 2 * 2, 10)

    def forward(self, x, label):
        x = F.max_pool2d(F.relu(self.norm(self.conv1(x))), 2)
        return F.cross_entropy(self.head(F.gelu(self.conv2(x)).flatten(1)), label)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x, target):
        return F.mse_loss(self.head(self.layer(x)), target)


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 5, num_layers=2, batch_first=True)
        self.head = nn.Linear(5, 2)

    def forward(self, x, target):
        y, _ = self.rnn(x)
        return F.mse_loss(self.head(y[:, -1]), target)


class BidirectionalGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 4, padding_idx=0)
        self.rnn = nn.GRU(4, 3, bidirectional=True)
        self.head = nn.Linear(6, 2)

    def forward(self, tokens, label):
        y, _ = self.rnn(self.embedding(tokens))
        return F.cross_entropy(self.head(y.mean(0)), label, label_smoothing=0.1)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 8)
        self.mu = nn.Linear(8, 2)
        self.log_var = nn.Linear(8, 2)
        self.decoder = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 6))

    def forward(self, x, noise):
        h = torch.tanh(self.encoder(x))
        mu, log_var = self.mu(h), self.log_var(h)
        z = mu + torch.exp(0.5 * log_var) * noise
        fit = F.binary_cross_entropy(torch.sigmoid(self.decoder(z)), x, reduction="sum")
        return fit - 0.5 * torch.sum(1 + log_var - mu.pow(2) - log_var.exp())


class DQN(nn.Module):
    """With a frozen target network, as it should be."""

    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.target = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.target.requires_grad_(False)

    def forward(self, state, action, reward, following, done):
        q = self.online(state).gather(1, action[:, None]).squeeze(1)
        with torch.no_grad():
            best = self.target(following).max(1).values
            wanted = reward + 0.99 * (1 - done) * best
        return F.smooth_l1_loss(q, wanted)


class DoubleDQN(DQN):
    """The online network picks actions and the target network rates them, both without gradient."""

    def forward(self, state, action, reward, following, done):
        q = self.online(state).gather(1, action[:, None]).squeeze(1)
        with torch.no_grad():
            best = self.online(following).argmax(1, keepdim=True)
            rated = self.target(following).gather(1, best).squeeze(1)
        return F.huber_loss(q, reward + 0.99 * (1 - done) * rated, delta=0.5)


class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 6))
        self.predictor = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 6))

    def forward(self, first, second):
        z1, z2 = self.encoder(first), self.encoder(second)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        one = F.cosine_similarity(p1, z2.detach(), dim=-1).mean()
        other = F.cosine_similarity(p2, z1.detach(), dim=-1).mean()
        return -(one + other) / 2


class _Residual(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.downsample = None
        if stride != 1 or inner != outer:
            self.downsample = nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
            )

    def forward(self, x):
        kept = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += kept
        return self.relu(out)


class ResNet18(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        for i in range(1, 5):
            first = _Residual(widths[i - 1], widths[i], 1 if i == 1 else 2)
            setattr(self, f"layer{i}", nn.Sequential(first, _Residual(widths[i], widths[i], 1)))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * width, 10)

    def forward(self, x, label):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return F.cross_entropy(self.fc(torch.flatten(self.avgpool(x), 1)), label)


class _Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in (q, k, v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(batch, length, width))


class _Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.attention = _Attention(width, heads)
        self.ln2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    """The token embedding is the output layer too: two names, one parameter."""

    def __init__(self, words=11, length=6, width=8, heads=2, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(_Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, words, following):
        places = torch.arange(words.shape[1], device=words.device)
        x = self.tokens(words) + self.positions(places)
        for block in self.blocks:
            x = block(x)
        scores = self.head(self.norm(x))
        return F.cross_entropy(scores.view(-1, scores.size(-1)), following.view(-1))


class Autoencoder(nn.Module):
    """The decoder has the transposed weight of the encoder."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 6) * 0.4)
        self.bias = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        code = torch.sigmoid(F.linear(x, self.weight, self.bias))
        return ((F.linear(code, self.weight.t()) - x) ** 2).mean()


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 3, 3, padding=1)
        self.norm = nn.GroupNorm(3, 3)
        self.middle = nn.Conv2d(3, 3, 3, padding=1)
        self.up = nn.ConvTranspose2d(3, 3, 2, stride=2)
        self.out = nn.Conv2d(6, 1, 1)

    def forward(self, x, target):
        a = F.leaky_relu(self.norm(self.down(x)), 0.1)
        b = self.up(F.avg_pool2d(self.middle(a), 2))
        return F.binary_cross_entropy_with_logits(self.out(torch.cat([a, b], 1)), target)


def _labels(classes: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, classes, shape)


_CASES: dict[str, Callable[[], Case]] = {
    "MLP": lambda: (MLP(), (torch.randn(5, 6), _labels(3, 5))),
    "CNN": lambda: (CNN(), (torch.randn(3, 1, 12, 12), _labels(10, 3))),
    "TransformerEncoderLayer": lambda: (Encoder(), (torch.randn(2, 4, 8), torch.randn(2, 4, 3))),
    "LSTM": lambda: (LSTM(), (torch.randn(3, 5, 4), torch.randn(3, 2))),
    "bidirectional GRU": lambda: (BidirectionalGRU(), (_labels(7, 4, 3), _labels(2, 3))),
    "VAE": lambda: (VAE(), (torch.rand(4, 6), torch.randn(4, 2))),
    "DQN": lambda: (DQN(), _transitions()),
    "double DQN": lambda: (DoubleDQN(), _transitions()),
    "SimSiam": lambda: (SimSiam(), (torch.randn(5, 6), torch.randn(5, 6))),
    "ResNet-18": lambda: (ResNet18(4), (torch.randn(2, 3, 64, 64), _labels(10, 2))),
    "GPT": lambda: (GPT(), (_labels(11, 2, 6), _labels(11, 2, 6))),
    "tied autoencoder": lambda: (Autoencoder(), (torch.randn(4, 6),)),
    "U-Net": lambda: (UNet(), (torch.randn(2, 1, 8, 8), torch.rand(2, 1, 8, 8))),
}
NAMES = tuple(_CASES)


def _transitions() -> tuple[torch.Tensor, ...]:
    batch = 6
    return (
        torch.randn(batch, 4), _labels(2, batch), torch.randn(batch), torch.randn(batch, 4),
        _labels(2, batch).float(),
    )  # fmt: skip


def case(name: str) -> Case:
    """A model and its inputs, the same ones every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return _CASES[name]()


def inputs_of(model: nn.Module, args: tuple[torch.Tensor, ...]) -> dict[str, Any]:
    """The inputs of a model by the names that ``forward`` gives them."""
    import inspect

    names = inspect.signature(model.forward).parameters
    return {name: x.numpy() for name, x in zip(names, args, strict=True)}
