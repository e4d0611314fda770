"""Ways in which a PyTorch program loses gradient, by the name of the stop that each is."""

from __future__ import annotations

import numpy as np
import torch

X = torch.tensor([1.0, 2.0, 3.0])


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


def as_numbers(y):
    return torch.from_numpy(np.array([float(z) for z in y], np.float32))


def in_layer(y):
    layer = torch.nn.Linear(3, 1, bias=False)
    layer.weight = torch.nn.Parameter(y[None])
    return layer(X)


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
    "tensor of a list": lambda y: torch.tensor([y[0], 2 * y[1], y.mean()]),
    "tensor of a nested list": lambda y: torch.tensor([[y[0], 1.0, 2], (y[1], y[2], y.sum())]),
    "tensor of a list, named": lambda y: torch.tensor(data=[z.exp() for z in y]),
    "tensor that is trained": lambda y: torch.tensor([*y], requires_grad=True),
    "as_tensor": lambda y: torch.as_tensor([z.exp() for z in y], dtype=torch.float64),
    "asarray": lambda y: torch.asarray((y[0], 0.5, y[2:])),
    "new_tensor": lambda y: y.new_tensor([y[0], y[1], y[2]]),
    "new_tensor of a tensor": lambda y: y.new_tensor(y),
    "new": lambda y: y.new([y[0], y[1], y[2]]),
    "item by FloatTensor": lambda y: torch.FloatTensor([y[0], 7.5, y[2]]),
    "item by Tensor of a nested list": lambda y: torch.Tensor([[y[0], y[1], y[2]]] * 2),
    "item by NumPy": as_numbers,
    "tolist": by_list,
    "Parameter": lambda y: torch.nn.Parameter(y),
    "Parameter of a clone": lambda y: torch.nn.Parameter(y.clone(), requires_grad=False),
    "Parameter in a layer": in_layer,
    "Parameter in a list": lambda y: torch.nn.ParameterList([y])[0],
    "Buffer": lambda y: torch.nn.Buffer(y),
    "data as a parameter": lambda y: torch.nn.Parameter(y.data),
    "detach of what is trained": lambda y: y.detach().clone().requires_grad_(),
}
