"""A user's folder with programs whose models lose gradient in known lines."""

from __future__ import annotations

import pytest

MODELS = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

print("hello from the program")


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.head(torch.tanh(self.encoder(x))).mean()


class Detached(Pair):
    def forward(self, x):
        h = torch.tanh(self.encoder(x)).detach()
        return self.head(h).mean()


class Off(Pair):
    def forward(self, x):
        # what this computes
        with torch.no_grad():
            h = torch.tanh(self.encoder(x))  # stays
        return self.head(h).mean()


class Decorated(Pair):
    @torch.no_grad()
    def encode(self, x):
        return torch.tanh(self.encoder(x))

    def forward(self, x):
        return self.head(self.encode(x)).mean()


class Reentrant(Pair):
    def forward(self, x):
        return self.head(checkpoint(self.encoder, x, use_reentrant=True)).mean()


class Logged(Pair):
    def forward(self, x):
        p = torch.relu(self.encoder(x) - 9)
        return torch.log(p).mean() + self.head(x).mean()


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(2)]
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x).mean()


class Converted(Pair):
    def forward(self, x):
        return self.head(torch.tensor(self.encoder(x).tolist())).mean()


def made(kind):
    return lambda: (kind(), torch.ones(3, 4))


pair, detached, off, decorated = made(Pair), made(Detached), made(Off), made(Decorated)
reentrant, logged, listed, converted = made(Reentrant), made(Logged), made(Listed), made(Converted)


def step():
    Detached()(torch.ones(3, 4)).backward()


def wrong():
    return 1 / 0


number = 3
"""


@pytest.fixture
def models(tmp_path, monkeypatch):
    """The folder, which is the working folder, with ``models.py`` in it."""
    (tmp_path / "models.py").write_text(MODELS, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path
