"""Small models of real structure that the bugs are planted in."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, WORDS, LENGTH = 8, 11, 5


class Attention(nn.Module):
    """Causal self-attention with two heads."""

    def __init__(self, width: int = WIDTH, causal: bool = True) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        split = self.qkv(x).view(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(*split.unbind(0), is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A layer of a transformer, with the norms first."""

    def __init__(self, width: int = WIDTH, causal: bool = True) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, causal)
        wide = nn.Linear(width, 2 * width)
        self.mlp = nn.Sequential(wide, nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class LanguageModel(nn.Module):
    """A GPT of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def loss(self, tokens: Tensor) -> Tensor:
        """Of each token, given those before."""
        return F.cross_entropy(self(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


class Vision(nn.Module):
    """A ViT with a class token: logits of three classes."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 4, stride=4)
        self.token = nn.Parameter(torch.randn(1, 1, WIDTH) * 0.02)
        self.blocks = nn.Sequential(Block(causal=False), Block(causal=False))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3)

    def features(self, images: Tensor) -> Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1)
        return self.norm(self.blocks(x))[:, 0]

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.features(images))


class UNet(nn.Module):
    """Two scales, a skip, and perhaps a time that is added: for masks, or for noise."""

    def __init__(self, channels: int = 1, is_timed: bool = False) -> None:
        super().__init__()
        self.down, self.inner = nn.Conv2d(channels, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.time = nn.Linear(1, 8) if is_timed else None
        self.out = nn.Conv2d(8, channels, 1)

    def forward(self, x: Tensor, time: Tensor | None = None) -> Tensor:
        skip = F.silu(self.down(x))
        h = F.silu(self.inner(F.avg_pool2d(skip, 2)))
        if time is not None and self.time is not None:
            h = h + self.time(time[:, None])[:, :, None, None]
        return self.out(torch.cat([skip, self.up(h)], 1))


class VAE(nn.Module):
    """An encoder to a mean and a log variance, and a decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 6))
        self.decoder = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 12))

    def loss(self, x: Tensor) -> Tensor:
        mean, logvar = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        kl = -0.5 * (1 + logvar - mean.square() - logvar.exp()).sum(-1).mean()
        return F.mse_loss(self.decoder(z), x) + 0.1 * kl


class Player(nn.Sequential):
    """Half of a GAN."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(nn.Linear(inputs, 8), nn.LeakyReLU(0.2), nn.Linear(8, outputs))


class QNetwork(nn.Sequential):
    """The values of three actions in a state of four numbers."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


class ActorCritic(nn.Module):
    """A trunk, a policy and a value."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.policy, self.value = nn.Linear(8, 3), nn.Linear(8, 1)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        h = self.trunk(states)
        return self.policy(h).log_softmax(-1), self.value(h).squeeze(-1)


def tokens(batch: int = 2, length: int = LENGTH) -> Tensor:
    return torch.randint(0, WORDS, (batch, length))


def images(batch: int = 2) -> Tensor:
    return torch.randn(batch, 3, 8, 8)


def transitions() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """States, actions, rewards and the states that followed."""
    return torch.randn(6, 4), torch.randint(0, 3, (6,)), torch.randn(6), torch.randn(6, 4)
