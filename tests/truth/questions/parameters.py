"""Questions about parameters that nothing trains."""

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
    "modules in a list are not among the parameters of the network",
    "a Python list registers nothing",
    "layers",
    "Keep layers in a ModuleList",
    at="x = torch.tanh(layer(x))",
    address="https://github.com/pytorch/pytorch/issues/666",
    never=("Nothing wrong",),
)
def layers_in_a_list() -> Imported:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(2, 2)
            self.layers = [nn.Linear(2, 2) for _ in range(2)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.first(x)
            for layer in self.layers:
                x = torch.tanh(layer(x))
            return x.pow(2).mean()

    return gw.capture(Net(), torch.ones(3, 2))


@case(
    "parameters() is empty for layers that forward makes",
    "they are new in every call, and no module has them",
    "parameters() of the model lacks them",
    "made in __init__",
    at="hidden = nn.Linear",
    address="https://github.com/pytorch/pytorch/issues/1291",
    never=("Nothing wrong",),
)
def layers_made_in_forward() -> Imported:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = nn.Linear(3, 2)(x * self.scale).clamp(min=0.0)
            return hidden.mean()

    return gw.capture(Net(), torch.ones(4, 3))


@case(
    "is the gradient lost where the evolved weight is set as a Parameter",
    "nn.Parameter makes a new leaf of the numbers",
    "Parameter",
    "use the tensor itself",
    at="nn.Parameter(evolved)",
    address="https://github.com/benedekrozemberczki/pytorch_geometric_temporal/issues/80",
    never=("Nothing wrong",),
)
def a_weight_that_evolves() -> Imported:
    class Evolving(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.start = nn.Parameter(torch.eye(3))
            self.cell = nn.GRUCell(3, 3)
            self.layer = nn.Linear(3, 3, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            evolved = self.cell(self.start, self.start)
            self.layer.weight = nn.Parameter(evolved)
            return self.layer(x).pow(2).sum()

    return gw.capture(Evolving(), torch.ones(2, 3))


@case(
    "some layers have no gradient after the first backward pass of training",
    "they are made, and no output of theirs comes into the loss",
    "token_head",
    "loss never reads this",
    address="https://github.com/vita-epfl/UniTraj/issues/59",
    never=("Nothing wrong",),
)
def a_head_that_the_loss_leaves_out() -> Imported:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk, self.head, self.token_head = (
                nn.Linear(3, 3),
                nn.Linear(3, 1),
                nn.Linear(3, 5),
            )

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.relu(self.trunk(x))
            return self.head(hidden), self.token_head(hidden)

    net = Net()

    def loss(x: torch.Tensor) -> torch.Tensor:
        value, _tokens = net(x)
        return F.mse_loss(value, torch.ones(4, 1))

    return gw.capture(loss, torch.ones(4, 3))


@case(
    "a parameter that is replaced while ranges are initialised stays as it is in training",
    "the optimiser got the list of parameters before, and has the old one",
    "scale is trained, and no optimiser updates it",
    "SGD lacks scale",
    "replaced after it was made",
    address="https://github.com/openvinotoolkit/nncf/pull/327",
    never=("Nothing wrong",),
)
def a_parameter_replaced_after_the_optimizer() -> Imported:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.scale = nn.Parameter(torch.tensor(1.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (self.layer(x) * self.scale).pow(2).mean()

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net.scale = nn.Parameter(torch.tensor(0.5))
    return gw.capture(net, torch.ones(3, 2), optimizer=optimizer)


@case(
    "the loss does not go down with optimizer.step(), and did with an update by hand",
    "the network is made a second time, and the optimiser has the parameters of the first",
    "no optimiser of this step has them",
    "replaced after it was made",
    at="loss.backward()",
    address="https://github.com/spro/practical-pytorch/issues/9",
    never=("Nothing wrong",),
)
def an_optimizer_of_another_network() -> Imported:
    network = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    network = nn.Linear(4, 2)

    def train(line: torch.Tensor, category: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.nll_loss(network(line).log_softmax(1), category)
        loss.backward()
        optimizer.step()
        return loss

    return gw.capture(train, torch.eye(2, 4), torch.tensor([0, 1]))


@case(
    "must the optimiser be made anew when the network is replaced",
    "it knows nothing of the parameters of the new network",
    "no optimiser updates it",
    address="https://github.com/pytorch/pytorch/issues/54765",
    never=("Nothing wrong",),
)
def an_optimizer_of_the_network_before() -> Imported:
    network: nn.Module = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(network.parameters(), 3e-2)
    network = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))

    def loss(x: torch.Tensor) -> torch.Tensor:
        return network(x).pow(2).mean()

    return gw.capture(loss, torch.ones(4, 3), optimizer=optimizer)


@case(
    "why has the first entity a gradient of zero",
    "padding_idx=0 keeps row 0 of the table from being trained, and entity 0 is a real one",
    "Row 0 is its padding, which gets none",
    "give it no padding",
    address="https://github.com/ibalazevic/TuckER/issues/17",
    about=("E.weight",),
)
def a_real_row_as_padding() -> Imported:
    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.E = nn.Embedding(4, 3, padding_idx=0)
            self.R = nn.Linear(3, 3)

        def forward(self, subjects: torch.Tensor) -> torch.Tensor:
            return self.R(self.E(subjects)).sum()

    return gw.capture(Scores(), torch.tensor([0, 2]))
