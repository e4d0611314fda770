"""Questions about values that are overwritten before backward needs them."""

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
    "b[1] = 2 after a sigmoid raises in backward, and not after the same function by hand",
    "the derivative of sigmoid is computed from its result, which is overwritten",
    "sigmoid (in_place.py",
    "needs a tensor as it was",
    "Write into a clone() of it instead",
    at="b[1] = 2.0",
    address="https://github.com/pytorch/pytorch/issues/9391",
    never=("Nothing wrong",),
)
def an_element_after_sigmoid() -> Imported:
    a = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def loss() -> torch.Tensor:
        b = a.sigmoid()
        b[1] = 2.0
        return b.sum()

    return gw.capture(loss)


@case(
    "inplace=True raises in backward: a variable needed has been modified",
    "ReLU overwrites the result of the layer before, from which that computes its derivative",
    "tanh (in_place.py",
    "needs a tensor as it was, and relu_",
    "Give it inplace=False",
    at="short = act(gate)",
    address="https://github.com/osmr/imgclsmob/issues/13",
    never=("Nothing wrong",),
)
def an_activation_in_place() -> Imported:
    layer, act = nn.Linear(3, 3), nn.ReLU(inplace=True)

    def loss(x: torch.Tensor) -> torch.Tensor:
        gate = torch.tanh(layer(x))
        short = act(gate)
        return (short + x).sum()

    return gw.capture(loss, torch.ones(2, 3))


@case(
    "x += shortcut after ReLU(inplace=True) raises, and x = x + shortcut does not",
    "ReLU computes its derivative from its result, which += overwrites",
    "relu_ (in_place.py",
    "needs a tensor as it was, and add_",
    "Write out = out + …",
    at="out += shortcut",
    address="https://github.com/pytorch/pytorch/issues/5687",
    never=("Nothing wrong",),
)
def a_shortcut_added_in_place() -> Imported:
    layer = nn.Linear(3, 3)

    def loss(shortcut: torch.Tensor) -> torch.Tensor:
        out = F.relu(layer(shortcut), inplace=True)
        out += shortcut
        return out.sum()

    return gw.capture(loss, torch.ones(2, 3))


@case(
    "an item of a tensor is changed with +=, and backward() raises",
    "softmax computes its derivative from its result, which is changed",
    "softmax (in_place.py",
    "needs a tensor as it was, and add_",
    "Write into a clone() of it instead",
    at="weights[:, 0] += ",
    address="https://github.com/Seanny123/da-rnn/issues/14",
    never=("Nothing wrong",),
)
def weights_changed_after_softmax() -> Imported:
    attention = nn.Linear(3, 4)

    def loss(x: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(attention(x), dim=1)
        weights[:, 0] += 0.1
        return (weights * torch.arange(4.0)).sum()

    return gw.capture(loss, torch.eye(2, 3))


@case(
    "updating the critic before the actor raises: modified by an in-place operation",
    "the step of the critic's optimiser writes its weights, which the actor's loss needs",
    "needs a tensor as it was, and step()",
    "Call backward() before step()",
    at="critic_optimizer.step()",
    address="https://github.com/starry-sky6688/MADDPG/issues/27",
    never=("Nothing wrong",),
)
def a_critic_updated_before_the_actor() -> Imported:
    actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    actor_optimizer = torch.optim.SGD(actor.parameters(), 0.1)
    critic_optimizer = torch.optim.SGD(critic.parameters(), 0.1)

    def train(observed: torch.Tensor, action: torch.Tensor) -> None:
        critic_loss = (1.0 - critic(action)).pow(2).mean()
        actor_loss = -critic(actor(observed)).mean()
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()

    return gw.capture(train, torch.ones(2, 3), torch.ones(2, 2))


@case(
    "the second pass of the generator's loop raises: modified by an in-place operation",
    "the fake image was made with weights that the first pass has updated",
    "needs a tensor as it was, and step()",
    "compute it anew after step()",
    at="optimizer_g.step()",
    address="https://github.com/tamarott/SinGAN/issues/148",
    never=("Nothing wrong",),
)
def a_fake_of_old_weights() -> Imported:
    generator = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))
    judge = nn.Linear(2, 1).requires_grad_(False)
    optimizer_g = torch.optim.SGD(generator.parameters(), 0.1)

    def train(noise: torch.Tensor) -> None:
        fake = generator(noise)
        for _ in range(2):
            optimizer_g.zero_grad()
            error = -judge(fake).mean()
            error.backward(retain_graph=True)
            optimizer_g.step()

    return gw.capture(train, torch.ones(2, 2))
