"""Ways in which a PyTorch program loses gradient, by the name of the stop that each is."""

from __future__ import annotations

import torch


class Model(torch.nn.Module):
    """``loss = sum(way(w * x) * v)``: v always has a gradient, w only where the way passes it."""

    def __init__(self, way):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([0.4, 0.7, -0.3]))
        self.v = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.way = way

    def forward(self, x):
        return (self.way(self.w * x) * self.v).sum()


def in_place(y):
    y = y * 1
    y.detach_()
    return y


def without(y):
    with torch.no_grad():
        return y * 2


@torch.no_grad()
def decorated(y):
    return y * 2


def inferred(y):
    with torch.inference_mode():
        z = y * 2
    return z.clone()


def switched(y):
    with torch.set_grad_enabled(False):
        return y * 2


def by_list(y):
    return torch.tensor(y.tolist())


CUTS = {
    "detach": lambda y: y.detach(),
    "detach_": in_place,
    "no_grad": without,
    "no_grad as a decorator": decorated,
    "inference_mode": inferred,
    "set_grad_enabled": switched,
    "data": lambda y: y.data,
    "item": lambda y: y.sum().item(),
    "tensor": lambda y: torch.tensor(y),
    "tolist": by_list,
}
X = torch.tensor([1.0, 2.0, 3.0])
